// BrokenServiceTests: services that are missing, that aren't the keychain service, or that fail.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainWire
import Testing

@testable import KeychainRuntime

@Suite struct `A service that fails` {
    static let caller = AccessGroups(["one"])
    static let query = ItemQuery(itemClass: .genericPassword)
    static let item = `The client of the service`.item
    static let newItem = `The client of the service`.newItem

    /// The failure of a search.
    private func failedRead(
        _ service: FakeService, _ options: ServiceOptions = ServiceOptions()
    ) -> KeychainFailure? {
        #expect(throws: KeychainFailure.self) {
            try ServiceClient(socketPath: service.path, options: options)
                .perform(FindItems(Self.query, Retrieval()), as: Self.caller)
        }
    }

    // MARK: When the service closes the connection

    /// The service announces that it closes the connection, either before or after it has received
    /// the request. After this announcement, the service carries out no more requests.
    @Test(arguments: [false, true])
    func `a change that was not carried out is sent again`(_ isAfterRequest: Bool) throws {
        let carriedOut = Recorded<Int>()
        let service = try FakeService { peer, number in
            guard peer.greet() else { return }
            if number == 1 {
                if isAfterRequest { _ = peer.request() }
                peer.send(Self.closing)
                return peer.hangUp()
            }
            while let request = peer.request() {
                carriedOut.append(number)
                peer.reply(request.id, .answer(Done()))
            }
        }
        let client = ServiceClient(socketPath: service.path)
        try client.perform(Lock())
        #expect(carriedOut.values == [2])
    }

    @Test func `a request fails if the service closes every connection`() throws {
        let service = try FakeService { peer, _ in
            guard peer.greet() else { return }
            _ = peer.request()
            peer.send(Self.closing)
        }
        let failure = #expect(throws: KeychainFailure.self) {
            try ServiceClient(socketPath: service.path).perform(Lock())
        }
        #expect(failure?.status == .notAvailable && failure?.cause == .contention)
    }

    @Test func `a request fails if the service closes the connection instead of answering hello`()
        throws
    {
        let service = try FakeService { peer, _ in
            peer.beginHandshake()
            peer.send(Self.closing)
        }
        #expect(failedRead(service)?.cause == .contention)
    }

    // The service can't have carried out a request that didn't arrive completely.
    @Test func `a change that was not sent completely is sent again`() throws {
        let carriedOut = Recorded<Int>()
        let service = try FakeService { peer, number in
            guard peer.greet() else { return }
            if number == 1 {
                _ = peer.receive(1000)
                return peer.hangUp()
            }
            while let request = peer.request() {
                carriedOut.append(number)
                peer.reply(request.id, .answer(Done()))
            }
        }
        let large = Unlock(passcode: SecretBytes(copying: [UInt8](repeating: 7, count: 8 << 20)))
        try ServiceClient(socketPath: service.path).perform(large)
        #expect(carriedOut.values == [2])
    }

    private static let closing: [UInt8] =
        // SAFETY: the bytes are copied within the closure.
        unsafe ServiceMessage.frameOfClosing.withUnsafeBytes { unsafe Array($0) }

    // MARK: Before the first request

    @Test func `a request fails if no program listens on the socket`() throws {
        let service = try FakeService(takesConnections: false)
        let failure = try #require(failedRead(service))
        #expect(failure.status == .notAvailable && failure.cause == .contention)
        #expect(failure.reason.contains(service.path))
    }

    @Test func `a request fails if the socket is missing or its path is too long`() throws {
        let path = "/tmp/no-such-\(UUID().uuidString.prefix(8))/socket"
        let missing = #expect(throws: KeychainFailure.self) {
            try ServiceClient(socketPath: path).perform(Lock())
        }
        #expect(missing?.status == .notAvailable && missing?.cause == .contention)
        let long = "/" + String(repeating: "a", count: 107)
        let tooLong = #expect(throws: KeychainFailure.self) {
            try ServiceClient(socketPath: long).perform(Lock())
        }
        #expect(tooLong?.status == .param)
    }

    @Test func `after a failure, the next call tries the service again`() throws {
        let isReady = Recorded<Bool>()
        let service = try FakeService { peer, _ in
            guard !isReady.values.isEmpty else { return peer.hangUp() }
            peer.serve { _ in .answer(Done()) }
        }
        let client = ServiceClient(socketPath: service.path)
        #expect(throws: KeychainFailure.self) { try client.perform(Lock()) }
        isReady.append(true)
        try client.perform(Lock())
    }

    @Test func `nothing is sent to a service of another user`() throws {
        let received = Recorded<[UInt8]>()
        let service = try FakeService { peer, _ in
            // The client closes the connection without sending a byte.
            peer.send([1])
            received.append(peer.receive(1))
        }
        let failure = try #require(failedRead(service, ServiceOptions(trusts: { _ in false })))
        #expect(failure.status == .notAvailable && failure.cause == .permission)
        #expect(received.waitForNext())
        #expect(received.values == [[]])
    }

    @Test func `a client decides by the service's user id whether to trust the service`() throws {
        let asked = Recorded<UInt32>()
        let service = try FakeService { peer, _ in peer.serve { _ in .answer(Done()) } }
        let options = ServiceOptions(trusts: { userID in
            asked.append(userID)
            return true
        })
        try ServiceClient(socketPath: service.path, options: options)
            .perform(Lock())
        #expect(asked.values == [geteuid()])
    }

    /// Each row has a name, the bytes that the service sends, whether it sends them only after a
    /// valid handshake, and the status of the failure.
    @Test(
        arguments: [
            ("closes", [], false, Status.notAvailable),
            ("half a handshake", Array("keychain".utf8), false, .notAvailable),
            ("a handshake that passes no socket", Handshake.random().bytes, false, .notAvailable),
            (
                "another program", Array("SSH-2.0-OpenSSH_9.6 and more\r\n".utf8), false,
                .notAvailable
            ),
            ("garbage after the handshake", [0, 0, 0, 3, 0xFF, 0xFF, 0xFF], true, .notAvailable),
            ("a frame above the limit", [0x04, 0, 0, 1], true, .notAvailable),
            ("an empty frame", [0, 0, 0, 0], true, .notAvailable),
            ("half a frame", [0, 0, 0, 9, 8], true, .notAvailable),
        ] as [(String, [UInt8], Bool, Status)])
    func `after an invalid answer, a client sends nothing more to the program at the socket`(
        _ name: String, _ bytes: [UInt8], _ isAfterHandshake: Bool, _ status: Status
    ) throws {
        let received = Recorded<[UInt8]>()
        let service = try FakeService { peer, _ in
            if isAfterHandshake {
                peer.beginHandshake()
                _ = peer.receive(Handshake.byteCount)
                _ = peer.request()
            }
            peer.send(bytes)
            peer.endSending()
            received.append(peer.receive(1))
        }
        #expect(failedRead(service)?.status == status, "\(name)")
        #expect(received.waitForNext())
        #expect(received.values.allSatisfy { $0.isEmpty }, "\(name)")
    }

    @Test func `a service of an unsupported version is reported as such`() throws {
        var welcome = FakePeer.welcome
        welcome.version = WireLimits.versions.upperBound + 1
        let other = try FakeService { [welcome] peer, _ in _ = peer.greet(welcome) }
        #expect(failedRead(other)?.status == .wrongVersion)
        let refusal = KeychainFailure(.wrongVersion, "Version 7 is spoken here.")
        let refusing = try FakeService { peer, _ in
            peer.beginHandshake()
            _ = peer.receive(Handshake.byteCount)
            peer.reply(1, .failure(refusal))
            peer.hangUp()
        }
        #expect(failedRead(refusing) == refusal)
    }

    @Test(arguments: [false, true])
    func `a client that the service refuses gets the reason`(_ isAfterGreeting: Bool) throws {
        let refusal = KeychainFailure.notPermitted("Not you.")
        let service = try FakeService { peer, _ in
            if isAfterGreeting { peer.beginHandshake() }
            peer.reply(0, .failure(refusal))
            peer.hangUp()
        }
        #expect(failedRead(service) == refusal)
    }

    @Test func `waiting for a silent service ends after a timeout`() throws {
        let stays = Recorded<FakePeer>()
        let service = try FakeService { peer, _ in stays.append(peer) }
        let options = ServiceOptions(connectionTime: .milliseconds(100))
        let failure = try #require(failedRead(service, options))
        #expect(failure.status == .notAvailable && failure.cause == .contention)
    }

    // MARK: After the first request

    /// A service that closes each of the first `count` connections after it has received a request.
    /// On later connections, the service answers.
    private func breaking(
        _ count: Int, seen: Recorded<String>, after bytes: [UInt8] = []
    ) throws -> FakeService {
        try FakeService { peer, number in
            guard peer.greet() else { return }
            while let request = peer.request() {
                seen.append(request.code?.name ?? "")
                if number <= count {
                    peer.send(bytes)
                    return peer.hangUp()
                }
                peer.reply(request.id, `The client of the service`.answer(request))
            }
        }
    }

    /// The bytes of the answer that arrive before the connection breaks.
    @Test(arguments: [[], [0, 0], [0, 0, 0, 20, 0, 0]] as [[UInt8]])
    func `a read is tried a second time after a broken connection`(_ bytes: [UInt8]) throws {
        let seen = Recorded<String>()
        let service = try breaking(1, seen: seen, after: bytes)
        let client = ServiceClient(socketPath: service.path)
        #expect(try client.perform(FindItems(Self.query, Retrieval()), as: Self.caller).count == 2)
        #expect(seen.values == ["find", "find"])
    }

    @Test func `a read isn't tried a third time`() throws {
        let seen = Recorded<String>()
        let service = try breaking(9, seen: seen)
        let failure = try #require(failedRead(service))
        #expect(failure.status == .notAvailable && failure.cause == .contention)
        #expect(seen.values == ["find", "find"])
    }

    @Test func `a write that may have been carried out isn't sent again`() throws {
        let seen = Recorded<String>()
        let service = try breaking(1, seen: seen)
        let client = ServiceClient(socketPath: service.path)
        let failure = #expect(throws: KeychainFailure.self) {
            try client.perform(AddItem(Self.newItem), as: Self.caller)
        }
        #expect(failure?.status == .notAvailable && failure?.cause == .interruption)
        #expect(seen.values == ["add"])
        #expect(try client.perform(AddItem(Self.newItem), as: Self.caller) == Self.item)
    }

    @Test func `a write on a connection that is already closed is sent on a new one`() throws {
        let closed = Recorded<Int>()
        let seen = Recorded<String>()
        let service = try FakeService { peer, number in
            guard peer.greet(), let request = peer.request() else { return }
            seen.append("\(number) \(request.code?.name ?? "")")
            peer.reply(request.id, `The client of the service`.answer(request))
            peer.hangUp()
            closed.append(number)
        }
        let client = ServiceClient(socketPath: service.path)
        for _ in 0..<3 {
            #expect(try client.perform(AddItem(Self.newItem), as: Self.caller) == Self.item)
            #expect(closed.waitForNext())
        }
        #expect(seen.values == ["1 add", "2 add", "3 add"])
    }

    @Test func `waiting for an answer ends after a timeout`() throws {
        let stays = Recorded<FakePeer>()
        let service = try FakeService { peer, _ in
            guard peer.greet() else { return }
            stays.append(peer)
            _ = peer.request()
            // Bytes of a frame that arrive one by one don't extend the timeout.
            for byte in [0, 0, 1, 0] + [UInt8](repeating: 0, count: 100) where peer.send([byte]) {
                usleep(50_000)
            }
        }
        let options = ServiceOptions(
            requestTime: .milliseconds(200), derivationTime: .milliseconds(200))
        let client = ServiceClient(socketPath: service.path, options: options)
        let read = #expect(throws: KeychainFailure.self) { try client.perform(ReadStatus()) }
        #expect(read?.cause == .contention && read?.reason.contains("in time") == true)
        let write = #expect(throws: KeychainFailure.self) { try client.perform(Lock()) }
        #expect(write?.cause == .interruption)
        let derivation = #expect(throws: KeychainFailure.self) {
            try client.perform(Authenticate(passcode: SecretBytes(copying: [])))
        }
        #expect(derivation?.cause == .interruption)
        #expect(client.idleConnectionCount == 0)
    }

    /// Requests, and the timeout in seconds that applies to each: 1 for ordinary requests, 2 for
    /// requests that derive keys, and 3 for requests about many items.
    static let times: [(any Request, Int)] = {
        let query = `The client of the service`.query
        var guarded = query
        guarded.authorization.applicationPassword = Data()
        let pair = `The client of the service`.identityQuery
        return [
            (Lock(), 1), (ReadStatus(), 1), (AddItem(newItem), 1), (FindItems(query), 1),
            (FindIdentities(pair, Retrieval(limit: 5)), 1),
            (Authenticate(passcode: SecretBytes(copying: [])), 2), (FindItems(guarded), 2),
            (FindItems(query, Retrieval(limit: nil)), 3),
            (UpdateItems(query, ItemChanges()), 3),
            (DeleteItems(query, tombstones: .automatic), 3), (CheckKeychain(), 3),
        ]
    }()

    @Test(arguments: times)
    func `the timeout of a request depends on its effort`(_ request: any Request, _ time: Int) {
        let options = ServiceOptions(
            requestTime: .seconds(1), derivationTime: .seconds(2), surveyTime: .seconds(3))
        #expect(options.time(for: request.effort) == .seconds(time))
    }

    /// Wrong answers to a request, each with a description.
    static let wrongAnswers: [(String, FakeAnswer)] = [
        (
            "another id",
            FakeAnswer { id in
                FakeAnswer.answer([`The client of the service`.item]).frames(id + 1)
            }
        ),
        ("another type", .answer(true)),
        ("a list of another type", .answer([Data(), Data()])),
        ("a notification for another id", FakeAnswer { FakeAnswer.changed.frames($0 + 1) }),
    ]

    @Test(arguments: wrongAnswers)
    func `an answer that doesn't fit the request is refused`(
        _ name: String, _ answer: FakeAnswer
    ) throws {
        let service = try FakeService { peer, _ in
            guard peer.greet() else { return }
            while let request = peer.request() { peer.reply(request.id, answer) }
        }
        let read = failedRead(service)
        #expect(read?.status == .notAvailable && read?.cause == .other, "\(name)")
        #expect(read?.reason.contains("can't be decoded") == true, "\(name)")
        let client = ServiceClient(socketPath: service.path)
        let change = #expect(throws: KeychainFailure.self) {
            try client.perform(AddItem(Self.newItem), as: Self.caller)
        }
        #expect(change?.cause == .interruption, "\(name)")
        #expect(change?.reason.contains("can't be decoded") == true, "\(name)")
    }

    @Test func `an answer above the size limit is refused`() throws {
        var large = Self.item
        large.data = Data(count: 100_000)
        let service = try FakeService { [large] peer, _ in
            peer.serve { _ in .answer([large], partByteCount: 1 << 20) }
        }
        let options = ServiceOptions(messageByteCount: 50_000)
        #expect(failedRead(service, options)?.status == .notAvailable)
        let client = ServiceClient(socketPath: service.path)
        #expect(try client.perform(FindItems(Self.query, Retrieval()), as: Self.caller) == [large])
    }

    /// The arguments are sizes of the parts. They don't affect the limit.
    @Test(arguments: [1, 100, 7000])
    func `the parts of an answer are accepted up to the limit of their total size`(
        partByteCount: Int
    ) throws {
        var large = Self.item
        large.data = Data(count: 20_000)
        let service = try FakeService { [large] peer, _ in
            peer.serve { _ in .answer([large], partByteCount: partByteCount) }
        }
        let size = FakeAnswer.byteCount(of: [large])
        let enough = ServiceClient(
            socketPath: service.path, options: ServiceOptions(answerByteCount: size))
        #expect(try enough.perform(FindItems(Self.query), as: Self.caller) == [large])
        #expect(enough.idleConnectionCount == 1)
        let small = ServiceClient(
            socketPath: service.path, options: ServiceOptions(answerByteCount: size - 1))
        let read = #expect(throws: KeychainFailure.self) {
            try small.perform(FindItems(Self.query), as: Self.caller)
        }
        #expect(read?.status == .allocate)
        // The outcome of the change is unknown.
        let change = #expect(throws: KeychainFailure.self) {
            try small.perform(AddItems([Self.newItem]), as: Self.caller)
        }
        #expect(change?.cause == .interruption)
        #expect(change?.reason.contains("too large") == true)
        #expect(small.idleConnectionCount == 0)
    }

    @Test func `an endless sequence of parts doesn't fill the client's memory`() throws {
        let ended = Recorded<Bool>()
        let service = try FakeService { peer, _ in
            guard peer.greet(), let request = peer.request() else { return }
            let part = FakeAnswer.part(request.id, byteCount: 1000)
            while peer.send(part) {}
            ended.append(true)
        }
        let failure = failedRead(service, ServiceOptions(answerByteCount: 1_000_000))
        #expect(failure?.status == .allocate)
        // The client has closed the connection.
        #expect(ended.waitForNext())
    }

    @Test func `a request above the size limit isn't sent`() throws {
        let seen = Recorded<String>()
        let service = try breaking(0, seen: seen)
        let client = ServiceClient(
            socketPath: service.path, options: ServiceOptions(messageByteCount: 1000))
        var item = Self.newItem
        item.data = Data(count: 1000)
        let failure = #expect(throws: KeychainFailure.self) {
            try client.perform(AddItem(item), as: Self.caller)
        }
        #expect(failure?.status == .param && seen.values.isEmpty)
    }
}
