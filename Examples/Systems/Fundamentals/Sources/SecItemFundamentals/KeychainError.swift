// KeychainError: a status of Security that is no answer, with the system's text.

import Foundation
import Security

/// A SecItem function failed. The status is the code to catch by.
public struct KeychainError: Error, CustomStringConvertible, Equatable {
    /// What the function returned.
    public let status: OSStatus

    /// The error of a status.
    public init(status: OSStatus) {
        self.status = status
    }

    /// The status and the system's text for it, and nothing of the item.
    public var description: String { "KeychainError(\(status)): \(Self.text(of: status))" }

    /// The system's text for a status, or its number.
    ///
    /// - Parameter status: The status.
    /// - Returns: The text.
    public static func text(of status: OSStatus) -> String {
        SecCopyErrorMessageString(status, nil) as String? ?? "OSStatus \(status)"
    }
}

extension KeychainError: LocalizedError {
    /// The same as `description`.
    public var errorDescription: String? { description }
}
