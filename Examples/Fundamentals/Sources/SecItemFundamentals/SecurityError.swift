// SecurityError: a status of Security that is no answer, with the system's text.

import Foundation
import Security

/// A call to Security failed. The status is the code to catch by.
public struct SecurityError: LocalizedError, Equatable {
    /// What the call returned.
    public let status: OSStatus

    /// The error of a status.
    public init(_ status: OSStatus) {
        self.status = status
    }

    /// The system's text, or the number where it has none.
    public var errorDescription: String? { Self.text(of: status) }

    /// The system's text for a status, or its number.
    public static func text(of status: OSStatus) -> String {
        SecCopyErrorMessageString(status, nil) as String? ?? "OSStatus \(status)"
    }
}
