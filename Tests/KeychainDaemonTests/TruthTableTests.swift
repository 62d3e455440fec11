// TruthTableTests: the items that callers have access to, for each kind of identity. The callers
// are real processes. If the tests run as root, the callers also have different users and units.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import KeychainWire
import TestPrograms
import Testing

@testable import KeychainDaemon

private let isRoot = geteuid() == 0

/// User ids that usually no user of a machine has. The last id is in the range of systemd's dynamic
/// users.
private enum Users {
    static let service: uid_t = 60_009
    static let named: uid_t = 60_001
    static let other: uid_t = 60_002
    static let unit: uid_t = 60_003
    static let shared: uid_t = 60_004
    static let shortLived: uid_t = 61_200
}

/// Starts a program as the given user, and in the given cgroup if there is one.
private func program(
    as user: uid_t, cgroup: String? = nil, _ path: String, _ arguments: [String],
    input: Pipe? = nil
) throws -> TestProgram {
    var words = [path] + arguments
    if user != geteuid() {
        // `setpriv` gives up root's privileges and runs `env`, which then starts the program.
        words =
            [
                "/usr/bin/setpriv", "--reuid", "\(user)", "--regid", "\(user)", "--clear-groups",
                "/usr/bin/env",
            ] + words
    }
    if let cgroup {
        words =
            ["/bin/sh", "-c", #"echo $$ >"$0/cgroup.procs" && exec "$@""#, cgroup] + words
    }
    return try TestProgram(
        path: words[0], Array(words.dropFirst()), environment: [:], input: input)
}

private func peerPath() throws -> String {
    try #require(TestProgram.path(of: "service-peer"))
}

/// Cgroups like those of system units, in `system.slice` below the root of the hierarchy.
private final class Units {
    private let folder: String
    private var made: [String] = []

    /// `nil` if the system has no cgroup v2 hierarchy that the tests may write to.
    init?() {
        let mounts = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
        var root: String?
        for line in mounts.split(separator: "\n") where root == nil {
            let fields: [Substring] = line.split(separator: " ")
            if fields.count > 2, fields[2] == "cgroup2" { root = String(fields[1]) }
        }
        guard isRoot, let root else { return nil }
        folder = root + "/system.slice"
        Files.makeFolder(folder, mode: 0o755)
        guard (try? unit("kd-probe-\(getpid()).service")) != nil else { return nil }
    }

    deinit { for folder in made { _ = Files.removeFolder(folder) } }

    func unit(_ name: String) throws -> String {
        let path = folder + "/" + name
        try #require(Files.makeFolder(path, mode: 0o755) || Files.status(of: path) != nil)
        made.append(path)
        return path
    }
}

/// The machine's service as installed: root creates the listening socket, and the service runs as a
/// separate user without capabilities. If the tests don't run as root, the service runs in this
/// process.
private final class MachineService {
    let folder = try? TemporaryFolder()
    let socket: String
    private var process: TestProgram?
    private var service: TestService?

    init(_ entries: [(RegistryEntry.Subject, [String])]) throws {
        let folder = try #require(folder)
        for (subject, groups) in entries {
            try TestService.entitle(subject, groups, in: folder)
        }
        guard isRoot else {
            service = try TestService(folder: folder) {
                $0.kind = .system
                $0.socket = folder.path + "/everybody/socket"
            }
            socket = folder.path + "/everybody/socket"
            return
        }
        socket = folder.path + "/socket"
        try Self.open(folder.path)
        let store = try folder.makeFolder("store")
        try #require(unsafe chown(store, Users.service, Users.service) == 0)
        process = try TestProgram(
            path: try peerPath(),
            [
                "activate", socket, "/usr/bin/setpriv", "--reuid", "\(Users.service)", "--regid",
                "\(Users.service)", "--clear-groups", "--no-new-privs", "--inh-caps=-all",
                "--bounding-set=-all", try #require(TestProgram.path(of: "keychaind")), "--system",
                "--directory", store, "--registry", folder.path + "/programs", "--log-level",
                "warning",
            ], environment: ["KEYCHAIN_TPM": "none"])
        try eventually("the service listens") { Sockets.isAnsweredForTests(socket) }
        try #require(Files.setMode(socket, 0o666))
    }

    /// Makes a folder and everything in it readable for every user.
    private static func open(_ path: String) throws {
        try #require(Files.setMode(path, 0o755))
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            let inner = path + "/" + name
            if Files.status(ofLink: inner)?.isFolder == true {
                try open(inner)
            } else {
                try #require(Files.setMode(inner, 0o644))
            }
        }
    }

    deinit {
        process?.kill()
        service?.stop()
    }
}

