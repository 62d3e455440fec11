// DeviceIdentificationError: what is wrong with an identifier, as opposed to its keychain.

import Foundation

/// An error of the identifier itself. One of the keychain is a ``KeychainError``.
public enum DeviceIdentificationError: Error, LocalizedError, Hashable, Sendable {
    /// There is none, and none was to be made.
    case deviceIdNotFound
    /// It is not the text of a UUID, or the UUID of zeros. Nothing was changed.
    case invalidDeviceId

    /// A sentence for a person. It holds no identifier.
    public var errorDescription: String? {
        switch self {
        case .deviceIdNotFound: "Device ID not found. Please restart the app."
        case .invalidDeviceId: "The provided device ID is invalid."
        }
    }
}
