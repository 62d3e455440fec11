// CredentialTests: systemd requests a unit's credential, and other callers pretend to be systemd.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRuntime
import Synchronization
import TestPrograms
import Testing

@testable import KeychainDaemon

/// A caller whose socket is bound to an abstract name, like systemd's.
private struct Caller {
    let socket: OwnedDescriptor

    init(as name: String?, to path: String) throws {
        socket = try #require(UnixSockets.make())
        if let name {
            let bound = "\0" + name
            let size = socklen_t(MemoryLayout<sa_family_t>.size + bound.utf8.count)
            // SAFETY: the address lives for the call.
            let code = unsafe UnixSockets.withAddress(bound) { address, _ in
                unsafe bind(socket.number, address, size)
            }
            try #require(code == 0)
        }
        try #require(UnixSockets.connect(socket, to: path))
        // systemd does this before it reads.
        shutdown(socket.number, Int32(SHUT_WR))
    }

    /// Everything received until the end of the stream.
    func answer() throws -> Data {
        var all = Data()
        while true {
            let part = try [UInt8](readingFrom: socket.number, atMost: 1 << 16)
            if part.isEmpty { return all }
            all += part
        }
    }
}

private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

/// A server that has a few credentials and trusts one user id.
private final class CredentialService {
    let folder: TemporaryFolder
    let path: String
    let lines = Lines()
    private var server: CredentialServer?

    init(
        trusting trusted: uid_t,
        run: @escaping @Sendable (@escaping FairPool.Work) -> Void = { $0(true) }
    ) throws {
        folder = try TemporaryFolder()
        path = folder.path + "/run/credentials-socket"
        let server = try CredentialServer(
            try ListeningSocket(at: path, isForEverybody: true, mode: 0o600), trusted: trusted,
            source: { name, _ throws(KeychainFailure) in
                switch (name.unit, name.credential) {
                case ("app.service", "password"): Data("secret".utf8)
                case ("app.service", "large"): Data(repeating: 7, count: 1 << 20)
                case ("app.service", "sizable"): Data(repeating: 7, count: 300 << 10)
                case ("app.service", "empty"): Data()
                case ("app.service", "too large"): Data(repeating: 7, count: 1 << 20 + 1)
                default: throw .itemNotFound
                }
            },
            run: run, onLine: { [lines] line in lines.add(line) })
        try server.start()
        self.server = server
    }

    deinit { server?.stop() }

    func answer(_ name: String?) throws -> Data { try Caller(as: name, to: path).answer() }
}

@Suite struct CredentialTests {
    private static let refusal = Data(count: 1 << 20 + 1)

    @Test func `a unit gets its own credential and no other`() throws {
        let service = try CredentialService(trusting: geteuid())
        let start = "\(String(UInt64.random(in: 0 ... .max), radix: 16))/unit/"
        #expect(try service.answer(start + "app.service/password") == Data("secret".utf8))
        #expect(try service.answer(start + "app.service/large").count == 1 << 20)
        // Without a secret of an allowed size, the answer has more bytes than systemd accepts, so
        // that systemd doesn't start the unit with an empty secret.
        for name in [
            "app.service/other", "other.service/password", "app.service/empty",
            "app.service/too large",
        ] {
            #expect(try service.answer(start + name) == Self.refusal, "\(name)")
        }
        let lines = service.lines.all
        #expect(lines.count == 6)
        #expect(lines[0] == "credential password of the unit app.service: given")
        #expect(!lines.contains { $0.contains("secret") })
    }

    // The secret is larger than the buffer that Linux gives a socket by default. It fits into the
    // buffer that the service requests, even if `net.core.wmem_max` is 212992, the default of many
    // kernels.
    @Test func `a secret is sent as a whole before systemd reads it`() throws {
        let service = try CredentialService(trusting: geteuid())
        let caller = try Caller(as: "1/unit/app.service/sizable", to: service.path)
        try eventually("the secret is sent") { !service.lines.all.isEmpty }
        #expect(service.lines.all == ["credential sizable of the unit app.service: given"])
        #expect(try caller.answer().count == 300 << 10)
    }

