// Threads: threads of the system's own. Foundation's need all of Foundation.

import Glibc

package enum Threads {
    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread that nobody waits for.
    ///
    /// - Returns: False where the system gives none. `run` isn't called then.
    package static func start(_ run: @escaping @Sendable () -> Void) -> Bool {
        let body = unsafe Unmanaged.passRetained(Body(run))
        var thread = pthread_t()
        // SAFETY: the thread takes over the reference that is made above; where there is no thread,
        // it is given back here.
        let result = unsafe pthread_create(
            &thread, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, body.toOpaque())
        guard result == 0 else {
            unsafe body.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
