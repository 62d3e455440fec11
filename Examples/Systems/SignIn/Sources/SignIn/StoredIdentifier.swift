// StoredIdentifier: the stored user identifier of a view model, from the main actor and off it.
//   (1) Saving and deleting go one after the other, under `lock`.
//   (2) A sign-in that a deletion has cancelled saves nothing any more.

import Foundation

/// The stored user identifier.
final class StoredIdentifier: Sendable {
    private let keychain: KeychainService
    private let lock = NSLock()
    private let queue = KeychainQueue()

    init(in keychain: KeychainService) {
        self.keychain = keychain
    }

    // MARK: Blocking

    func read() throws -> String? { try keychain.read(for: .userIdentifier) }

    func exists() throws -> Bool { try keychain.exists(for: .userIdentifier) }

    /// Deletes it and, only if that succeeds, cancels what would save it again.
    func delete(cancelling task: Task<Void, Never>?) throws {
        try lock.withLock {
            try keychain.delete(for: .userIdentifier)
            task?.cancel()
        }
    }

    // MARK: Off the main actor

    func readInBackground() async throws -> String? {
        try await queue.run { try self.read() }
    }

    /// Saves it, unless the task was cancelled.
    ///
    /// - Returns: Whether it was saved.
    func saveInBackground(_ user: String) async throws -> Bool {
        try await queue.run {
            try self.lock.withLock {
                guard !Task.isCancelled else { return false }
                try self.keychain.save(user, for: .userIdentifier)
                return true
            }
        }
    }
}

/// A place for calls to the keychain off the main actor. They wait for the disk, so they are on a
/// queue of their own, and not on a thread that Swift's tasks share.
private actor KeychainQueue {
    private let executor = QueueExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run<Value: Sendable>(_ body: @Sendable () throws -> Value) rethrows -> Value {
        try body()
    }
}

private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "\(KeychainService.service).keychain")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
