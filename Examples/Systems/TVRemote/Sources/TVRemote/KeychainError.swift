// KeychainError: why a value could not be saved, loaded or deleted.
//   (1) No case and no text holds a value.

import Foundation
import Security

/// Why a value could not be saved, loaded or deleted.
public enum KeychainError: Error, LocalizedError {
    /// The keychain answered with a status that is neither success nor an expected answer.
    case unexpectedStatus(OSStatus)
    /// The value has no JSON form. The keychain was not asked.
    case encodingFailed

    /// The status and the system's text for it.
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
