// CaptureError: why a capture can't be opened or signed, beyond what the keychain reports.

import Foundation

/// Why ``CaptureDevice`` could not do what it was asked for, although the keychain answered.
public enum CaptureError: Error, LocalizedError, Equatable, Sendable {
    /// This device has no encryption key. It never sealed a capture, or it is another device.
    case encryptionKeyNotFound
    /// The bytes are no capture that this device sealed, or they were altered.
    case captureNotAuthentic

    /// A sentence for people.
    public var errorDescription: String? {
        switch self {
        case .encryptionKeyNotFound: "The encryption key was not found on this device"
        case .captureNotAuthentic: "The capture was altered or sealed by another device"
        }
    }

    /// What to do, as a sentence for people.
    public var recoverySuggestion: String? {
        switch self {
        case .encryptionKeyNotFound:
            "Open the capture on the device that sealed it; keys are not copied to other devices."
        case .captureNotAuthentic:
            "Open an unaltered copy, on the device that sealed it."
        }
    }
}
