// PairingTests: when a television is asked for a key, and what is stored. A closure replaces the
// network. TelevisionTests tests the connection to a simulated television in a separate process.

import Foundation
import KeychainTesting
import Synchronization
import Testing

@testable import TVRemote

/// A television in memory, which takes its answers from a list and records its requests.
private final class FakeTelevision: Sendable {
    private let state: Mutex<(answers: [Result<String, LGTVControlError>], keys: [String?])>

    init(_ answers: Result<String, LGTVControlError>...) { state = Mutex((answers, [])) }

    /// The keys in the requests, where `nil` is a request for pairing.
    var shownKeys: [String?] { state.withLock { $0.keys } }

    func answer(_ television: Television, _ key: String?) throws -> String {
        try state.withLock { state in
            state.keys.append(key)
            guard !state.answers.isEmpty else { throw LGTVControlError.unexpectedAnswer(0) }
            return try state.answers.removeFirst().get()
        }
    }

    func manager() -> LGTVControlManager { LGTVControlManager { try self.answer($0, $1) } }
}

@Suite(.cleanKeychain) struct `Pairing` {
    let ip = TVCredentials.paired.ipAddress
    let mac = TVCredentials.paired.macAddress

    @Test func `a key that the television gave is stored and sent from then on`() async throws {
        let television = FakeTelevision(.success("first"), .success("first"))
        let manager = television.manager()
        try await manager.connect(ip: ip, mac: mac)
        #expect(
            try manager.loadCredentials()
                == TVCredentials(ipAddress: ip, macAddress: mac, clientKey: "first"))
        try await manager.connect(ip: ip, mac: mac)
        #expect(television.shownKeys == [nil, "first"])
    }

    @Test func `after the credentials are cleared, pairing starts again and stores the new key`()
        async throws
    {
        let television = FakeTelevision(.success("first"), .success("second"))
        let manager = television.manager()
        try await manager.connect(ip: ip, mac: mac)
        try manager.clearCredentials()
        try await manager.connect(ip: ip, mac: mac)
        #expect(television.shownKeys == [nil, nil])
        #expect(try manager.loadCredentials()?.clientKey == "second")
    }

    @Test func `a failed pairing stores the addresses without a key`() async throws {
        let television = FakeTelevision(.failure(.declined), .success("key"))
        let manager = television.manager()
        await #expect(throws: LGTVControlError.declined) {
            try await manager.connect(ip: ip, mac: mac)
        }
        #expect(try manager.loadCredentials() == .unpaired)
        try await manager.connect(ip: ip, mac: mac)
        #expect(television.shownKeys == [nil, nil])
    }

    @Test func `a refused key is kept until it is cleared`() async throws {
        let television = FakeTelevision(.failure(.keyRefused), .success("new"))
        let manager = television.manager()
        try manager.saveCredentials(.paired)
        await #expect(throws: LGTVControlError.keyRefused) {
            try await manager.connect(ip: ip, mac: mac)
        }
        #expect(try manager.loadCredentials() == .paired)
        try manager.clearCredentials()
        try await manager.connect(ip: ip, mac: mac)
        #expect(television.shownKeys == [TVCredentials.paired.clientKey, nil])
        #expect(try manager.loadCredentials()?.clientKey == "new")
    }

    @Test func `a television at a new address keeps its key, and the address is updated`()
        async throws
    {
        let television = FakeTelevision(
            .failure(.unreachable), .success("9ba71d29c353cf0bdcc00c4b0a8cc189"))
        let manager = television.manager()
        try manager.saveCredentials(.paired)
        await #expect(throws: LGTVControlError.unreachable) {
            try await manager.connect(ip: "10.0.0.7", mac: mac.lowercased())
        }
        #expect(try manager.loadCredentials() == .paired)
        try await manager.connect(ip: "10.0.0.7", mac: mac)
        #expect(television.shownKeys == [TVCredentials.paired.clientKey].flatMap { [$0, $0] })
        let stored = try manager.loadCredentials()
        #expect(stored?.ipAddress == "10.0.0.7")
        #expect(stored?.clientKey == TVCredentials.paired.clientKey)
    }

    @Test
    func `another television isn't sent the stored key, and pairing stores its own key`()
        async throws
    {
        let television = FakeTelevision(.failure(.declined), .success("other key"))
        let manager = television.manager()
        try manager.saveCredentials(.paired)
        await #expect(throws: LGTVControlError.declined) {
            try await manager.connect(ip: "10.0.0.7", mac: "other")
        }
        #expect(try manager.loadCredentials() == .paired)
        try await manager.connect(ip: "10.0.0.7", mac: "other")
        #expect(television.shownKeys == [nil, nil])
        #expect(
            try manager.loadCredentials()
                == TVCredentials(ipAddress: "10.0.0.7", macAddress: "other", clientKey: "other key")
        )
    }

    @Test func `a key stored without addresses is sent and then stored with the addresses`()
        async throws
    {
        let television = FakeTelevision(.success("old"))
        let manager = television.manager()
        try manager.saveCredentials(TVCredentials(ipAddress: "", macAddress: "", clientKey: "old"))
        try await manager.connect(ip: ip, mac: mac)
        #expect(television.shownKeys == ["old"])
        #expect(
            try manager.loadCredentials()
                == TVCredentials(ipAddress: ip, macAddress: mac, clientKey: "old"))
    }

    @Test func `an empty key counts as no key`() async throws {
        let television = FakeTelevision(.success("key"))
        let manager = television.manager()
        try manager.saveCredentials(TVCredentials(ipAddress: ip, macAddress: mac, clientKey: ""))
        #expect(try await manager.connectWithStoredCredentials() == nil)
        try await manager.connect(ip: ip, mac: mac)
        #expect(television.shownKeys == [nil])
        #expect(try manager.loadCredentials()?.clientKey == "key")
    }

    // MARK: The widget

    @Test func `the widget sends the stored key, and without a key sends nothing`() async throws {
        let television = FakeTelevision(.success("9ba71d29c353cf0bdcc00c4b0a8cc189"))
        let manager = television.manager()
        #expect(try await manager.connectWithStoredCredentials() == nil)
        try manager.saveCredentials(.unpaired)
        #expect(try await manager.connectWithStoredCredentials() == nil)
        #expect(television.shownKeys.isEmpty)
        try manager.saveCredentials(.paired)
        #expect(try await manager.connectWithStoredCredentials() == .paired)
        #expect(television.shownKeys == [TVCredentials.paired.clientKey])
    }

    @Test func `the widget changes no credentials if its connection fails`() async throws {
        for answer in [LGTVControlError.keyRefused, .declined, .noAnswer, .unreachable] {
            let manager = FakeTelevision(.failure(answer)).manager()
            try manager.saveCredentials(.paired)
            await #expect(throws: answer) { try await manager.connectWithStoredCredentials() }
            #expect(try manager.loadCredentials() == .paired)
        }
    }

    // MARK: Concurrency

    @Test func `of simultaneous connections, one pairs and the others send the new key`()
        async throws
    {
        let asked = Mutex<[String?]>([])
        let manager = LGTVControlManager { _, key in
            let count = asked.withLock {
                $0.append(key)
                return $0.count
            }
            // Let the other connections start while this one waits for the user.
            for _ in 0..<100 { await Task.yield() }
            return key ?? "key \(count)"
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { try await manager.connect(ip: ip, mac: mac) } }
            try await group.waitForAll()
        }
        #expect(asked.withLock { $0 } == [nil] + Array(repeating: "key 1", count: 7))
        #expect(try manager.loadCredentials()?.clientKey == "key 1")
    }

    @Test func `a connection that fails doesn't stop the next one`() async throws {
        let television = FakeTelevision(.failure(.declined), .success("key"))
        let manager = television.manager()
        async let first: Void = manager.connect(ip: ip, mac: mac)
        async let second: Void = manager.connect(ip: ip, mac: mac)
        var failureCount = 0
        do { try await first } catch { failureCount += 1 }
        do { try await second } catch { failureCount += 1 }
        #expect(failureCount == 1)
        #expect(try manager.loadCredentials()?.clientKey == "key")
    }

    @Test func `credentials that are cleared while the user is asked stay cleared`() async throws {
        let cleared = Mutex<LGTVControlManager?>(nil)
        let manager = LGTVControlManager { _, _ in
            try cleared.withLock { try $0?.clearCredentials() }
            return "late key"
        }
        cleared.withLock { $0 = manager }
        await #expect(throws: CancellationError.self) {
            try await manager.connect(ip: ip, mac: mac)
        }
        #expect(try manager.loadCredentials() == nil)
        cleared.withLock { $0 = nil }
        try await manager.connect(ip: ip, mac: mac)
        #expect(try manager.loadCredentials()?.clientKey == "late key")
    }

    @Test func `a waiting connection that is canceled sends no request`() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let asked = Mutex(0)
        let manager = LGTVControlManager { _, _ in
            asked.withLock { $0 += 1 }
            for await _ in gate {}
            return "key"
        }
        let first = Task { try await manager.connect(ip: ip, mac: mac) }
        await waitUntil { asked.withLock { $0 } > 0 }
        let second = Task { try await manager.connect(ip: ip, mac: "other") }
        second.cancel()
        open.finish()
        try await first.value
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(asked.withLock { $0 } == 1)
    }

    // MARK: Keychains that fail

    @Test func `with a locked keychain, connecting fails and the television is not asked`()
        async throws
    {
        let television = FakeTelevision(.success("key"))
        let manager = television.manager()
        try manager.saveCredentials(.paired)
        try TestKeychain.current.setPasscode("1234")
        try TestKeychain.current.restart()
        #expect(await status { try await manager.connect(ip: ip, mac: mac) } == -25308)
        #expect(await status { _ = try await manager.connectWithStoredCredentials() } == -25308)
        #expect(television.shownKeys.isEmpty)
        try TestKeychain.current.unlock()
        #expect(try manager.loadCredentials() == .paired)
    }

    @Test func `connecting fails if the stored value has another type, and keeps the value`()
        async throws
    {
        let manager = FakeTelevision(.success("key")).manager()
        try KeychainManager().save(
            ["a": 1], service: LGTVControlManager.Constants.keychainService,
            account: LGTVControlManager.Constants.keychainAccount)
        await #expect(throws: DecodingError.self) { try await manager.connect(ip: ip, mac: mac) }
        #expect(
            try KeychainManager().load(
                [String: Int].self, service: LGTVControlManager.Constants.keychainService,
                account: LGTVControlManager.Constants.keychainAccount) == ["a": 1])
    }

    @Test func `connecting fails if the new key can't be stored`() async throws {
        let manager = FakeTelevision(.success("key")).manager()
        try manager.saveCredentials(.unpaired)
        TestKeychain.current.inject(.diskFull, times: 1)
        #expect(await status { try await manager.connect(ip: ip, mac: mac) } == -34)
        #expect(try manager.loadCredentials() == .unpaired)
    }

    /// If connecting needed the main actor, the wait would time out, because the test blocks that
    /// actor.
    @MainActor
    @Test func `a connection does its work off the main actor`() async throws {
        let manager = FakeTelevision(.success("key")).manager()
        let done = DispatchSemaphore(value: 0)
        async let connection: Void = Self.connect(manager, done)
        #expect(Self.wait(for: done) == .success)
        try await connection
        #expect(try manager.loadCredentials()?.clientKey == "key")
    }

    @concurrent
    private static func connect(
        _ manager: LGTVControlManager, _ done: DispatchSemaphore
    ) async throws {
        defer { done.signal() }
        try await manager.connect(ip: "10.0.0.14", mac: "34:E6:E6:F9:05:50")
    }

    private static func wait(for done: DispatchSemaphore) -> DispatchTimeoutResult {
        done.wait(timeout: .now() + 60)
    }
}
