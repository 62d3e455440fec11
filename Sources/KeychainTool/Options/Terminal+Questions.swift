// Terminal+Questions: hidden questions of a tool, which Control-C ends as it ends any tool.

import Glibc
import KeychainCrypto
import KeychainCore

extension Terminal {
    /// Asks for a line that is not shown. nil: the person ended the input.
    ///
    /// Backspace and Control-U edit, Control-C interrupts the process as always.
    func askHidden(_ prompt: String) -> SecretBytes? {
        ProcessProtection.beginHoldingSecrets()
        switch readHiddenLine(prompt) {
        case .line(let bytes): return bytes
        case .ended, .interrupted: return nil
        case .signalled:
            raise(SIGINT)
            // Still here: the program that started this process had it ignore or block the signal.
            exit(128 + SIGINT)
        }
    }
}
