// AsyncWork: runs asynchronous work for a command, which itself is synchronous.
//   (1) The thread that calls `wait`, usually the main thread, waits. So the work must not need the
//       main actor.

#if Synchronization

import Dispatch
import Synchronization

enum AsyncWork {
    /// Runs asynchronous work, and returns its result when it is done.
    static func wait<Value: Sendable>(
        for work: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        let outcome = AsyncOutcome<Value>()
        Task {
            do {
                outcome.set(.success(try await work()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        return try outcome.wait().get()
    }
}

private final class AsyncOutcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let isSet = DispatchSemaphore(value: 0)

    func set(_ value: Result<Value, any Error>) {
        result.withLock { $0 = value }
        isSet.signal()
    }

    func wait() -> Result<Value, any Error> {
        isSet.wait()
        return result.withLock { $0 } ?? .failure(CancellationError())
    }
}

#endif