/// A caller of the machine's service, and the expected access.
private struct Row {
    let who: String
    let user: uid_t
    var unit: String?
    /// The groups in which the caller tries to add an item.
    let groups: [String]
    /// The lines that the caller prints. Of a line with `welcome`, only the beginning is given.
    let lines: [String]
}

@Suite(.serialized) struct TruthTableTests {
    private static let rows: [Row] = [
        Row(
            who: "a user without an entry has all of its own keychain", user: geteuid(),
            groups: ["default", "x"],
            lines: ["groups default", "add default 0", "add x 0", "sees default x"]),
        Row(
            who: "another user sees none of the first user's items", user: Users.other,
            groups: ["default"],
            lines: ["groups default", "add default 0", "sees default"]),
        Row(
            who: "a user with an entry has the entry's groups", user: Users.named,
            groups: ["web", "default"],
            lines: ["groups web", "add web 0", "add default -34018", "sees web"]),
        Row(
            who: "a user id that systemd assigns dynamically has nothing", user: Users.shortLived,
            groups: [], lines: ["welcome -34018 The keychain service gives the user id 61200 no"]),
        Row(
            who: "a unit with an exclusive user id has the groups of its entry", user: Users.unit,
            unit: "kd-own.service", groups: ["unit", "default"],
            lines: ["groups unit", "add unit 0", "add default -34018", "sees unit"]),
        Row(
            who: "a unit that shares its user id has nothing", user: Users.shared,
            unit: "kd-shared.service", groups: [],
            lines: ["welcome -34018 The keychain service gives kd-shared.service no access: the"]),
        Row(
            who: "a unit that no entry names has its user's groups", user: Users.named,
            unit: "kd-unnamed.service", groups: [], lines: ["groups web", "sees web"]),
        Row(
            who: "a unit that runs as root has nothing", user: 0, unit: "kd-root.service",
            groups: [], lines: ["welcome -34018 The keychain service gives kd-root.service no"]),
    ]

    @Test func `the machine's service identifies callers by user id and unit, not by executable`()
        throws
    {
        let service = try MachineService([
            (.user(Users.named), ["web"]), (.unit("kd-own.service"), ["unit"]),
            (.unit("kd-shared.service"), ["unit"]), (.unit("kd-root.service"), ["unit"]),
        ])
        let units = Units()
        let possible = Self.rows.filter { row in
            (row.user == geteuid() || isRoot) && (row.unit == nil || units != nil)
        }
        // Other users require root, and units require a writable cgroup hierarchy.
        #expect(possible.count == (isRoot ? 4 : 1) + (units == nil ? 0 : 4))
        // The process `beside` has the same user id as `kd-shared.service`, and runs in another
        // unit.
        let input = Pipe()
        let beside = try units.map { units in
            try program(
                as: Users.shared, cgroup: try units.unit("kd-beside.service"), try peerPath(),
                ["wait"], input: input)
        }
        if let beside {
            try eventually("the process runs as the shared user") {
                (try? ProcessFiles.users(of: beside.processIdentifier)) == [Users.shared]
            }
        }
        for row in possible {
            let lines = try program(
                as: row.user, cgroup: try row.unit.flatMap { try units?.unit($0) },
                try peerPath(), ["ask", service.socket] + row.groups
            ).lines()
            #expect(lines.count == row.lines.count, "\(row.who): \(lines)")
            for (line, start) in zip(lines, row.lines) {
                let fits = start.hasPrefix("welcome") ? line.hasPrefix(start) : line == start
                #expect(fits, "\(row.who): \(line)")
            }
        }
        try input.fileHandleForWriting.close()
        _ = beside?.lines()
    }

