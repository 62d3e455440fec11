// Logger+Capture: the logger of this module. It is the logger of the module `os` on Apple platforms
// and the logger of swift-log on others. The module's other files depend on this choice only in
// their conditional imports.

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

/// The privacy of a part of a message. The logger of `os` hides text that isn't public.
enum LogPrivacy {
    case `public`
}

extension DefaultStringInterpolation {
    /// Appends a part of a message, with the same syntax as for the logger of `os`.
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
    ///   - key: The name under which the item is stored. The log shows it, so it must not be a
    ///     secret.
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
            // The texts of KeychainError contain no values. The texts of other errors may.
            let reason =
                (error as? KeychainError)?.errorDescription ?? String(describing: type(of: error))
            self.error(
                "\(operation, privacy: .public) \(key, privacy: .public): \(reason, privacy: .public)"
            )
            throw error
        }
    }
}
