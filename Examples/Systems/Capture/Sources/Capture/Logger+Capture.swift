// The logger of this module: that of the system where there is one, and of swift-log elsewhere.
//   (1) This is the only file that knows which of the two it is.

#if canImport(os)
import os
#else
import Logging

extension Logger {
    /// A logger under the label "subsystem.category".
    init(subsystem: String, category: String) {
        self.init(label: "\(subsystem).\(category)")
    }
}

/// Who may read a part of a message. The system's logger hides text that isn't public.
enum LogPrivacy {
    case `public`
}

extension DefaultStringInterpolation {
    /// A part of a message, as the system's logger has it.
    mutating func appendInterpolation(_ text: String, privacy: LogPrivacy) {
        appendInterpolation(text)
    }
}
#endif

extension Logger {
    /// The logger of the keychain's operations.
    static var keychain: Logger { Logger(subsystem: "app.rial", category: "keychain") }

    /// Runs an operation and logs it: its name and the key, never a value.
    ///
    /// - Parameters:
    ///   - operation: What is done.
    ///   - key: The key of the item, which is a constant of the program.
    ///   - body: The operation.
    /// - Returns: What the operation returns.
    /// - Throws: What the operation throws.
    func log<Result>(
        _ operation: String, _ key: String, _ body: () throws -> Result
    ) throws -> Result {
        do {
            let result = try body()
            debug("\(operation, privacy: .public) \(key, privacy: .public)")
            return result
        } catch {
            // The texts of KeychainError hold no value. Those of other errors may.
            let reason =
                (error as? KeychainError)?.errorDescription ?? String(describing: type(of: error))
            self.error(
                "\(operation, privacy: .public) \(key, privacy: .public): \(reason, privacy: .public)"
            )
            throw error
        }
    }
}
