// CallingThread: runs asynchronous code to its end on the thread that waits for it.
//   (1) Nothing is left to other threads, so a caller that holds the last thread of Swift's pool
//       gets its answer all the same. Waiting on a semaphore for a task of the pool would not do.
//   (2) The code must not wait for anything that another executor does, such as an actor.

#if !canImport(Darwin)

internal import Foundation
internal import Synchronization

/// The executor of one call.
private final class CallingThread: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    /// Counts the jobs that wait.
    private let signals = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        signals.signal()
    }

    /// Runs jobs until there is an answer. The last job has given it when it ends.
    func run<Value: Sendable>(until answer: Answer<Value>) -> Value {
        while true {
            if let value = answer.value { return value }
            signals.wait()
            let job = jobs.withLock { $0.removeFirst() }
            // SAFETY: a job is taken off the list and run once; this executor lives meanwhile.
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// What the code gave.
private final class Answer<Value: Sendable>: Sendable {
    private let slot = Mutex<Value?>(nil)

    var value: Value? {
        get { slot.withLock { $0 } }
        set { slot.withLock { $0 = newValue } }
    }
}

/// Runs asynchronous code on this thread and returns what it gives.
///
/// - Parameter operation: Code that waits for nothing but itself.
/// - Returns: What the code gives.
func runOnCallingThread<Value: Sendable>(
    _ operation: @escaping @Sendable () async -> Value
) -> Value {
    let thread = CallingThread()
    let answer = Answer<Value>()
    Task(executorPreference: thread) { answer.value = await operation() }
    return thread.run(until: answer)
}

#endif
