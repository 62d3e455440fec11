// ProgressLine: one line of a terminal that is written over and over.

import Glibc
import KeychainCrypto

/// Shows nothing where standard error is no terminal.
struct ProgressLine {
    private let isShown = Descriptor.isTerminal(STDERR_FILENO)

    func show(_ text: String) {
        guard isShown else { return }
        write("\r" + text)
    }

    /// Clears the line: what follows takes its place.
    func end() {
        guard isShown else { return }
        write("\r\u{1B}[K")
    }

    private func write(_ text: String) {
        _ = Descriptor.write(Array(text.utf8), to: STDERR_FILENO)
    }
}
