// ProcessProtection: what keeps other processes, and a crash, away from this one's memory.
//   (1) A process that can't be traced can't be identified either: the kernel hides which
//       executable it runs from all but root. A keychain service has to see it, so for as long as
//       ``whileIdentifiable(_:)`` runs, the process is as others are.
//   (2) What can be identified can be read. So it is either identified or holds a secret: after
//       ``beginHoldingSecrets()`` it isn't identifiable again.
//   (3) Swift's report of a crash, which shows registers and memory, is not made.

import Glibc
import Synchronization

package enum ProcessProtection {
    private struct State {
        /// Whether ``apply()`` took away what was there before.
        var isOff = false
        var identifications = 0
        var holdsSecrets = false
        /// The limit for core dumps before ``apply()``. nil: it was left as it was.
        var coreLimit: rlimit?
    }

    private static let state = Mutex(State())

    /// Switches core dumps off, tracing by other processes of this user, and Swift's reports of
    /// crashes. It comes first in a program, before there is another thread.
    ///
    /// Neither stops the program where the system refuses it: all are a second line behind memory
    /// that is locked and left out of dumps.
    package static func apply() {
        forgetCrashHandlers()
        state.withLock { state in
            state.coreLimit = lowerCoreLimit()
            guard control(dumpable, 0) == 1 else { return }
            state.isOff = control(setDumpable, 0) == 0
        }
    }

    /// What may go no higher than before stays as high, so that it can be given back.
    private static func lowerCoreLimit() -> rlimit? {
        let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        var limit = rlimit()
        // SAFETY: the limits are written and read within the calls.
        guard unsafe getrlimit(resource, &limit) == 0 else { return nil }
        var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
        return unsafe setrlimit(resource, &none) == 0 ? limit : nil
    }

    /// Runs `body`, which starts another program, while the limit for core dumps is that which this
    /// process was started with. Of itself it leaves none meanwhile either.
    package static func withLimitOfCaller<Result>(_ body: () -> Result) -> Result {
        let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        // SAFETY: the limit is read within the call.
        if var limit = state.withLock({ $0.coreLimit }) { _ = unsafe setrlimit(resource, &limit) }
        defer { _ = lowerCoreLimit() }
        return body()
    }

    /// Says that a secret is about to come into memory. From here on no other process of this user
    /// can see which executable this process runs.
    package static func beginHoldingSecrets() {
        state.withLock { state in
            state.holdsSecrets = true
            if state.isOff { _ = control(setDumpable, 0) }
        }
    }

    /// Whether a service of the same user can no longer be shown what this process runs.
    package static var isHiddenForGood: Bool { state.withLock { $0.isOff && $0.holdsSecrets } }

    /// Whether other processes of this user may read this one's memory, as far as the system lets
    /// them.
    package static var isReadable: Bool { control(dumpable, 0) == 1 }

    /// Runs `body` while a service of the same user can see which executable this process runs,
    /// which it can't after ``apply()``; after ``beginHoldingSecrets()`` it can't see it here
    /// either.
    package static func whileIdentifiable<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        state.withLock { state in
            state.identifications += 1
            if state.isOff, !state.holdsSecrets { _ = control(setDumpable, 1) }
        }
        defer {
            state.withLock { state in
                state.identifications -= 1
                if state.isOff, state.identifications == 0 { _ = control(setDumpable, 0) }
            }
        }
        return try body()
    }

    /// Swift's runtime reads SWIFT_BACKTRACE before `main` and takes these signals for its report.
    /// They end the process again as they do in C. A signal that was ignored when the process
    /// started stays ignored.
    private static func forgetCrashHandlers() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            let handler = signal(number, SIG_DFL)
            // SAFETY: the handler is compared with SIG_IGN of signal.h, 1, and not called.
            if unsafe unsafeBitCast(handler, to: UInt.self) == 1 { _ = signal(number, SIG_IGN) }
        }
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
