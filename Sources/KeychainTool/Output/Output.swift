// Output: what goes to standard output and standard error.

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto

enum Output {
    /// Writes lines of a result. A newline is added unless the text ends with one or is empty.
    static func print(_ text: String) throws(ControlFailure) {
        guard !text.isEmpty else { return }
        try write(Array(text.utf8))
        if !text.hasSuffix("\n") { try write([UInt8(ascii: "\n")]) }
    }

    /// Writes bytes as they are.
    static func write(_ bytes: [UInt8]) throws(ControlFailure) {
        guard Descriptor.write(bytes, to: STDOUT_FILENO) else {
            throw ControlFailure(
                .failure,
                "Can't write the result: \(errorText(errno)). Send it to a place that takes it.")
        }
    }

    /// Reports a failure: the tool's name, what happened, what to do.
    static func report(_ message: String) {
        complain("keychainctl: " + message)
    }

    /// Writes lines to standard error. What a terminal would act on is escaped, but for their ends.
    static func complain(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let safe = lines.map { escapedForLine($0) + "\n" }.joined()
        _ = Descriptor.write(Array(safe.utf8), to: STDERR_FILENO)
    }
}
