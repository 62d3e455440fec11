// Place: the two keychain services that the same tests run with. One is the mock, the other the
// real service with a keychain in memory.

import DeviceIdentity
import DeviceIdentityTesting
import Dispatch
import Foundation
import KeychainTesting
import Security
import Synchronization
import Testing

enum Place: CaseIterable {
    case mock, real

    /// Runs a test on an empty keychain.
    func use(
        isolation: isolated (any Actor)? = #isolation, _ test: (Storage) async throws -> Void
    ) async throws {
        switch self {
        case .mock:
            let mock = MockKeychainService()
            try await test(Storage(service: mock) { mock.failure = $0 })
        case .real:
            let keychain = TestKeychain()
            try await keychain.withSecItem {
                try await test(
                    Storage(service: KeychainService()) { status in
                        keychain.removeFaults()
                        if let status {
                            keychain.inject(.failure(.init(rawValue: status)))
                        }
                    })
            }
        }
    }
}

/// The keychain service that a test uses.
struct Storage: Sendable {
    let service: any KeychainServiceProtocol
    /// Makes every operation fail with the given status. With `nil`, operations succeed again.
    let fail: @Sendable (OSStatus?) -> Void

    /// A new device service without a cached identifier, as in another launch of the app.
    var devices: DeviceIdentificationService { DeviceIdentificationService(keychain: service) }
}

/// A keychain service that records its calls, and lets a test act before and after an addition.
final class Spy: KeychainServiceProtocol {
    /// The functions that were called, in order.
    var calls: [String] { state.withLock { $0.calls } }
    /// For each call, in order, whether it was on the main queue.
    var areOnMainQueue: [Bool] { state.withLock { $0.areOnMainQueue } }

    private let base: any KeychainServiceProtocol
    private let beforeAdd: @Sendable () throws -> Void
    private let afterAdd: @Sendable () throws -> Void
    /// A mark that identifies the main queue. On Linux, this queue can run on a thread other than
    /// the main thread.
    private static let mark: DispatchSpecificKey<Bool> = {
        let mark = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: mark, value: true)
        return mark
    }()

    private let state = Mutex((calls: [String](), areOnMainQueue: [Bool]()))

    init(
        _ base: any KeychainServiceProtocol,
        beforeAdd: @escaping @Sendable () throws -> Void = {},
        afterAdd: @escaping @Sendable () throws -> Void = {}
    ) {
        self.base = base
        self.beforeAdd = beforeAdd
        self.afterAdd = afterAdd
    }

    private func note(_ call: String = #function) {
        state.withLock {
            $0.calls.append(String(call.prefix { $0 != "(" }))
            $0.areOnMainQueue.append(DispatchQueue.getSpecific(key: Self.mark) != nil)
        }
    }

    func save(_ data: Data, for key: String) throws {
        note()
        try base.save(data, for: key)
    }

    func add(_ data: Data, for key: String) throws -> Bool {
        note()
        try beforeAdd()
        let isNew = try base.add(data, for: key)
        try afterAdd()
        return isNew
    }

    func load(for key: String) throws -> Data? {
        note()
        return try base.load(for: key)
    }

    func delete(for key: String) throws {
        note()
        try base.delete(for: key)
    }

    func exists(for key: String) throws -> Bool {
        note()
        return try base.exists(for: key)
    }
}

/// A service with only the four functions of the specification.
struct FourFunctions: KeychainServiceProtocol {
    let base = MockKeychainService()
    func save(_ data: Data, for key: String) throws { try base.save(data, for: key) }
    func load(for key: String) throws -> Data? { try base.load(for: key) }
    func delete(for key: String) throws { try base.delete(for: key) }
    func exists(for key: String) -> Bool { (try? base.exists(for: key)) ?? false }
}

/// A keychain whose reads wait until the test releases them. A read that isn't released within 20
/// seconds fails.
final class StuckKeychain: KeychainServiceProtocol {
    let deviceId = UUID()
    private let gate = DispatchSemaphore(value: 0)
    private let asked = Mutex(0)

    /// The number of reads.
    var readCount: Int { asked.withLock { $0 } }

    /// Waits at most a minute for the first read.
    func waitForRead() async throws {
        let end = ContinuousClock.now + .seconds(60)
        while readCount == 0 {
            try #require(ContinuousClock.now < end, "No read started within a minute.")
            await Task.yield()
        }
    }

    func goOn(_ count: Int) { for _ in 1...count { gate.signal() } }

    func load(for key: String) throws -> Data? {
        asked.withLock { $0 += 1 }
        guard gate.wait(timeout: .now() + .seconds(20)) == .success else {
            // Release the reads that are still waiting.
            goOn(1000)
            throw KeychainError.loadFailed(status: errSecIO)
        }
        return Data(deviceId.uuidString.utf8)
    }

    func save(_ data: Data, for key: String) throws {}
    func delete(for key: String) throws {}
    func exists(for key: String) throws -> Bool { true }
}
