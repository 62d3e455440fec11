// KeychainExecutor: the thread on which asynchronous functions wait for the keychain.

import Dispatch

/// Runs the blocking calls of asynchronous functions, one after the other, on a queue of their
/// own: they hold up neither the main actor nor the threads that all tasks share.
final class KeychainExecutor: TaskExecutor {
    static let shared = KeychainExecutor()

    private let queue = DispatchQueue(label: "com.poopypals.keychain")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
