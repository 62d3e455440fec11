// Terminal+Questions: asks for a line without echo. Control-C ends the process during the
// question, as at any other time.

import Glibc
import KeychainCrypto
import KeychainCore

extension Terminal {
    /// Reads a line without echo. Returns `nil` if the user ends the input, or the terminal can't
    /// be used.
    ///
    /// Backspace and Control-U edit the line.
    func askHidden(_ prompt: String) -> SecretBytes? {
        ProcessProtection.beginHoldingSecrets()
        switch readHiddenLine(prompt) {
        case .line(let bytes): return bytes
        case .ended, .interrupted: return nil
        case .signalled:
            raise(SIGINT)
            // The signal had no effect, because the parent process made this process ignore or
            // block it.
            exit(128 + SIGINT)
        }
    }
}
