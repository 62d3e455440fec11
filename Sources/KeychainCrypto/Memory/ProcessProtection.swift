// ProcessProtection: protects the memory of this process from other processes and from crash dumps.
//   (1) If a process can't be traced, the kernel hides its executable from all users but root. A
//       keychain service has to see the executable in order to identify the process. While
//       ``whileIdentifiable(_:)`` runs, the process can therefore be traced like any other.
//   (2) If a process can be identified, its memory can also be read. A process that has called
//       ``apply()`` is therefore never identifiable while it holds a secret: after
//       ``beginHoldingSecrets()``, ``whileIdentifiable(_:)`` no longer makes it identifiable. Only
//       the project's own programs call ``apply()``; other programs that use the library stay
//       identifiable.
//   (3) Swift's crash report, which shows registers and memory, is disabled.

import Glibc
import Synchronization

package enum ProcessProtection {
    private struct State {
        /// Whether ``apply()`` has cleared the process's dumpable flag, which was set before.
        var isOff = false
        var identifications = 0
        var holdsSecrets = false
        /// The limit for core dumps before ``apply()``; `nil` if it was not changed.
        var coreLimit: rlimit?
    }

    private static let state = Mutex(State())

    /// Disables core dumps, tracing by other processes of this user, and Swift's crash reports. A
    /// program calls this first, while it has only one thread.
    ///
    /// If the system refuses any of these, the program continues: they are a second line of defense
    /// behind memory that is locked and excluded from core dumps.
    package static func apply() {
        forgetCrashHandlers()
        state.withLock { state in
            state.coreLimit = lowerCoreLimit()
            guard control(dumpable, 0) == 1 else { return }
            state.isOff = control(setDumpable, 0) == 0
        }
    }

    /// Lowers only the soft limit. The hard limit stays, so that the soft limit can be restored.
    private static func lowerCoreLimit() -> rlimit? {
        let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        var limit = rlimit()
        // SAFETY: the limits are written and read during the calls.
        guard unsafe getrlimit(resource, &limit) == 0 else { return nil }
        var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
        return unsafe setrlimit(resource, &none) == 0 ? limit : nil
    }

    /// Runs `body`, which starts another program, with the limit for core dumps that this process
    /// was started with. Even then, this process itself leaves no core dump, because its dumpable
    /// flag stays cleared.
    package static func withLimitOfCaller<Result>(_ body: () -> Result) -> Result {
        let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        // SAFETY: the limit is read during the call.
        if var limit = state.withLock({ $0.coreLimit }) { _ = unsafe setrlimit(resource, &limit) }
        defer { _ = lowerCoreLimit() }
        return body()
    }

    /// Declares that a secret is about to be read into memory. If ``apply()`` has run, no other
    /// process of this user can see the executable of this process from now on.
    package static func beginHoldingSecrets() {
        state.withLock { state in
            state.holdsSecrets = true
            if state.isOff { _ = control(setDumpable, 0) }
        }
    }

    /// Whether a service of the same user can no longer identify the executable of this process.
    package static var isHiddenForGood: Bool { state.withLock { $0.isOff && $0.holdsSecrets } }

    /// Whether other processes of this user can read the memory of this one, if the system
    /// otherwise permits it.
    package static var isReadable: Bool { control(dumpable, 0) == 1 }

    /// Runs `body` while a service of the same user can see the executable of this process, which
    /// it otherwise can't after ``apply()``. After ``beginHoldingSecrets()`` this has no effect.
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

    /// Restores the default handling of the signals that lead to Swift's crash report. They then
    /// end the process as in C. Swift's runtime reads SWIFT_BACKTRACE before `main` and installs
    /// the handlers. A signal that was ignored when the process started stays ignored.
    private static func forgetCrashHandlers() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            let handler = signal(number, SIG_DFL)
            // SAFETY: the handler is compared with SIG_IGN of signal.h, 1, and not called.
            if unsafe unsafeBitCast(handler, to: UInt.self) == 1 { _ = signal(number, SIG_IGN) }
        }
    }

    /// `prctl` without variable arguments, because Swift can't import the variadic function.
    private typealias Prctl = @convention(c) (CInt, CUnsignedLong) -> CInt

    /// PR_GET_DUMPABLE and PR_SET_DUMPABLE of linux/prctl.h.
    private static let dumpable: CInt = 3
    private static let setDumpable: CInt = 4

    private static func control(_ option: CInt, _ value: CUnsignedLong) -> CInt {
        // SAFETY: the symbol is glibc's `int prctl(int, ...)`. On Linux for x86-64 and AArch64, its
        // variable integer arguments are passed in the same registers as fixed ones, and these
        // options read at most one.
        guard let symbol = unsafe dlsym(nil, "prctl") else { return -1 }
        let prctl = unsafe unsafeBitCast(symbol, to: Prctl.self)
        return prctl(option, value)
    }
}
