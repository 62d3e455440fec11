// Logger+Capture: the logger of this module, which is the system's if there is one, and otherwise
// that of swift-log.
//   (1) Except for the conditional imports, only this file depends on which of the two loggers is
//       used.

#if canImport(os)
import os
#else
import Logging

extension Logger {
    /// Creates a logger with the label "subsystem.category".
    init(subsystem: String, category: String) {
        self.init(label: "\(subsystem).\(category)")
    }
}

/// The privacy of a part of a message. The system's logger hides text that isn't public.
enum LogPrivacy {
    case `public`
}

extension DefaultStringInterpolation {
    /// Appends a part of a message, with the same syntax as for the system's logger.
    mutating func appendInterpolation(_ text: String, privacy: LogPrivacy) {
        appendInterpolation(text)
    }
}
#endif

extension Logger {
    /// The logger of the keychain's operations.
    static var keychain: Logger { Logger(subsystem: "app.rial", category: "keychain") }

    /// Runs an operation and logs its name and the key, never a value.
    ///
    /// - Parameters:
    ///   - operation: The name of the operation.
    ///   - key: The key of the item, which is a constant in the program.
    ///   - body: The operation.
    /// - Returns: The result of the operation.
    /// - Throws: The error that the operation throws.
    func log<Result>(
        _ operation: String, _ key: String, _ body: () throws -> Result
    ) throws -> Result {
        do {
            let result = try body()
            debug("\(operation, privacy: .public) \(key, privacy: .public)")
            return result
        } catch {
            // The texts of KeychainError contain no values. Those of other errors may.
            let reason =
                (error as? KeychainError)?.errorDescription ?? String(describing: type(of: error))
            self.error(
                "\(operation, privacy: .public) \(key, privacy: .public): \(reason, privacy: .public)"
            )
            throw error
        }
    }
}
