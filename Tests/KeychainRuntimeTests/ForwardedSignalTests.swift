// ForwardedSignalTests: which signals are forwarded to a program if they arrive before the program
// starts or while it is being started.

import Glibc
import Testing

@testable import KeychainRuntime

@Suite(.serialized) struct `Forwarding signals to a program` {
    enum Moment: CaseIterable { case beforeTheStart, whileStarting }

    /// SI_KERNEL and SI_USER of siginfo.h: a signal from the terminal, and one that a process sent.
    private static let ofKernel: Int32 = 0x80
    private static let ofProcess: Int32 = 0

    /// Calls the handler, as if a signal with this code had arrived at this process. The program
    /// gets the signal only if it is forwarded.
    private func arrive(_ code: Int32) {
        // SAFETY: the handler reads the structure within the call.
        var information = unsafe siginfo_t()
        unsafe information.si_code = code
        unsafe ForwardedSignals.handOn(SIGALRM, &information, nil)
    }

    /// Starts a program. A signal arrives before the start or during it.
    /// - Returns: The signal that ended the program: SIGALRM if SIGALRM was forwarded, otherwise
    ///   SIGKILL.
    private func run(_ moment: Moment, _ code: Int32) throws -> Int32 {
        // The threads that run tests may block signals, and the program would inherit that.
        var (signals, before) = (sigset_t(), sigset_t())
        // SAFETY: the sets are read and written within the calls.
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGALRM)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        if moment == .beforeTheStart { arrive(code) }
        let (process, failure) = ForwardedSignals.start {
            let started = ProgramStart("/bin/sleep", arguments: ["sleep", "600"]).spawn()
            if moment == .whileStarting { arrive(code) }
            return started
        }
        defer { ForwardedSignals.release() }
        try #require(failure == 0)
        // If SIGALRM was forwarded, it came first, and the program's exit status shows the first
        // fatal signal.
        kill(process, SIGKILL)
        return ForwardedSignals.wait(for: process) - 128
    }

    @Test(arguments: Moment.allCases)
    func `a signal that a process sent is forwarded, even if the program is just being started`(
        _ moment: Moment
    ) throws {
        #expect(try run(moment, Self.ofProcess) == SIGALRM)
    }

    @Test func `a signal from the terminal is forwarded only if it arrived before the start`()
        throws
    {
        #expect(try run(.beforeTheStart, Self.ofKernel) == SIGALRM)
        #expect(try run(.whileStarting, Self.ofKernel) == SIGKILL)
    }
}