    @Test func `the machine's service refuses registry entries about executables`() throws {
        let folder = try TemporaryFolder()
        try TestService.entitle("*", in: folder)
        let registry = ProgramRegistry(folder: folder.path + "/programs", kind: .system)
        #expect(registry.problems().count == 1)
        #expect(registry.problems().first?.contains("names an executable, but the") == true)
        // An entry about an executable gives no caller any rights.
        guard case .refused = registry.answer(about: .user(geteuid())) else {
            Issue.record("not refused")
            return
        }
    }

    // Attack: hostile code in the service reads the memory of all users' processes. A service that
    // can see the executables of these processes can do that. So this service serves programs
    // without seeing their executables.
    @Test func `the machine's service serves programs whose executables are unreadable or hidden`()
        throws
    {
        guard isRoot else {
            // Without root, the test covers only a program that hides its executable.
            let service = try MachineService([])
            #expect(try peer("hide", service.socket).lines() == ["groups default", "sees -25300"])
            return
        }
        let service = try MachineService([])
        let home = try #require(service.folder).makeFolder("home")
        let copy = home + "/peer"
        try FileManager.default.copyItem(atPath: try peerPath(), toPath: copy)
        for path in [home, copy] {
            try #require(unsafe chown(path, Users.other, Users.other) == 0)
            try #require(Files.setMode(path, 0o700))
        }
        for word in ["ask", "hide"] {
            #expect(
                try program(as: Users.other, copy, [word, service.socket]).lines() == [
                    "groups default", "sees -25300",
                ])
        }
    }

    @Test func `a program whose file can be executed but not read is refused with advice`() throws {
        guard isRoot else {
            // The test needs a file of another user. Without root, only the message is tested.
            let refusal = PeerRefusal.unreadableExecutable(pid: 1, reason: "")
            #expect(refusal.description.contains("keychainctl service socket add"))
            return
        }
        let folder = try TemporaryFolder()
        let owner = Users.other
        for path in [folder.path, try folder.makeFolder("run")] {
            try #require(unsafe chown(path, owner, owner) == 0)
        }
        let socket = folder.path + "/run/socket"
        let service = try program(
            as: owner, try #require(TestProgram.path(of: "keychaind")),
            [
                "--directory", folder.path + "/keychain", "--socket", socket, "--registry",
                folder.path + "/programs", "--log-level", "warning",
            ])
        try eventually("the service listens") { Sockets.isAnsweredForTests(socket) }
        let copy = folder.path + "/peer"
        try FileManager.default.copyItem(atPath: try peerPath(), toPath: copy)
        try #require(Files.setMode(copy, 0o711))
        let lines = try program(as: owner, copy, ["ask", socket]).lines()
        #expect(lines.count == 1)
        #expect(lines.first?.contains("can't be seen") == true, "\(lines)")
        #expect(lines.first?.contains("keychainctl service socket add") == true, "\(lines)")
        try #require(Files.setMode(copy, 0o755))
        #expect(
            try program(as: owner, copy, ["ask", socket]).lines() == [
                "groups default", "sees -25300",
            ])
        service.kill()
    }
}

// MARK: - Dedicated sockets

