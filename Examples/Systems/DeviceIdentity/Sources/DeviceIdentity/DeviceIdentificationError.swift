// DeviceIdentificationError: errors that concern an identifier, as opposed to keychain errors.

import Foundation

/// An error that concerns the identifier itself. Keychain errors have the type ``KeychainError``.
public enum DeviceIdentificationError: Error, LocalizedError, Hashable, Sendable {
    /// There is no identifier, and the operation does not create one.
    case deviceIdNotFound
    /// The identifier is not the text of a UUID, or is the nil UUID. Nothing was changed.
    case invalidDeviceId

    /// A description for users. It contains no identifier.
    public var errorDescription: String? {
        switch self {
        case .deviceIdNotFound: "Device ID not found. Please restart the app."
        case .invalidDeviceId: "The provided device ID is invalid."
        }
    }
}
