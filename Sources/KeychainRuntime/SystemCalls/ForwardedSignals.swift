// ForwardedSignals: forwards signals to the child program that this process runs.
//   (1) Both processes are in one process group. The kernel sends a signal from the terminal to
//       both, so such a signal isn't forwarded, except one that arrives before the start of the
//       program has begun. A signal from the terminal that arrives during the start, in the few
//       microseconds before the program exists, is lost. Every signal that a process sends is
//       forwarded, so one to the whole group reaches the program twice.
//   (2) If this process was started with one of the signals below ignored, the signal stays ignored
//       in both processes.
//   (3) The handler uses only async-signal-safe functions, such as kill(2) and sigaction(2), and
//       atomics.

package import Glibc
import Synchronization

package enum ForwardedSignals {
    private static let forwarded = [
        SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM, SIGTSTP,
    ]

    /// The process id of the program. 0 before it is started and after ``release()``.
    private static let program = Atomic<pid_t>(0)
    /// The latest signal that arrived while the program's process id was unknown. The number is
    /// negative if the kernel has also sent the signal to the program.
    private static let early = Atomic<Int32>(0)
    /// Whether the program is being started, so that signals from the terminal reach it.
    private static let isStarting = Atomic(false)

    /// Installs the handlers, before the program is started. ``start(_:)`` delivers the latest of
    /// the signals that arrive before.
    package static func take() {
        program.store(0, ordering: .sequentiallyConsistent)
        early.store(0, ordering: .sequentiallyConsistent)
        // SAFETY: both handlers are functions for the life of the process.
        for number in forwarded { unsafe handle(number, handOn) }
        // Writing to a closed pipe then fails with an error. Unlike SIG_IGN, a handler isn't
        // inherited by the program.
        unsafe handle(SIGPIPE) { _, _, _ in }
        // With the default action, an ended program stays a zombie until it is waited for, so its
        // exit status isn't lost.
        _ = signal(SIGCHLD, SIG_DFL)
    }

    /// Starts the program with `spawn`, and forwards signals to it from then on, beginning with the
    /// latest one that has arrived and that the program hasn't received.
    ///
    /// - Returns: The result of `spawn`: the process id and the code 0, or another code if the
    ///   program could not be started.
    package static func start(
        _ spawn: () -> (process: pid_t, code: Int32)
    ) -> (process: pid_t, code: Int32) {
        isStarting.store(true, ordering: .sequentiallyConsistent)
        defer { isStarting.store(false, ordering: .sequentiallyConsistent) }
        let (process, code) = spawn()
        guard code == 0 else { return (process, code) }
        program.store(process, ordering: .sequentiallyConsistent)
        let number = early.exchange(0, ordering: .sequentiallyConsistent)
        if number > 0 { kill(process, number) }
        if abs(number) == SIGTSTP { stop(with: process) }
        return (process, code)
    }

    /// Restores the default actions of the forwarded signals that aren't ignored.
    package static func release() {
        program.store(0, ordering: .sequentiallyConsistent)
        for number in forwarded where !isIgnored(number) { _ = signal(number, SIG_DFL) }
    }

    static let handOn: Handler = { number, information, _ in
        let code = errno
        // SAFETY: the kernel passes the handler a complete structure. Codes above 0 are the
        // kernel's own.
        let isSent = unsafe (information?.pointee.si_code ?? 0) <= 0
        let process = program.load(ordering: .sequentiallyConsistent)
        if process != 0 {
            if isSent { kill(process, number) }
            if number == SIGTSTP { stop(with: process) }
        } else if isSent || !isStarting.load(ordering: .sequentiallyConsistent) {
            early.store(number, ordering: .sequentiallyConsistent)
        } else if number == SIGTSTP {
            // The kernel stops the program, and this process has to stop with it.
            early.store(-number, ordering: .sequentiallyConsistent)
        }
        errno = code
    }

    /// Stops this process with the default action, which does nothing in an orphaned process group,
    /// and continues the program when this process continues.
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

    typealias Handler =
        @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void

    private static func handle(_ number: Int32, _ handler: Handler) {
        guard !isIgnored(number) else { return }
        var action = sigaction()
        // SAFETY: the structure is read within the call, and the handler is a function.
        unsafe action.__sigaction_handler.sa_sigaction = handler
        action.sa_flags = SA_SIGINFO | SA_RESTART
        // Lets the handler raise the same signal to stop the process.
        if number == SIGTSTP { action.sa_flags |= SA_NODEFER }
        _ = unsafe sigaction(number, &action, nil)
    }

    /// Waits for the program to end.
    ///
    /// - Returns: Its exit status, or as in a shell 128 plus the number of the signal that ended
    ///   it. 1 if it can't be waited for.
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
