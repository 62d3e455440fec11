// TerminalAuthenticator: asks at the terminal that the process belongs to.
//   (1) One question at a time, whichever threads ask.

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

    package var canAsk: Bool {
        guard let terminal = open() else { return false }
        return path != nil || terminal.isForeground
    }

    package func ask(_ question: Question, until interruption: Interruption) -> Answer {
        let line = Self.oneAtATime.withLock { _ -> Terminal.HiddenLine? in
            if interruption.isInterrupted { return .interrupted }
            guard let terminal = open() else { return nil }
            if question.complaint.isEmpty {
                terminal.show(question.introduction + "\n")
            } else {
                terminal.show(question.complaint + "\n")
            }
            return terminal.readHiddenLine(question.label + ": ", until: interruption)
        }
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
