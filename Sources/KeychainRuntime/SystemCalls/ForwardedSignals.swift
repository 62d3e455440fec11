// ForwardedSignals: the signals that a process hands on to the one program that runs below it.
//   (1) Both are in one process group. What the terminal sends reaches both from the kernel; what a
//       process sends to this one alone is handed on. So no key is counted twice.
//   (2) A signal that the caller has ignored stays ignored, for both.
//   (3) The handler calls only what may be called in one: kill(2), sigaction(2), and atomics.

package import Glibc
import Synchronization

package enum ForwardedSignals {
    private static let forwarded = [
        SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM, SIGTSTP,
    ]

    /// 0: there is none yet, or none any more.
    private static let program = Atomic<pid_t>(0)
    /// What came before there was a program.
    private static let early = Atomic<Int32>(0)

    /// Takes the signals, before the program is started. What comes until it is named by ``send(to:)``
    /// goes to it then.
    package static func take() {
        program.store(0, ordering: .sequentiallyConsistent)
        early.store(0, ordering: .sequentiallyConsistent)
        // SAFETY: both handlers are functions for the life of the process.
        for number in forwarded { unsafe handle(number, handOn) }
        // What is written to nobody fails instead. A handler, unlike SIG_IGN, isn't inherited.
        unsafe handle(SIGPIPE) { _, _, _ in }
        // A program that ended is kept until it is waited for.
        _ = signal(SIGCHLD, SIG_DFL)
    }

    package static func send(to process: pid_t) {
        program.store(process, ordering: .sequentiallyConsistent)
        let number = early.exchange(0, ordering: .sequentiallyConsistent)
        guard number != 0 else { return }
        kill(process, number)
        if number == SIGTSTP { stop(with: process) }
    }

    /// From here on signals are this process's own again.
    package static func release() {
        program.store(0, ordering: .sequentiallyConsistent)
        for number in forwarded where !isIgnored(number) { _ = signal(number, SIG_DFL) }
    }

    private static let handOn: Handler = { number, information, _ in
        let code = errno
        // SAFETY: the kernel gives the handler a whole structure. Codes above 0 are the kernel's own.
        let isSent = unsafe (information?.pointee.si_code ?? 0) <= 0
        let process = program.load(ordering: .sequentiallyConsistent)
        if process == 0 {
            early.store(number, ordering: .sequentiallyConsistent)
        } else if isSent {
            kill(process, number)
        }
        if number == SIGTSTP, process != 0 { stop(with: process) }
        errno = code
    }

    /// Stops as without a handler, which doesn't happen where nobody could continue it, and continues
    /// its program with itself.
    private static func stop(with process: pid_t) {
        _ = signal(SIGTSTP, SIG_DFL)
        raise(SIGTSTP)
        // SAFETY: as above.
        unsafe handle(SIGTSTP, handOn)
        kill(process, SIGCONT)
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        // SAFETY: nothing is set; the structure is filled within the call.
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        // `SIG_IGN` is the address 1.
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private typealias Handler =
        @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void

    private static func handle(_ number: Int32, _ handler: Handler) {
        guard !isIgnored(number) else { return }
        var action = sigaction()
        // SAFETY: the structure is read within the call, and the handler is a function.
        unsafe action.__sigaction_handler.sa_sigaction = handler
        action.sa_flags = SA_SIGINFO | SA_RESTART
        // So that it can stop within its handler.
        if number == SIGTSTP { action.sa_flags |= SA_NODEFER }
        _ = unsafe sigaction(number, &action, nil)
    }

    /// Waits for the program to end.
    ///
    /// - Returns: Its exit status, or what a shell makes of the signal that ended it: 128 and the
    ///   signal's number.
    package static func wait(for process: pid_t) -> Int32 {
        var status: Int32 = 0
        // SAFETY: the status is written within the call.
        while unsafe waitpid(process, &status, 0) != process {
            guard errno == EINTR else { return 1 }
        }
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }
}
