import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import KeychainWire
import Logging
import Synchronization
import TestPrograms
import Testing

@testable import KeychainDaemon

private let own = AccessGroups(["default"])

/// Bytes that are not a valid request. The service must end the connection.
struct WrongBytes: Sendable, CustomTestStringConvertible {
    let title: String
    let bytes: [UInt8]

    init(_ title: String, _ bytes: [UInt8]) {
        self.title = title
        self.bytes = bytes
    }

    var testDescription: String { title }
}

@Suite struct RobustnessTests {
    private func goesOn(_ service: TestService) throws {
        let account = UUID().uuidString
        let client = service.client()
        _ = try client.perform(AddItem(password(account)), as: own)
        #expect(try client.load(account, as: own) == account)
    }

    // The test cases follow from the description of the frame format.
    @Test(arguments: [
        WrongBytes("a size of 4 GiB", [0xFF, 0xFF, 0xFF, 0xFF]),
        WrongBytes("a size above the limit", [0x04, 0x00, 0x00, 0x01]),
        WrongBytes("a size of zero", [0, 0, 0, 0]),
        WrongBytes("no message", [0, 0, 0, 3, 0xFF, 0xFF, 0xFF]),
        WrongBytes("a message without an id", [0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        WrongBytes("an older version of the protocol", [0, 0, 0, 6, 8, 1, 82, 2, 8, 1]),
        WrongBytes("text", Array("GET / HTTP/1.1\r\n\r\n".utf8)),
    ])
    func `an invalid message gets an error, and only its own connection ends`(
        _ row: WrongBytes
    ) throws {
        let service = try TestService()
        let client = try RawClient(service.configuration.socket)
        try client.greet()
        try client.send(row.bytes)
        let reply = try client.reply()
        #expect(reply.id == 0)
        try #require(reply.kind == .failure)
        #expect(try reply.body(KeychainFailure.self).status == .param)
        #expect(try client.isClosed())
        try goesOn(service)
    }

    @Test func `random bytes end only their own connection`() throws {
        let service = try TestService()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<100 {
            let client = try RawClient(service.configuration.socket)
            var bytes = (0..<64).map { _ in UInt8.random(in: 0...255, using: &random) }
            // The size is valid, so that the rest is read as a message.
            bytes.replaceSubrange(0..<4, with: [0, 0, 0, 60])
            _ = client.sendWithoutWaiting(bytes)
            #expect(try client.isClosed())
        }
        try goesOn(service)
    }

    @Test func `an incomplete frame has no effect, and a frame sent byte by byte works`() throws {
        let service = try TestService()
        do {
            let half = try RawClient(service.configuration.socket)
            try half.greet()
            try half.send(Array(try half.request(2, AddItem(password("half"))).dropLast()))
        }
        let slow = try RawClient(service.configuration.socket)
        try slow.greet()
        for byte in try slow.request(2, AddItem(password("slow")), as: ["default"]) {
            try slow.send([byte])
        }
        #expect(try slow.reply().kind == .answer)
        try goesOn(service)
        #expect(try service.client().load("half", as: own) == nil)
        #expect(try service.client().load("slow", as: own) == "slow")
    }

    @Test func `a message before hello and a second hello each end the connection`() throws {
        let service = try TestService()
        let early = try RawClient(service.configuration.socket)
        #expect(try early.ask(1, HasPasscode()).id == 0)
        #expect(try early.isClosed())
        let twice = try RawClient(service.configuration.socket)
        try twice.greet()
        #expect(try twice.tell(2, .hello(ClientHello())).id == 0)
        #expect(try twice.isClosed())
    }

    @Test func `a hello with unsupported versions gets an error, and the connection is closed`()
        throws
    {
        let service = try TestService()
        for versions: ClosedRange<UInt32> in [98...99, 0...1] {
            let client = try RawClient(service.configuration.socket)
            let reply = try client.tell(1, .hello(ClientHello(versions: versions)))
            try #require(reply.kind == .failure && reply.id == 1)
            #expect(try reply.body(KeychainFailure.self).status == .wrongVersion)
            #expect(try client.isClosed())
        }
        // A message that was sent together with the hello isn't carried out either.
        let hasty = try RawClient(service.configuration.socket)
        let hello = try hasty.bytes(.hello(ClientHello(versions: 98...99)), id: 1)
        try hasty.send(hello + (try hasty.bytes(.hello(ClientHello()), id: 2)))
        #expect(try hasty.reply().kind == .failure)
        #expect(try hasty.isClosed())
        try goesOn(service)
    }

    @Test func `the newest version that both ends support is chosen`() throws {
        let service = try TestService()
        let newest = WireLimits.versions.upperBound
        for versions in [newest...newest, 1...newest, newest...99] {
            let client = try RawClient(service.configuration.socket)
            let reply = try client.tell(1, .hello(ClientHello(versions: versions)))
            try #require(reply.kind == .answer)
            #expect(try reply.body(Welcome.self).version == newest)
        }
    }

    /// A thread logs each request before it answers the request. Here the first threads wait while
    /// logging, until one connection's maximum number of requests is in progress.
    @Test func `requests of one connection are carried out concurrently, and each is answered`()
        throws
    {
        let meeting = Meeting(of: DaemonConfiguration.Limits().requestsPerConnection)
        let log = LogLines { if $0.contains(" add ") { meeting.join() } }
        let service = try TestService(log: log)
        let client = try RawClient(service.configuration.socket)
        try client.greet()
        var ids: Set<UInt64> = []
        for id in UInt64(2)..<102 {
            try client.send(try client.request(id, AddItem(password("\(id)")), as: ["default"]))
            ids.insert(id)
        }
        for _ in 2..<102 {
            let reply = try client.reply()
            try #require(reply.kind == .answer)
            let item = try reply.body(ItemSnapshot.self)
            #expect(item.attributes[.account] == .string("\(reply.id)"))
            #expect(ids.remove(reply.id) != nil)
        }
        #expect(ids.isEmpty)
        #expect(meeting.tookPlace)
    }

    @Test func `the service stops reading from a client that never reads, and still serves others`()
        throws
    {
        let service = try TestService { $0.limits.endTime = .milliseconds(200) }
        var large = password("large")
        large.data = Data(repeating: 1, count: 1 << 20)
        _ = try service.client().perform(AddItem(large), as: own)
        let greedy = try RawClient(service.configuration.socket)
        try greedy.greet()
        try #require(try greedy.tell(2, .subscribe).kind == .answer)
        // Each answer is a mebibyte long, so a few answers fill the socket buffer.
        let load = FindItems(
            passwordQuery("large"), Retrieval(limit: 1, includesData: true))
        var sent = 0
        for id in UInt64(3)..<100_000 {
            guard greedy.sendWithoutWaiting(try greedy.request(id, load, as: ["default"])) else {
                break
            }
            sent += 1
        }
        #expect(sent < 99_000, "the service reads everything")
        // The client also subscribes to changes, and doesn't read those notifications either.
        for _ in 0..<50 { try goesOn(service) }
        #expect(service.server.connectionCount >= 1)
        // Stopping the service waits for this client no longer than `endTime`.
        service.stop()
        #expect(service.server.connectionCount == 0)
    }

    @Test
    func `a client that doesn't answer the challenge in time is refused and doesn't delay others`()
        throws
    {
        let service = try TestService { $0.limits.handshakeTime = .seconds(3) }
        let silent = try RawClient(service.configuration.socket, isAnswering: false)
        try goesOn(service)
        _ = try silent.question()
        #expect(try silent.isClosed())
        #expect(service.log.all.contains { $0.contains("didn't answer in time") })
        let liar = try RawClient(service.configuration.socket, isAnswering: false)
        _ = try liar.question()
        try liar.send([UInt8](repeating: 0, count: Handshake.byteCount))
        #expect(try liar.isClosed())
    }

    // Attack: 128 callers that never answer locked out all other programs of their user.
    @Test func `clients that never answer the challenge don't lock out others`() throws {
        let service = try TestService {
            $0.limits.handshakeTime = .seconds(300)
            $0.limits.handshakesPerUser = 4
        }
        let socket = service.configuration.socket
        let silent = try (0..<20).map { _ in try RawClient(socket, isAnswering: false) }
        defer { withExtendedLifetime(silent) {} }
        try eventually("the first refusals are logged") {
            service.log.all.count { $0.contains("too many connections") } >= RefusalTally.toldCount
        }
        try goesOn(service)
    }

    @Test func `a first message of more than 1024 bytes ends the connection`() throws {
        let service = try TestService()
        let client = try RawClient(service.configuration.socket)
        let byteCount = UInt32(WireLimits.helloByteCount + 1)
        try client.send((0..<4).map { UInt8(truncatingIfNeeded: byteCount >> (24 - 8 * $0)) })
        let reply = try client.reply()
        #expect(reply.kind == .failure)
        #expect(try client.isClosed())
        // The limit applies to the first message only, and the service continues.
        let greeted = try RawClient(service.configuration.socket)
        try greeted.greet()
        let item = password("large", String(repeating: "x", count: WireLimits.helloByteCount))
        #expect(try greeted.ask(2, AddItem(item), as: ["default"]).kind == .answer)
    }

    // Attack: clients don't receive the sockets that the service passes to them, until as many
    // sockets are in flight as the kernel allows.
    @Test func `refused clients count towards a limit until they take the socket or end`() throws {
        let service = try TestService {
            $0.limits.handshakeTime = .seconds(1)
            $0.limits.untakenPerUser = 2
        }
        let socket = service.configuration.socket
        var silent = try (0..<2).map { _ in try RawClient(socket, isAnswering: false) }
        try eventually("both are refused") {
            service.log.all.count { $0.contains("didn't answer in time") } == 2
        }
        do {
            _ = try service.client().perform(HasPasscode())
            Issue.record("admitted")
        } catch {
            #expect(error.reason.contains("too many connections"), "\(error.reason)")
        }
        // One client receives its socket, and later both clients end.
        _ = try silent[0].question()
        try eventually("another client is admitted") {
            (try? service.client().perform(HasPasscode())) == false
        }
        silent = []
        try eventually("both places are free") {
            let clients = try (0..<2).map { _ in try RawClient(socket, isAnswering: false) }
            return clients.allSatisfy { (try? $0.question()) != nil }
        }
    }

    @Test func `the service serves a thousand connections`() throws {
        #expect(Processes.raiseDescriptorLimit() > 2100)
        let service = try TestService()
        let clients = try (0..<1000).map { _ in try RawClient(service.configuration.socket) }
        do {
            for client in clients { try client.greet() }
        } catch {
            Issue.record("\(service.log.all.suffix(4))")
            throw error
        }
        #expect(service.log.all.filter { $0.hasPrefix("warning") } == [])
        #expect(service.server.connectionCount == 1000)
        for client in clients { try client.send(try client.request(2, HasPasscode())) }
        var answers = 0
        for client in clients {
            let reply = try client.reply()
            if try reply.kind == .answer && !reply.body(Bool.self) { answers += 1 }
        }
        #expect(answers == 1000)
    }

    @Test func `the number of connections per user is limited`() throws {
        let service = try TestService { $0.limits.connectionsPerUser = 3 }
        var clients = try (0..<3).map { _ in try RawClient(service.configuration.socket) }
        for client in clients { try client.greet() }
        let fourth = try RawClient(service.configuration.socket)
        #expect(try fourth.isClosed())
        clients.removeLast()
        try eventually("a connection ends") { service.server.connectionCount == 2 }
        try RawClient(service.configuration.socket).greet()
    }

    @Test
    func `a search whose answer is too large fails, but a change with a large answer succeeds`()
        throws
    {
        let service = try TestService { $0.limits.answerByteCount = 2000 }
        let client = service.client()
        let large = String(repeating: "x", count: 3000)
        // The limit doesn't apply to the answer to a change, which contains the item with its data.
        _ = try client.perform(AddItem(password("large", large)), as: own)
        #expect(status { _ = try client.load("large", as: own) } == .allocate)
        let query = FindItems(passwordQuery("large"))
        #expect(try client.perform(query, as: own).count == 1)
        try goesOn(service)
        service.stop()
        #expect(service.log.all.contains { $0.contains("find") && $0.contains("-108") })
    }

    @Test func `the log contains no values`() throws {
        let service = try TestService(format: .json)
        let client = service.client()
        var item = password("ACCOUNT-7", "SECRET-7")
        item.attributes[.label] = .string("LABEL-7")
        _ = try client.perform(AddItem(item), as: own)
        _ = try client.perform(
            FindItems(passwordQuery("ACCOUNT-7"), Retrieval(includesData: true)), as: own)
        #expect(status { _ = try client.perform(AddItem(item), as: own) } == .duplicateItem)
        service.stop()
        let lines = service.log.all
        #expect(!lines.joined().contains("-7"))
        let requests = try lines.map {
            try JSONDecoder().decode([String: String].self, from: Data($0.utf8))
        }
        let adds = requests.filter { $0["message"] == "add" }
        #expect(adds.map { $0["status"] } == ["0", "-25299"])
        #expect(adds.map { $0["query"] } == ["genp acct labl svce", "genp acct labl svce"])
        let find = try #require(requests.first { $0["message"] == "find" })
        #expect(
            find.keys.sorted() == [
                "executable", "level", "message", "microseconds", "pid", "query", "status", "time",
                "uid",
            ])
        #expect(find["pid"] == "\(getpid())")
        #expect(find["uid"] == "\(geteuid())")
        #expect(find["executable"] == (try thisExecutable()))
    }
}

/// The environment variables given to process 7, and the descriptor that the service should use.
struct GivenSockets: Sendable {
    let pid: String?
    let count: String?
    let socket: Int32?

