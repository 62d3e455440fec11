// StoredIdentifier: a view model's access to the stored user identifier, on and off the main actor.
//   (1) Saving and deleting are serialized by `lock`.
//   (2) Once a deletion has canceled a sign-in, that sign-in saves nothing.

import Foundation

/// The identifier of the signed-in user, which the keychain stores.
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

    /// Deletes the identifier. If the deletion succeeds, this method also cancels the task, which
    /// would otherwise save an identifier again.
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

    /// Saves the identifier, unless the task was canceled.
    ///
    /// - Returns: `true` if the identifier was saved.
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

/// Runs calls to the keychain off the main actor. The calls wait for the disk, so they run on a
/// separate queue instead of a thread of the cooperative pool.
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
