// ProgressLine: a line on the terminal that is repeatedly overwritten.

import Glibc
import KeychainCrypto
import Synchronization

/// Shows progress on standard error if that is a terminal; otherwise shows nothing.
final class ProgressLine: Sendable {
    private let isTerminal = Descriptor.isTerminal(STDERR_FILENO)
    private let isShown = Atomic(false)

    func show(_ text: String) {
        guard isTerminal else { return }
        let isOverwriting = isShown.exchange(true, ordering: .relaxed)
        // The line that was shown before may be longer.
        write((isOverwriting ? "\r\u{1B}[K" : "\r") + text)
    }

    /// Clears the line, so that the next output replaces it. If nothing was shown, nothing is
    /// written.
    func end() {
        guard isShown.exchange(false, ordering: .relaxed) else { return }
        write("\r\u{1B}[K")
    }

    private func write(_ text: String) {
        _ = Descriptor.write(Array(text.utf8), to: STDERR_FILENO)
    }
}
