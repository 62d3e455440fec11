// KeychainError: the error of saving, loading or deleting a value.
//   (1) No case or text contains a value.

import Foundation
import Security

/// The error of saving, loading or deleting a value.
public enum KeychainError: Error, LocalizedError {
    /// The keychain returned a status that is neither success nor an expected result.
    case unexpectedStatus(OSStatus)
    /// The value can't be encoded as JSON. The keychain was not called.
    case encodingFailed

    /// A description for users: the status and the system's text for the status, or a sentence that
    /// says that the value can't be encoded.
    public var errorDescription: String? {
        switch self {
        case .unexpectedStatus(let status):
            let text = SecCopyErrorMessageString(status, nil) as String? ?? "Unknown status."
            return "The keychain answered \(status): \(text)"
        case .encodingFailed:
            return "The value can't be encoded."
        }
    }
}
