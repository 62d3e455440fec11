// KeychainError: a failure status of the Security framework, with the system's text for it.

import Foundation
import Security

/// The error of a failed SecItem function. Its status identifies the failure.
public struct KeychainError: Error, CustomStringConvertible, Equatable {
    /// The status that the function returned.
    public let status: OSStatus

    /// Creates the error for a status.
    public init(status: OSStatus) {
        self.status = status
    }

    /// The status and the system's text for it, with no information about the item.
    public var description: String { "KeychainError(\(status)): \(Self.text(of: status))" }

    /// The system's text for a status, or the number of the status if there is no text.
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