    init(_ pid: String?, _ count: String?, _ socket: Int32?) {
        self.pid = pid
        self.count = count
        self.socket = socket
    }
}

@Suite struct ListenerTests {
    @Test func `two services can't share a socket or a folder`() throws {
        let service = try TestService()
        for change: (inout DaemonConfiguration) -> Void in [
            { $0.directory += "-other" }, { $0.socket += "-other" },
        ] {
            let error = #expect(throws: ServiceFailure.self) {
                _ = try TestService(folder: service.folder, isStarted: false, change)
            }
            #expect(error?.reason.contains("Another keychaind already serves") == true)
        }
        #expect(try service.client().perform(HasPasscode()) == false)
    }

    @Test func `a socket on which another program listens isn't replaced`() throws {
        let folder = try TemporaryFolder()
        let run = try folder.makeFolder("run")
        let other = try #require(Sockets.make())
        try #require(Sockets.bind(other, to: run + "/socket") && Sockets.listen(other))
        let error = #expect(throws: ServiceFailure.self) { _ = try TestService(folder: folder) }
        #expect(error?.reason.contains("Another program already listens") == true)
        other.close()
        // The file still exists, and no program answers.
        let service = try TestService(folder: folder)
        #expect(try service.client().perform(HasPasscode()) == false)
    }

