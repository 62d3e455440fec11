// ThreadTests: threads that `Threads.start` creates with the system's functions.

import Dispatch
import Glibc
import Synchronization
import Testing

@testable import KeychainCrypto

@Suite struct `Starting threads` {
    /// An object that a thread's closure holds. It signals when it is released.
    private final class Held: Sendable {
        private let whenReleased: DispatchSemaphore

        init(_ whenReleased: DispatchSemaphore) { self.whenReleased = whenReleased }

        deinit { whenReleased.signal() }
    }

    @Test func `a new thread runs its closure once, and then releases the closure`() {
        let caller = pthread_self()
        let isElsewhere = Mutex<[Bool]>([])
        let released = DispatchSemaphore(value: 0)
        start(Held(released)) { isElsewhere.withLock { $0.append(pthread_self() != caller) } }
        #expect(released.wait(timeout: .now() + 60) == .success)
        #expect(isElsewhere.withLock { $0 } == [true])
    }

    private func start(_ held: Held, _ body: @escaping @Sendable () -> Void) {
        let isStarted = Threads.start {
            withExtendedLifetime(held, body)
        }
        #expect(isStarted)
    }
}