    @Test func `a request that still waits when the service ends is answered with too many bytes`()
        throws
    {
        let workers = Workers(count: 1)
        let service = try CredentialService(trusting: geteuid()) {
            workers.submit(for: .user(0), $0)
        }
        // From now on, submitted work is treated like work that still waited when the service
        // ended.
        workers.stop()
        #expect(try service.answer("1/unit/app.service/password") == Self.refusal)
        #expect(
            service.lines.all == [
                "credential password of the unit app.service: not given, The keychain service is "
                    + "ending."
            ])
    }

    @Test func `a caller whose user id isn't trusted gets no credential`() throws {
        // The server trusts a user id other than the one that runs the tests.
        let service = try CredentialService(trusting: geteuid() + 1)
        #expect(try service.answer("1/unit/app.service/password").isEmpty)
        #expect(
            service.lines.all == [
                "credential refused: uid \(geteuid()) isn't systemd"
            ])
    }

    @Test func `a caller whose socket isn't named as systemd names it gets no credential`() throws {
        let service = try CredentialService(trusting: geteuid())
        for name in [nil, "app.service/password", "x/unit/app.service/password"] {
            #expect(try service.answer(name).isEmpty, "\(name ?? "none")")
        }
    }

    @Test(arguments: [
        "", "1/unit/app.service", "1/unit//password", "1/unit/app.service/", "/unit/a.service/b",
        "1/user/app.service/b", "1/unit/a.service/b/c", "1/unit/a b.service/c",
        "11111111111111111/unit/a.service/b", "G/unit/a.service/b", "1/unit/a.service/b\nc",
        "1/unit/a.service/b\u{2028}c", "1/unit/a.service/b\0",
    ])
    func `parsing a socket name that lacks systemd's form fails`(
        _ name: String
    ) {
        #expect(CredentialName(Array(name.utf8)) == nil)
    }

    @Test func `unit and credential are parsed from the socket name that systemd uses`() {
        #expect(
            CredentialName(Array("a1b2/unit/app@x\\x2dy.service/db password".utf8))
                == CredentialName(unit: "app@x\\x2dy.service", credential: "db password"))
        #expect(CredentialName(Array("1/unit/a.service/\u{FF}".utf8)) != nil)
        #expect(CredentialName([0x31] + Array("/unit/a.service/".utf8) + [0xFF]) == nil)
    }

    /// The service runs as root, or as a user who is root in a user namespace.
    @Test func `the machine's service gives credentials from root's items in the group systemd`()
        throws
    {
        let folder = try TemporaryFolder()
        let engine = try KeychainEngine.open(
            directory: folder.path + "/keychains/0", options: .testing)
        for (group, secret) in [("systemd", "for the unit"), ("other", "for nobody")] {
            _ = try engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword,
                        attributes: [
                            .service: .string("app.service"), .account: .string(group),
                        ], accessGroup: group, protection: .afterFirstUnlock,
                        data: Data(secret.utf8))), as: AccessGroups(["*"]))
        }
        engine.close()
        let user = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
        let path = folder.path + "/run/credentials-socket"
        let daemon = try #require(TestProgram.path(of: "keychaind"))
        let peer = try #require(TestProgram.path(of: "service-peer"))
        let script = """
            \(daemon) --system --directory \(folder.path)/keychains --log-level error \
            --socket \(folder.path)/run/socket --registry \(folder.path)/programs \
            --credentials \(path) & service=$!
            while ! [ -S \(path) ]; do sleep 0.01; done
            stat -c %a \(path)
            for name in systemd other; do \(peer) credential \(path) app.service $name; done
            chmod 711 \(folder.path); chmod 666 \(path)
            if setpriv --reuid 12345 --clear-groups true 2>/dev/null; then
                setpriv --reuid 12345 --clear-groups \(peer) credential \(path) app.service systemd
            else echo refused; fi
            kill $service; wait $service
            """
        let program = try TestProgram(
            path: "/usr/bin/env", ["unshare", "--mount"] + user + ["sh", "-c", script],
            environment: [:])
        #expect(program.lines() == ["600", "for the unit", "too large", "refused"])
        #expect(program.endedWell)
        #expect(Files.status(ofLink: path) == nil)
        let audit = try String(
            contentsOfFile: AuditFolder(path: folder.path + "/keychains/audit").files()[0].path,
            encoding: .utf8)
        #expect(audit.split(separator: "\n").count { $0.contains("credential") } == 2)
        // The unit's name is the only attribute of the item in the audit.
        #expect(audit.contains(" app.service credential genp "))
        #expect(!audit.contains("systemd"))
    }

    @Test(arguments: [[], ["--system"]])
    func `a service with a credential from systemd unlocks without user interaction`(
        _ kind: [String]
    ) throws {
        let folder = try TemporaryFolder()
        if kind.isEmpty { try TestService.entitle("*", "default", in: folder) }
        let keychain = folder.path + (kind.isEmpty ? "/keychain" : "/keychain/\(geteuid())")
        let secret = SecretBytes.random(byteCount: 32)
        do {
            let engine = try KeychainEngine.open(directory: keychain, options: .testing)
            defer { engine.close() }
            _ = try engine.perform(AddItem(password("a")), as: everything)
            try engine.perform(ChangeSlots(.add(.credential(secret))), as: everything)
        }
        let credentials = try folder.makeFolder("credentials")
        let file = credentials + "/keychain.unlock"
        func load(_ content: SecretBytes) throws -> (Status, String?) {
            try Data(content.plainBytes).write(to: URL(filePath: file))
            let socket = folder.path + "/run/socket"
            let program = try TestProgram(
                path: try #require(TestProgram.path(of: "keychaind")),
                kind + [
                    "--directory", folder.path + "/keychain", "--socket", socket, "--registry",
                    folder.path + "/programs", "--log-level", "error",
                ], environment: ["CREDENTIALS_DIRECTORY": credentials])
            defer {
                program.send(SIGTERM)
                #expect(program.endedWell)
            }
            try eventually("the service listens") { Sockets.isAnsweredForTests(socket) }
            let client = ServiceClient(socketPath: socket)
            var value: String?
            return (status { value = try client.load("a", as: everything) }, value)
        }
        let (wrong, nothing) = try load(.random(byteCount: 32))
        #expect(wrong == .interactionNotAllowed && nothing == nil)
        let (right, value) = try load(secret)
        #expect(right == Status(rawValue: 0) && value == "a")
    }

    @Test func `a user's service with a credential socket refuses to start`() throws {
        let folder = try TemporaryFolder()
        #expect(throws: ServiceFailure.self) {
            _ = try TestService(folder: folder) {
                $0.credentialSocket = folder.path + "/run/credentials-socket"
            }
        }
    }
}
