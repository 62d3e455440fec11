// ProgressLine: one line of a terminal that is written over and over.

import Glibc
import KeychainCrypto
import Synchronization

/// Shows nothing where standard error is no terminal.
final class ProgressLine: Sendable {
    private let isTerminal = Descriptor.isTerminal(STDERR_FILENO)
    private let isShown = Atomic(false)

    func show(_ text: String) {
        guard isTerminal else { return }
        isShown.store(true, ordering: .relaxed)
        write("\r" + text)
    }

    /// Clears the line: what follows takes its place. Where none was shown, nothing is written.
    func end() {
        guard isShown.exchange(false, ordering: .relaxed) else { return }
        write("\r\u{1B}[K")
    }

    private func write(_ text: String) {
        _ = Descriptor.write(Array(text.utf8), to: STDERR_FILENO)
    }
}
