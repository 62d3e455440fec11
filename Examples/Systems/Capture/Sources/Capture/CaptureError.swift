// CaptureError: errors of opening captures, except the errors of the keychain.

import Foundation

/// An error of ``CaptureDevice`` that is not an error of the keychain.
public enum CaptureError: Error, LocalizedError, Equatable, Sendable {
    /// This device has no encryption key, because it never sealed a capture or its key was deleted.
    /// Another device may have sealed the capture.
    case encryptionKeyNotFound
    /// The bytes were altered, or are not a capture that this device sealed.
    case captureNotAuthentic

    /// A description for users.
    public var errorDescription: String? {
        switch self {
        case .encryptionKeyNotFound: "The encryption key was not found on this device"
        case .captureNotAuthentic: "The capture was altered or sealed by another device"
        }
    }

    /// The remedy, as a sentence for users.
    public var recoverySuggestion: String? {
        switch self {
        case .encryptionKeyNotFound:
            "Open the capture on the device that sealed it; keys are not copied to other devices."
        case .captureNotAuthentic:
            "Open an unaltered copy, on the device that sealed it."
        }
    }
}