    @Test func `a file at the socket's path is kept if it isn't a socket`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("run")
        let file = try folder.put("precious", "run/socket")
        #expect(throws: ServiceFailure.self) { _ = try TestService(folder: folder) }
        #expect(FileManager.default.contents(atPath: file) == Data("precious".utf8))
    }

    @Test func `a socket folder that others may enter is refused`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("run", mode: 0o755)
        let error = #expect(throws: ServiceFailure.self) { _ = try TestService(folder: folder) }
        #expect(error?.reason.contains("chmod 700") == true)
    }

    @Test func `the socket is removed when the service ends`() throws {
        let service = try TestService()
        #expect(Files.status(ofLink: service.configuration.socket)?.mode == S_IFSOCK | 0o600)
        service.stop()
        #expect(Files.status(ofLink: service.configuration.socket) == nil)
    }

    @Test func `a socket passed to the service is used, and is not removed`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.makeFolder("given") + "/socket"
        let given = try #require(Sockets.make())
        try #require(Sockets.bind(given, to: path) && Sockets.listen(given))
        let service = try TestService(folder: folder, socket: given.handOn())
        #expect(try ServiceClient(socketPath: path).perform(HasPasscode()) == false)
        service.stop()
        #expect(Files.status(ofLink: path)?.isSocket == true)
    }

    @Test func `a descriptor that isn't a listening socket is refused`() throws {
        let folder = try TemporaryFolder()
        let socket = try #require(Sockets.make())
        #expect(throws: ServiceFailure.self) {
            _ = try TestService(folder: folder, socket: socket.number)
        }
    }

    // As described in sd_listen_fds(3).
    @Test(arguments: [
        GivenSockets("7", "1", 3), GivenSockets("8", "1", nil), GivenSockets(nil, "1", nil),
        GivenSockets("7", nil, nil), GivenSockets("7", "0", nil), GivenSockets("x", "1", nil),
        GivenSockets("7", "x", nil), GivenSockets("7", "-1", nil),
    ])
    func `passed sockets are used only if they are meant for this process`(_ row: GivenSockets)
        throws
    {
        var environment: [String: String] = [:]
        environment["LISTEN_PID"] = row.pid
        environment["LISTEN_FDS"] = row.count
        let manager = try ServiceManager(environment, pid: 7)
        #expect(manager.socket == row.socket)
    }

    // As described in sd_notify(3).
    @Test(arguments: [
        ("/run/notify", true), ("@notify", true), ("notify", false), ("vsock:2:1", false),
        ("", false),
    ])
    func `systemd is notified only at an absolute path or a name in the abstract namespace`(
        address: String, isUsed: Bool
    ) throws {
        let manager = try ServiceManager(["NOTIFY_SOCKET": address], pid: 7)
        #expect(manager.notificationSocket == (isUsed ? address : nil))
    }

    @Test func `dedicated sockets are told apart by their descriptor names`() throws {
        let manager = try ServiceManager(
            [
                "LISTEN_PID": "7", "LISTEN_FDS": "4",
                "LISTEN_FDNAMES": "own-a:keychaind.socket:own-b:credentials",
            ], pid: 7)
        #expect(manager.socket == 4)
        #expect(manager.credentialSocket == 6)
        #expect(manager.ownSockets == ["a": 3, "b": 5])
    }

    @Test(arguments: ["a:b", "credentials:credentials", "", "a:credentials:credentials"])
    func `two main sockets, or two sockets named credentials, are refused`(_ names: String) {
        let count = max(2, names.split(separator: ":").count)
        #expect(throws: ServiceFailure.self) {
            _ = try ServiceManager(
                ["LISTEN_PID": "7", "LISTEN_FDS": "\(count)", "LISTEN_FDNAMES": names], pid: 7)
        }
    }

    @Test func `the socket for credential requests is recognized by its descriptor name`() throws {
        func sockets(_ count: Int, _ names: String) throws -> [Int32?] {
            let manager = try ServiceManager(
                ["LISTEN_PID": "7", "LISTEN_FDS": "\(count)", "LISTEN_FDNAMES": names], pid: 7)
            return [manager.socket, manager.credentialSocket]
        }
        #expect(try sockets(2, "keychaind.socket:credentials") == [3, 4])
        #expect(try sockets(2, "credentials:keychaind.socket") == [4, 3])
        #expect(try sockets(1, "credentials") == [nil, 3])
    }

    // As described in sd_watchdog_enabled(3).
    @Test func `the watchdog interval applies only to the process it is meant for`() throws {
        func time(_ environment: [String: String]) throws -> Duration? {
            try ServiceManager(environment, pid: 7).watchdogTime
        }
        #expect(try time(["WATCHDOG_USEC": "3000000"]) == .seconds(3))
        #expect(try time(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7"]) == .seconds(3))
        #expect(try time(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"]) == nil)
        #expect(try time(["WATCHDOG_USEC": "0"]) == nil)
        #expect(try time(["WATCHDOG_USEC": "-1"]) == nil)
        #expect(try time(["WATCHDOG_USEC": "x"]) == nil)
        #expect(try time([:]) == nil)
    }
}
