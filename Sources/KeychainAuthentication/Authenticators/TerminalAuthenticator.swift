// TerminalAuthenticator: asks at the terminal that the process belongs to.
//   (1) One question at a time, whichever threads ask. One that waits for its turn can be taken
//       back too.

#if !canImport(Darwin)

import Glibc
import Synchronization

package struct TerminalAuthenticator: Authenticator {
    /// nil: the controlling terminal.
    private let path: String?

    /// - Parameter path: A terminal by name; nil: the one that the process belongs to.
    package init(path: String? = nil) {
        self.path = path
    }

    private static let oneAtATime = Mutex(())
    /// How often a question that waits looks whether it is its turn, in milliseconds.
    private static let turnInterval: Int32 = 50

    package var canAsk: Bool {
        guard let terminal = open() else { return false }
        return path != nil || terminal.isForeground
    }

    package func ask(_ question: Question, until interruption: Interruption) -> Answer {
        while true {
            let line = Self.oneAtATime.withLockIfAvailable { _ -> Terminal.HiddenLine? in
                if interruption.isInterrupted { return .interrupted }
                guard let terminal = open() else { return nil }
                if question.complaint.isEmpty {
                    terminal.show(question.introduction + "\n")
                } else {
                    terminal.show(question.complaint + "\n")
                }
                return terminal.readHiddenLine(question.label + ": ", until: interruption)
            }
            if let line { return answer(line) }
            // Another question is open. No descriptor: a wait for the interruption alone.
            if case .interrupted = Descriptor.wait(
                for: -1, until: interruption, milliseconds: Self.turnInterval)
            {
                return .interrupted
            }
        }
    }

    private func answer(_ line: Terminal.HiddenLine?) -> Answer {
        switch line {
        case .line(let bytes): return .entered(bytes)
        case .ended: return .cancelled
        case .signalled:
            // What Control-C does at any other time. A program that goes on took it for a
            // "no" to the question.
            raise(SIGINT)
            return .cancelled
        case .interrupted: return .interrupted
        case nil: return .unavailable
        }
    }

    private func open() -> Terminal? {
        if let path { Terminal(path: path) } else { Terminal() }
    }
}

#endif
