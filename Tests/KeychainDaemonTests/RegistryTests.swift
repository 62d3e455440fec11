// RegistryTests: the entitlements that programs get from the registry, and the groups they are
// granted for their claims.

import Foundation
import Glibc
import KeychainEngine
@testable import KeychainCrypto
import KeychainCore
import KeychainRuntime
import Synchronization
import Testing

@testable import KeychainDaemon

/// A registry folder, and a program that entries can name.
private final class Place {
    let folder: TemporaryFolder
    let program: String
    let registry: ProgramRegistry

    init() throws {
        folder = try TemporaryFolder()
        program = try folder.put("the program", "program", mode: 0o700)
        registry = ProgramRegistry(folder: try folder.makeFolder("programs"))
        _ = try folder.put(entitlements("<string>a</string>"), "programs/list.entitlements")
    }

    func entry(_ text: String, _ name: String = "entry.json", mode: Int = 0o600) throws {
        _ = try folder.put(
            text.replacing("PROGRAM", with: program), "programs/" + name, mode: mode)
    }

    func answer(about path: String? = nil) throws -> ProgramRegistry.Answer {
        registry.answer(about: try #require(Executable(at: path ?? program)))
    }
}

private let granted = ["a"]

extension ProgramRegistry.Answer {
    fileprivate var groups: [String]? {
        guard case .entitled(let entitlements) = self else { return nil }
        return entitlements.accessGroups.names
    }

    fileprivate var refusal: String? {
        guard case .refused(let reason) = self else { return nil }
        return reason
    }
}

private let plainEntry = #"{"executable": "PROGRAM", "entitlements": "list.entitlements"}"#

/// An invalid registry entry, and the text that the reason for the refusal must contain.
struct WrongRegistry: Sendable, CustomTestStringConvertible {
    let title: String
    let entry: String
    let reason: String

    init(_ title: String, _ entry: String, _ reason: String) {
        self.title = title
        self.entry = entry
        self.reason = reason
    }

    var testDescription: String { title }
}

@Suite struct RegistryTests {
    @Test
    func `while the registry can't be listed, only programs in its last known state have access`()
        throws
    {
        let place = try Place()
        try place.entry(plainEntry)
        let isListed = Mutex(true)
        let registry = ProgramRegistry(folder: place.registry.folder) { folder in
            isListed.withLock { $0 }
                ? try? FileManager.default.contentsOfDirectory(atPath: folder) : nil
        }
        let named = try #require(Executable(at: place.program))
        let other = try #require(Executable(at: "/bin/sh"))
        let revision = registry.revision()
        for _ in 1...2 {
            #expect(registry.answer(about: named).groups == granted)
            #expect(registry.answer(about: other) == .unnamed)
            // Listing fails, as it does when the service has no descriptor left.
            isListed.withLock { $0 = false }
            let before = registry.revision()
            #expect(registry.answer(about: named).groups == granted)
            #expect(registry.answer(about: other).refusal?.contains("listed") == true)
            // The failure doesn't cause connections to be checked again.
            #expect(registry.revision() == before)
            isListed.withLock { $0 = true }
        }
        #expect(registry.answer(about: other) == .unnamed)
        #expect(registry.revision() == revision + 2)
    }