@Suite struct OwnSocketTests {
    @Test func `a client of a dedicated socket has the socket's groups and nothing else`() throws {
        let folder = try TemporaryFolder()
        try TestService.entitle(.socket("box"), ["boxed"], in: folder)
        let service = try TestService(folder: folder)
        let socket = KeychainChoice.ownSocket("box", beside: service.configuration.socket)
        let seen = ["groups boxed", "add boxed 0", "add default -34018", "sees boxed"]
        #expect(try peer("ask", socket, "boxed", "default").lines() == seen)
        let client = ServiceClient(socketPath: socket)
        #expect(try client.welcome().allowsAdministration == false)
        #expect(status { _ = try client.perform(LockAll()) } == .missingEntitlement)
        guard isRoot else { return }
        // Another user connects through a bind mount, as a program in a container does. Through the
        // normal path, this user has no access.
        let target = try folder.put("", "mounted", mode: 0o666)
        try #require(Files.setMode(folder.path, 0o711))
        let drop = "exec setpriv --reuid 60001 --regid 60001 --clear-groups"
        func ask(_ socket: String) throws -> [String] {
            try TestProgram(
                path: "/usr/bin/unshare",
                [
                    "-m", "/bin/sh", "-c", #"mount --bind "$0" "$1" && shift && \#(drop) "$@""#,
                    KeychainChoice.ownSocket("box", beside: service.configuration.socket), target,
                    try peerPath(), "ask", socket,
                ], environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]
            ).lines()
        }
        #expect(try ask(target) == ["groups boxed", "sees boxed"])
        #expect(try ask(socket).first?.hasPrefix("welcome -25291 This user may not") == true)
    }

    @Test func `a dedicated socket and its connections exist only as long as its registry entry`()
        throws
    {
        let service = try TestService()
        let socket = KeychainChoice.ownSocket("box", beside: service.configuration.socket)
        #expect(Files.status(ofLink: socket) == nil)
        try TestService.entitle(.socket("box"), ["boxed"], in: service.folder)
        try eventually("the socket is there") { Sockets.isAnsweredForTests(socket) }
        let raw = try RawClient(socket)
        try raw.greet()
        let folder = RegistryFolder(path: service.folder.path + "/programs")
        #expect(try folder.remove(.socket("box")) == 1)
        #expect(try raw.isClosed())
        try eventually("the socket is gone") { Files.status(ofLink: socket) == nil }
    }
}

// MARK: - Withdrawn rights

@Suite struct WithdrawnRightTests {
    @Test func `changing the registry closes the connections whose rights it changes`()
        throws
    {
        let folder = try TemporaryFolder()
        try TestService.entitle("a", in: folder)
        try TestService.entitle(.socket("box"), ["boxed"], in: folder)
        let service = try TestService(folder: folder)
        let socket = KeychainChoice.ownSocket("box", beside: service.configuration.socket)
        let boxed = try RawClient(socket)
        try boxed.greet()
        for groups in [["b"], ["a", "c"]] {
            let raw = try RawClient(service.configuration.socket)
            try raw.greet()
            #expect(try raw.ask(2, HasPasscode()).kind == .answer)
            try TestService.entitle(.executable(try thisExecutable()), groups, in: folder)
            #expect(try raw.isClosed())
            #expect(try service.client().welcome().entitlements.accessGroups.names == groups)
        }
        // This step rewrites only the entitlements file. The registry entry stays.
        let raw = try RawClient(service.configuration.socket)
        try raw.greet()
        let entry = try #require(
            try RegistryFolder(path: folder.path + "/programs").entries().first {
                $0.subject == .executable(try thisExecutable())
            })
        _ = try Entitlements.propertyList(groups: ["d"]).write(
            to: URL(filePath: entry.entitlements))
        #expect(try raw.isClosed())
        let removed = try RawClient(service.configuration.socket)
        try removed.greet()
        #expect(
            try RegistryFolder(path: folder.path + "/programs")
                .remove(.executable(try thisExecutable())) == 1)
        #expect(try removed.isClosed())
        // The rights of the dedicated socket haven't changed, so its connection stays open.
        #expect(try boxed.ask(2, HasPasscode()).kind == .answer)
    }
}

// MARK: - Identity of processes

