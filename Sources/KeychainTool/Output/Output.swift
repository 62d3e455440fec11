// Output: writes to standard output and standard error.

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto

enum Output {
    /// Prints the result. A newline is appended unless the text ends with one or is empty.
    static func print(_ text: String) throws(ControlFailure) {
        guard !text.isEmpty else { return }
        try write(Array(text.utf8))
        if !text.hasSuffix("\n") { try write([UInt8(ascii: "\n")]) }
    }

    /// Writes bytes unchanged.
    static func write(_ bytes: [UInt8]) throws(ControlFailure) {
        guard Descriptor.write(bytes, to: STDOUT_FILENO) else {
            throw ControlFailure(
                .failure,
                "Can't write the result: \(errorText(errno)). Redirect it elsewhere.")
        }
    }

    /// Reports a failure or a warning, preceded by the tool's name.
    static func report(_ message: String) {
        complain("keychainctl: " + message)
    }

    /// Writes lines to standard error. Within each line, characters that a terminal interprets are
    /// escaped.
    static func complain(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let safe = lines.map { escapedForLine($0) + "\n" }.joined()
        _ = Descriptor.write(Array(safe.utf8), to: STDERR_FILENO)
    }
}
