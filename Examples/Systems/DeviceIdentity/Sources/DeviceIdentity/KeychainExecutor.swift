// KeychainExecutor: the queue on which asynchronous functions wait for the keychain.

import Dispatch

/// Runs the blocking calls of asynchronous functions one after the other on a separate queue, so
/// that they block neither the main actor nor the threads of the cooperative pool.
final class KeychainExecutor: TaskExecutor {
    static let shared = KeychainExecutor()

    private let queue = DispatchQueue(label: "com.poopypals.keychain")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
