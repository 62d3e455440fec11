// ProcessProtection: what keeps other processes, and a crash, away from this one's memory.
//   (1) A process that can't be traced can't be identified either: the kernel hides which
//       executable it runs from all but root. A keychain service has to see it, so for as long as
//       ``whileIdentifiable(_:)`` runs, the process is as others are.

import Glibc
import Synchronization

package enum ProcessProtection {
    private struct State {
        /// Whether ``apply()`` took away what was there before.
        var isOff = false
        var identifications = 0
    }

    private static let state = Mutex(State())

    /// Switches core dumps off, and tracing by other processes of this user.
    ///
    /// Neither stops the program where the system refuses it: both are a second line behind memory
    /// that is locked and left out of dumps.
    package static func apply() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        // SAFETY: the limit is read within the call.
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        state.withLock { state in
            guard control(dumpable, 0) == 1 else { return }
            state.isOff = control(setDumpable, 0) == 0
        }
    }

    /// Runs `body` while a service of the same user can see which executable this process runs,
    /// which it can't after ``apply()``. No secret should be in memory yet.
    package static func whileIdentifiable<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        state.withLock { state in
            state.identifications += 1
            if state.isOff, state.identifications == 1 { _ = control(setDumpable, 1) }
        }
        defer {
            state.withLock { state in
                state.identifications -= 1
                if state.isOff, state.identifications == 0 { _ = control(setDumpable, 0) }
            }
        }
        return try body()
    }

    /// Takes no variable arguments, as Swift sees it: `prctl` itself can't be imported.
    private typealias Prctl = @convention(c) (CInt, CUnsignedLong) -> CInt

    /// PR_GET_DUMPABLE and PR_SET_DUMPABLE of linux/prctl.h.
    private static let dumpable: CInt = 3
    private static let setDumpable: CInt = 4

    private static func control(_ option: CInt, _ value: CUnsignedLong) -> CInt {
        // SAFETY: the symbol is glibc's `int prctl(int, ...)`. On Linux's x86-64 and AArch64 its
        // variable integer arguments are passed in the same registers as fixed ones, and these
        // options read one at the most.
        guard let symbol = unsafe dlsym(nil, "prctl") else { return -1 }
        let prctl = unsafe unsafeBitCast(symbol, to: Prctl.self)
        return prctl(option, value)
    }
}
