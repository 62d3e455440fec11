// QueueExecutor: a serial dispatch queue for one actor, so that its calls to Security block none of
// the threads that Swift's tasks share.

import Dispatch

/// Runs an actor's code on a serial queue of its own.
public final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// An executor with a new queue.
    ///
    /// - Parameter label: The queue's label.
    public init(label: String) {
        queue = DispatchQueue(label: label)
        SecItem.name(queue)
    }

    /// Runs a job of the actor after those before it.
    ///
    /// - Parameter job: The job.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