@Suite struct ProcessIdentityTests {
    // The paths follow systemd's documentation of control groups. Only root, and processes to which
    // root delegated a subtree, can create cgroups in system.slice.
    @Test(
        arguments: [
            ("/system.slice/a.service", "a.service"),
            ("/system.slice/system-a.slice/a@1.service", "a@1.service"),
            ("/system.slice/a.service/inner", "a.service"),
            ("/system.slice/a.service/b.service", "a.service"),
            ("/system.slice/a.scope", nil), ("/system.slice/a.scope/b.service", nil),
            ("/system.slice/.service", nil), ("/system.slice/../user.slice/a.service", nil),
            ("/user.slice/user-1000.slice/user@1000.service/app.slice/a.service", nil),
            ("/../system.slice/a.service", nil), ("/", nil), ("system.slice/a.service", nil),
        ] as [(String, String?)])
    func `a process's unit is the service right below system.slice or right below a nested slice`(
        _ path: String, _ name: String?
    ) {
        #expect(SystemUnit.name(inPath: path) == name)
    }

    @Test func `a process's unit is read only from the cgroup v2 hierarchy`() {
        let text = "9:name=systemd:/system.slice/a.service\n0::/user.slice\n"
        #expect(SystemUnit.path(in: text) == "/user.slice")
        #expect(SystemUnit.path(in: "1:cpu:/system.slice/a.service\n") == nil)
    }

    // The formats are from the documentation of Flatpak and Snap.
    @Test func `a sandbox is identified from Flatpak's metadata or a snap's cgroup`() {
        let info = "[Application]\nname=org.example.App\nruntime=x\n[Instance]\nname=no\n"
        #expect(Sandbox.flatpak(inInfo: info) == "flatpak:org.example.App")
        #expect(Sandbox.flatpak(inInfo: "[Instance]\nname=no\n") == nil)
        #expect(Sandbox.flatpak(inInfo: "[Application]\nname=a\u{7}b\n") == nil)
        let scope = "/user.slice/user-1.slice/user@1.service/app.slice/snap.code.code-1.scope"
        #expect(Sandbox.snap(inCgroup: scope) == "snap:code")
        #expect(Sandbox.snap(inCgroup: "/user.slice/app.slice/snap.scope") == nil)
    }

    @Test
    func `a process in a sandbox has the sandbox's group, or those of the sandbox's entry`()
        throws
    {
        let folder = try TemporaryFolder()
        try TestService.entitle(.sandbox("flatpak:org.example.B"), ["given"], in: folder)
        let service = try TestService(folder: folder)
        guard isRoot else {
            // Only root can start a program with another root folder. Other users test only the
            // rules.
            let rules = EntitlementRules(
                registry: ProgramRegistry(folder: folder.path + "/programs"),
                isRegistryOnly: false, keychainctl: nil)
            let peer = Peer(pid: 1, uid: geteuid(), identity: .sandbox("flatpak:org.example.B"))
            #expect(try rules.rights(of: peer).entitlements.accessGroups.names == ["given"])
            return
        }
        for (id, group) in [
            ("org.example.A", "flatpak:org.example.A"), ("org.example.B", "given"),
        ] {
            let root = try folder.makeFolder("root-" + id)
            _ = try folder.put("[Application]\nname=\(id)\n", "root-\(id)/.flatpak-info")
            let lines = try TestProgram(
                path: "/usr/bin/unshare",
                [
                    "-m", "/bin/sh", "-c",
                    """
                    for place in /*; do case $place in /tmp|/sys) continue; esac
                    [ -d "$place" ] || continue
                    mkdir -p "$0$place" && mount --rbind "$place" "$0$place" || exit 1; done
                    for place in "$1" "${2%/*}"; do
                    mkdir -p "$0$place" && mount --rbind "$place" "$0$place" || exit 1; done
                    shift; exec chroot "$0" "$@"
                    """, root, folder.path, try peerPath(), "ask", service.configuration.socket,
                    group, "default",
                ], environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]
            ).lines()
            #expect(
                lines == [
                    "groups \(group)", "add \(group) 0", "add default -34018", "sees \(group)",
                ])
        }
    }
}
