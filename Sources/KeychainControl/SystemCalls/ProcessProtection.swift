// ProcessProtection: what keeps other processes, and a crash, away from this one's memory.

import Glibc

enum ProcessProtection {
    /// Switches core dumps off, and tracing by other processes of this user.
    ///
    /// Neither stops the tool where the system refuses it: both are a second line behind memory
    /// that is locked and left out of dumps.
    static func apply() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        // SAFETY: the limit is read within the call.
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        setNotDumpable()
    }

    /// Takes no variable arguments, as Swift sees it: `prctl` itself can't be imported.
    private typealias Prctl = @convention(c) (CInt, CUnsignedLong) -> CInt

    /// PR_SET_DUMPABLE of linux/prctl.h.
    private static let setDumpable: CInt = 4

    private static func setNotDumpable() {
        // SAFETY: the symbol is glibc's `int prctl(int, ...)`. On Linux's x86-64 and AArch64 its
        // variable integer arguments are passed in the same registers as fixed ones, and this
        // option reads one.
        guard let symbol = unsafe dlsym(nil, "prctl") else { return }
        let prctl = unsafe unsafeBitCast(symbol, to: Prctl.self)
        _ = prctl(setDumpable, 0)
    }
}
