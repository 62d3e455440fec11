// Threads: starts threads with the system's functions. Foundation's threads would require all of
// Foundation, instead of only FoundationEssentials.

import Glibc

package enum Threads {
    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a detached thread.
    ///
    /// - Returns: `false` if the system can't create a thread. In that case, `run` is not called.
    package static func start(_ run: @escaping @Sendable () -> Void) -> Bool {
        let body = unsafe Unmanaged.passRetained(Body(run))
        var thread = pthread_t()
        // SAFETY: the thread takes over the reference that is retained above. If no thread was
        // created, the reference is released here.
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
