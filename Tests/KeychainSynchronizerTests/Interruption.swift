// Interruption: interrupts a change of a keychain, or its exchange with a server, at one of the
// steps.

import KeychainCore
import KeychainRelay
import KeychainSQLite
import KeychainSynchronization
import SynchronizationTestSupport
import Synchronization

/// An interruption that happens once, at a step with a given number. Only the interruption by a
/// full disk lasts: the disk stays full from then on. An instance is used for one exchange or one
/// change.
final class Interruption: Sendable {
    enum Kind: CaseIterable, Sendable {
        /// The process that has the keychain open ends before it gets a message.
        case endBeforeMessage
        /// The process ends after it has carried a message out, and before it answers.
        case endAfterMessage
        /// The relay ends, or loses the server, before a request.
        case lossBeforeRequest
        /// The server carries a request out, and the relay doesn't get its answer.
        case lossAfterRequest
        /// At one statement of a transaction, the keychain's disk is full, and it stays full.
        case fullDisk
    }

    private struct Lost: Error {}

    let kind: Kind
    /// The number of steps until the interruption.
    private let left: Mutex<Int>

    init(_ kind: Kind, at step: Int) {
        self.kind = kind
        left = Mutex(step)
    }

    var hasHappened: Bool { left.withLock { $0 <= 0 } }

    /// Counts a step of some kind.
    ///
    /// - Returns: Whether the interruption happens at this step.
    private func happens(_ kind: Kind) -> Bool {
        guard kind == self.kind else { return false }
        return left.withLock { left in
            left -= 1
            return left == 0
        }
    }

    // MARK: The keychain

    /// A relay whose exchange is interrupted.
    func relay(of device: Device, _ server: MemoryStore) -> Relay {
        Relay(InterruptedStore(server: server, interruption: self)) {
            message throws(KeychainFailure) in
            if self.happens(.endBeforeMessage) { throw self.end(device) }
            let answer = try self.onDisk { () throws(KeychainFailure) in
                try device.engine.perform(message, as: AccessGroups([]))
            }
            if self.happens(.endAfterMessage) { throw self.end(device) }
            return answer
        }
    }

    private func end(_ device: Device) -> KeychainFailure {
        do {
            try device.restart()
            return KeychainFailure(.notAvailable, "The service has ended.")
        } catch {
            return KeychainFailure(.notAvailable, "The service doesn't start again: \(error)")
        }
    }

    /// Runs `body`, which writes to the keychain's disk. The disk can get full while it runs.
    func onDisk<Result, Failure>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let probe = WriteProbe { moment in
            guard moment == .tookStep else { return nil }
            guard self.happens(.fullDisk) || self.kind == .fullDisk && self.hasHappened else {
                return nil
            }
            return KeychainFailure(.diskFull, "The disk is full.")
        }
        return try WriteProbe.$current.withValue(probe) {
            Swift.Result { () throws(Failure) in try body() }
        }.get()
    }

    // MARK: The server

    fileprivate func request<Result>(_ body: () async throws -> Result) async throws -> Result {
        if happens(.lossBeforeRequest) { throw Lost() }
        let result = try await body()
        if happens(.lossAfterRequest) { throw Lost() }
        return result
    }
}

private struct InterruptedStore: RecordStore {
    let server: MemoryStore
    let interruption: Interruption

    func records(
        _ prefix: String, after previous: String?, limit: Int
    ) async throws -> [StoredRecord] {
        try await interruption.request {
            try await server.records(prefix, after: previous, limit: limit)
        }
    }

    func create(_ key: String, _ value: [UInt8]) async throws -> RecordCreation {
        try await interruption.request { try await server.create(key, value) }
    }

    func put(_ key: String, _ value: [UInt8]) async throws {
        try await interruption.request { try await server.put(key, value) }
    }

    func delete(from first: String, to end: String) async throws {
        try await interruption.request { try await server.delete(from: first, to: end) }
    }

    func changes(_ prefix: String) async throws -> AsyncThrowingStream<String, any Error> {
        try await interruption.request { try await server.changes(prefix) }
    }
}