    /// The names of the registry's entries also end in .json.
    @Test func `an unchanged list of entitlements whose name ends in .json is read once`() throws {
        let place = try Place()
        _ = try place.folder.put(entitlements("<string>b</string>"), "list.json")
        try place.entry(#"{"executable": "PROGRAM", "entitlements": "../list.json"}"#)
        let registry = ProgramRegistry(folder: place.registry.folder)
        let program = try #require(Executable(at: place.program))
        #expect(registry.answer(about: program).groups == ["b"])
        let revision = registry.revision()
        for _ in 1...3 { #expect(registry.answer(about: program).groups == ["b"]) }
        #expect(registry.revision() == revision)
        _ = try place.folder.put(entitlements("<string>c</string>"), "list.json")
        #expect(registry.answer(about: program).groups == ["c"])
    }

    @Test func `an entry gives a program its entitlements`() throws {
        let place = try Place()
        try place.entry(plainEntry)
        #expect(try place.answer().groups == granted)
        let other = try place.folder.put("another program", "other", mode: 0o700)
        #expect(try place.answer(about: other) == .unnamed)
    }

    @Test func `without a registry folder no program has an entry`() throws {
        let place = try Place()
        try FileManager.default.removeItem(atPath: place.registry.folder)
        #expect(try place.answer() == .unnamed)
        #expect(place.registry.problems().isEmpty)
    }

    @Test func `an entry with a hash applies only to the file with that hash`() throws {
        let place = try Place()
        let digest = try #require(Executable(at: place.program)?.digest())
        let hex = digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        try place.entry(
            plainEntry.replacing("{", with: #"{"sha256": "\#(hex.uppercased())", "#))
        #expect(try place.answer().groups == granted)

        // The program is replaced by another file at the same path.
        _ = try place.folder.put("the PROGRAM", "program", mode: 0o700)
        #expect(try place.answer().refusal?.contains("SHA-256") == true)
    }

    @Test func `a program to which two entries apply gets no access`() throws {
        let place = try Place()
        try place.entry(plainEntry)
        try place.entry(plainEntry, "second.json")
        #expect(try place.answer().refusal?.contains("2 files are about the same program") == true)
    }

    @Test func `a change of the registry applies at once`() throws {
        let place = try Place()
        #expect(try place.answer() == .unnamed)
        try place.entry(plainEntry)
        #expect(try place.answer().groups == ["a"])
        _ = try place.folder.put(
            entitlements("<string>b</string><string>c</string>"), "programs/list.entitlements")
        #expect(try place.answer().groups == ["b", "c"])
        try FileManager.default.removeItem(atPath: place.registry.folder + "/entry.json")
        #expect(try place.answer() == .unnamed)
    }

    // Rule: an invalid file never widens what a program gets.
    @Test(arguments: [
        WrongRegistry("not JSON", "executable", "isn't a JSON object with string values"),
        WrongRegistry("a list", "[]", "isn't a JSON object with string values"),
        WrongRegistry(
            "a number", #"{"executable": 1, "entitlements": "list.entitlements"}"#,
            "isn't a JSON object with string values"),
        WrongRegistry(
            "an unknown key",
            #"{"executable": "PROGRAM", "entitlements": "list.entitlements", "groups": "b"}"#,
            "unknown key, \"groups\""),
        WrongRegistry(
            "no executable", #"{"entitlements": "list.entitlements"}"#, "doesn't name an executable"
        ),
        WrongRegistry(
            "a relative path", #"{"executable": "program", "entitlements": "list.entitlements"}"#,
            "doesn't name an executable by its absolute path"),
        WrongRegistry(
            "a path with ..",
            #"{"executable": "/tmp/../program", "entitlements": "list.entitlements"}"#,
            "doesn't name an executable by its absolute path"),
        WrongRegistry(
            "two subjects",
            #"{"executable": "PROGRAM", "sandbox": "snap:a", "entitlements": "list.entitlements"}"#,
            "has more than one subject"),
        WrongRegistry(
            "a user, in a user's service", #"{"user": "7", "entitlements": "list.entitlements"}"#,
            "names a user, but a user's service identifies its callers only by executable"),
        WrongRegistry(
            "a socket with a user, in a user's service",
            #"{"socket": "app", "user": "7", "entitlements": "list.entitlements"}"#,
            "names a user for a socket, but every socket of a user's service leads to that"),
        WrongRegistry(
            "a socket with a path", #"{"socket": "../a", "entitlements": "list.entitlements"}"#,
            "letters, digits and hyphens"),
        WrongRegistry(
            "a sandbox without a kind", #"{"sandbox": "a", "entitlements": "list.entitlements"}"#,
            "isn't flatpak: or snap:"),
        WrongRegistry(
            "no name", #"{"sandbox": "snap:", "entitlements": "list.entitlements"}"#, "by a name"),
        WrongRegistry("no entitlements", #"{"executable": "PROGRAM"}"#, "names no entitlements"),
        WrongRegistry(
            "a short hash",
            #"{"executable": "PROGRAM", "sha256": "00", "entitlements": "list.entitlements"}"#,
            "64 hexadecimal digits"),
    ])
    func `while a registry file is invalid, programs without a valid entry get no access`(
        _ row: WrongRegistry
    ) throws {
        let place = try Place()
        try place.entry(row.entry)
        let refusal = try #require(try place.answer().refusal)
        #expect(refusal.contains(row.reason), "\(refusal)")
        #expect(place.registry.problems().count == 1)
        try place.entry(plainEntry, "right.json")
        #expect(try place.answer().groups == granted)
    }

    @Test func `in the machine's service, an entry about a socket has to name a user`() throws {
        let place = try Place()
        let registry = ProgramRegistry(folder: place.registry.folder, kind: .system)
        let entry = #"{"socket": "app", "entitlements": "list.entitlements"}"#
        try place.entry(entry)
        #expect(registry.sockets().isEmpty)
        #expect(
            registry.problems() == [
                registry.folder + "/entry.json names a socket without the user whose keychain it "
                    + "leads to"
            ])
        try place.entry(entry.replacing("app", with: #"app", "user": "7"#))
        #expect(registry.problems().isEmpty)
        #expect(registry.sockets()["app"]?.user == 7)
    }

    // Reason: a user who could write the entry could give any program any entitlement.
    @Test(arguments: [0o666, 0o620, 0o602, 0o777])
    func `an entry that other users can write is refused`(_ mode: Int) throws {
        let place = try Place()
        try place.entry(plainEntry)
        try #require(Files.setMode(place.registry.folder + "/entry.json", mode_t(mode)))
        #expect(try place.answer().refusal?.contains("can be written by other users") == true)
        try #require(Files.setMode(place.registry.folder + "/entry.json", 0o644))
        #expect(try place.answer().groups == granted)
    }

    @Test func `a registry folder that other users can write is refused`() throws {
        let place = try Place()
        try place.entry(plainEntry)
        try #require(Files.setMode(place.registry.folder, 0o770))
        #expect(try place.answer().refusal?.contains("can be written by other users") == true)
        try #require(Files.setMode(place.registry.folder, 0o755))
        #expect(try place.answer().groups == granted)
    }

    @Test
    func `entitlements that other users can write are refused, even if they were read before`()
        throws
    {
        let place = try Place()
        try place.entry(plainEntry)
        let list = place.registry.folder + "/list.entitlements"
        #expect(try place.answer().groups == granted)
        try #require(Files.setMode(list, 0o666))
        #expect(try place.answer().refusal?.contains("can be written by other users") == true)
        #expect(throws: DistrustedFile.self) { try place.registry.entitlements(at: list) }
    }

    @Test(arguments: [(geteuid(), true), (0, true), (geteuid() &+ 4711, false)])
    func `a registry file that belongs to neither the service's user nor root is refused`(
        _ owner: uid_t, _ isBelieved: Bool
    ) throws {
        let identity = FileIdentity(device: 1, inode: 1, size: 1, modified: 1, changed: 1)
        let status = FileStatus(identity: identity, owner: owner, mode: S_IFREG | 0o600)
        if isBelieved {
            try TrustedFile.check("file", status)
        } else {
            let error = #expect(throws: DistrustedFile.self) {
                try TrustedFile.check("file", status)
            }
            #expect(error?.reason.contains("belongs to another user") == true)
        }
    }

    @Test func `registry files that are symbolic links, pipes or too large are refused`() throws {
        let place = try Place()
        let entry = place.registry.folder + "/entry.json"
        try place.entry(plainEntry, "target")
        try FileManager.default.createSymbolicLink(
            atPath: entry, withDestinationPath: place.registry.folder + "/target")
        #expect(try place.answer().refusal?.contains("can't be read") == true)
        try FileManager.default.removeItem(atPath: entry)
        // SAFETY: the path is a terminated copy for the duration of the call.
        try #require(unsafe mkfifo(entry, 0o600) == 0)
        #expect(try place.answer().refusal?.contains("isn't a plain file") == true)
        try place.entry(plainEntry + String(repeating: " ", count: 1 << 16))
        #expect(try place.answer().refusal?.contains("is larger than") == true)
    }

    @Test func `an entry whose entitlements file is missing gives no access`() throws {
        let place = try Place()
        try place.entry(plainEntry.replacing("list.", with: "absent."))
        #expect(try place.answer().refusal?.contains("don't exist") == true)
    }
}

@Suite struct EntitlementRuleTests {
    private func rules(
        _ place: TemporaryFolder, isRegistryOnly: Bool = false, keychainctl: String? = nil
    ) -> EntitlementRules {
        EntitlementRules(
            registry: ProgramRegistry(folder: place.path + "/programs"),
            isRegistryOnly: isRegistryOnly, keychainctl: keychainctl)
    }

    private func groups(_ rules: EntitlementRules, _ program: String) throws -> AccessGroups {
        try rules.entitlements(of: #require(Executable(at: program))).accessGroups
    }

    @Test func `a program without an entitlements file has the default group, as in embedded mode`()
        throws
    {
        let folder = try TemporaryFolder()
        let program = try folder.put("p", "program")
        #expect(
            try groups(rules(folder), program) == AccessGroups(["default"], program: "program"))
    }

    // Attack: a program writes an entitlements file for itself with every group.
    @Test
    func `entitlements that a user puts beside a program apply only once they are registered`()
        throws
    {
        let folder = try TemporaryFolder()
        let program = try folder.put("p", "program")
        let list = try folder.put(
            entitlements("<string>a</string><string>*</string>"), "program.entitlements")
        do {
            _ = try groups(rules(folder), program)
            Issue.record("The unregistered entitlements were applied.")
        } catch let failure as KeychainFailure {
            #expect(failure.status == .missingEntitlement)
            #expect(failure.reason.contains("gives \"\(program)\" no access: the entitlements"))
            #expect(failure.reason.contains("`keychainctl program add`"))
        }
        let content = try Data(contentsOf: URL(filePath: list))
        _ = try RegistryFolder(path: folder.path + "/programs").put(
            .executable(program), sha256: nil, list: content)
        #expect(try groups(rules(folder), program) == AccessGroups(["a", "*"]))
    }

    @Test func `a program whose entitlements can't be examined gets no access`() throws {
        let folder = try TemporaryFolder()
        let place = try folder.makeFolder("bin")
        let path = try folder.put("p", "bin/program")
        let program = try #require(Executable(at: path))
        // A symbolic link to itself replaces the folder. Examining a file in it then fails with
        // ELOOP instead of ENOENT.
        try FileManager.default.removeItem(atPath: place)
        try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: "bin")
        let failure = #expect(throws: KeychainFailure.self) {
            try rules(folder).entitlements(of: program)
        }
        #expect(failure?.status == .missingEntitlement)
        #expect(failure?.reason.contains(errorText(ELOOP)) == true)
    }

    // Without an entry, a program's own entitlements file applies only if both files are root's.
    @Test
    func `a file counts as root's only if no other user can change it or a folder above it`()
        throws
    {
        // On every system, this file counts as root's.
        #expect(TrustedFile.isRoots("/etc/passwd"))
        let identity = FileIdentity(device: 1, inode: 1, size: 1, modified: 1, changed: 1)
        func status(_ owner: uid_t, _ mode: mode_t) -> FileStatus {
            FileStatus(identity: identity, owner: owner, mode: mode)
        }
        let sound = [
            "/": status(0, S_IFDIR | 0o755), "/opt": status(0, S_IFDIR | 0o755),
            "/opt/a": status(0, S_IFREG | 0o644),
        ]
        #expect(TrustedFile.isRoots("/opt/a", status: { sound[$0] }))
        let changes: [(String, FileStatus?)] = [
            ("/opt/a", status(1000, S_IFREG | 0o644)), ("/opt/a", status(0, S_IFREG | 0o664)),
            ("/opt/a", status(0, S_IFLNK | 0o777)), ("/opt/a", nil),
            ("/opt", status(1000, S_IFDIR | 0o755)), ("/opt", status(0, S_IFDIR | 0o1777)),
            ("/", status(1000, S_IFDIR | 0o755)),
        ]
        for (path, changed) in changes {
            var places = sound
            places[path] = changed
            #expect(!TrustedFile.isRoots("/opt/a", status: { places[$0] }), "\(path)")
        }
    }

    @Test func `in registry-only mode programs without an entry get no access`() throws {
        let folder = try TemporaryFolder()
        let program = try folder.put("p", "program")
        _ = try folder.put(entitlements("<string>a</string>"), "program.entitlements")
        let rules = rules(folder, isRegistryOnly: true, keychainctl: program)
        #expect(status { _ = try groups(rules, program) } == .missingEntitlement)
    }

    @Test
    func `keychainctl beside the service has access to every group, and a copy of it doesn't`()
        throws
    {
        let folder = try TemporaryFolder()
        let tool = try folder.put("tool", "keychainctl")
        let copy = try folder.put("tool", "copy")
        let rules = rules(folder, keychainctl: tool)
        #expect(try groups(rules, tool) == AccessGroups(["default", "*"]))
        #expect(try groups(rules, copy) == AccessGroups(["default"], program: "copy"))
    }
}

// MARK: - Claims

/// The groups that a program is entitled to, those it claims, and those it is granted.
struct ClaimRow: Sendable, CustomTestStringConvertible {
    let entitled: [String]
    let claim: [String]
    let granted: [String]

    init(_ entitled: [String], claim: [String], granted: [String]) {
        self.entitled = entitled
        self.claim = claim
        self.granted = granted
    }

    var testDescription: String { "\(entitled) claiming \(claim)" }
}

@Suite struct ClaimTests {
    // Rule: a program is granted the groups that it is entitled to and also claims, in the order of
    // the claim. "*" stands for all groups.
    @Test(arguments: [
        ClaimRow(["a", "b"], claim: ["a", "b"], granted: ["a", "b"]),
        ClaimRow(["a", "b"], claim: ["b", "a"], granted: ["b", "a"]),
        ClaimRow(["a", "b"], claim: ["b"], granted: ["b"]),
        ClaimRow(["a", "b"], claim: ["b", "c"], granted: ["b"]),
        ClaimRow(["a", "b"], claim: ["c"], granted: []),
        ClaimRow(["a", "b"], claim: [], granted: []),
        ClaimRow([], claim: ["a"], granted: []),
        ClaimRow([], claim: ["*"], granted: []),
        ClaimRow(["a", "b"], claim: ["*"], granted: ["a", "b"]),
        ClaimRow(["a", "b"], claim: ["b", "*"], granted: ["b", "a"]),
        ClaimRow(["a", "b"], claim: ["c", "*"], granted: ["a", "b"]),
        ClaimRow(["*"], claim: ["a"], granted: ["a"]),
        ClaimRow(["a", "*"], claim: ["b"], granted: ["b"]),
        ClaimRow(["a", "*"], claim: ["*"], granted: ["a", "*"]),
        ClaimRow(["a", "*"], claim: ["b", "*"], granted: ["b", "a", "*"]),
        ClaimRow(["*"], claim: [], granted: []),
        ClaimRow(
            ["a", "com.apple.token"], claim: ["com.apple.token"], granted: ["com.apple.token"]),
        ClaimRow(["a"], claim: ["com.apple.token", "a"], granted: ["a"]),
    ])
    func `a claim can narrow a program's entitlements and never widens them`(_ row: ClaimRow) {
        let granted = AccessGroups(row.entitled).granted(to: AccessGroups(row.claim))
        #expect(granted == AccessGroups(row.granted))
    }

    @Test func `a claim doesn't change the program's name`() {
        let own = AccessGroups(["default"], program: "own")
        for claim in [["default"], ["default", "*"], ["*"]] {
            let granted = own.granted(to: AccessGroups(claim, program: "other"))
            #expect(granted == own)
        }
        let entitled = AccessGroups(["a"]).granted(to: AccessGroups(["a"], program: "other"))
        #expect(entitled.program == nil)
    }
}

@Suite struct `Reading the registry in keychainctl` {
    @Test
    func `a registry whose folder is missing is empty, and an unreadable registry is an error`()
        throws
    {
        let place = try TemporaryFolder()
        let program = RegistryEntry.Subject.executable("/usr/bin/true")
        _ = try place.put("x", "file", mode: 0o600)
        try FileManager.default.createSymbolicLink(
            atPath: place.path + "/loop", withDestinationPath: "loop")
        for name in ["absent", "file/programs"] {
            let folder = RegistryFolder(path: place.path + "/" + name)
            #expect(try folder.entries().isEmpty)
            #expect(try folder.remove(program) == 0)
        }
        for name in ["file", "loop", "loop/programs"] {
            let folder = RegistryFolder(path: place.path + "/" + name)
            #expect(throws: DistrustedFile.self) { try folder.entries() }
            #expect(throws: KeychainFailure.self) { try folder.remove(program) }
            #expect(throws: KeychainFailure.self) {
                try folder.put(program, sha256: nil, list: Data())
            }
        }
    }
}
