// QueueExecutor: a serial dispatch queue for one actor, so that its calls to Security don't block
// the threads of the cooperative pool.

import Dispatch

/// Runs an actor's code on a separate serial queue.
public final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// Creates an executor with a new queue.
    ///
    /// - Parameter label: The queue's label.
    public init(label: String) {
        queue = DispatchQueue(label: label)
        SecItem.name(queue)
    }

    /// Runs a job of the actor after all jobs that were enqueued earlier.
    ///
    /// - Parameter job: The job.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
