// KeychainError: the errors that this app's keychain operations throw.

import Foundation
import Security

/// An error of a keychain operation. The case identifies the failure. The cases for failed calls
/// contain the system's status.
///
/// An absent item is not an error: loading it returns `nil`. After an error, nothing was changed,
/// with one exception: if the connection to a keychain service broke, or the disk failed to
/// synchronize the change, the change may have been made.
public enum KeychainError: Error, LocalizedError, Hashable, Sendable {
    /// The value was not saved. ``KeychainError`` describes the only exception. Status
    /// `errSecInteractionNotAllowed` (-25308) means that the device is locked: keep the value and
    /// retry after the device is unlocked.
    case saveFailed(status: OSStatus)
    /// The item could not be read, and stays stored. Status `errSecInteractionNotAllowed` (-25308)
    /// means that the device is locked: retry after it is unlocked.
    case loadFailed(status: OSStatus)
    /// The item was not deleted. ``KeychainError`` describes the only exception.
    case deleteFailed(status: OSStatus)
    /// The value can't be converted to bytes, or the bytes are not UTF-8. Stored data are kept.
    case dataConversionFailed
    /// The bytes are not a value of the requested type. Stored data are kept.
    case unexpectedData
    /// A required item does not exist.
    case itemNotFound

    /// A description for users. It contains no value and no key.
    public var errorDescription: String? {
        switch self {
        case .saveFailed(let status): "Failed to save to Keychain. Status: \(status)"
        case .loadFailed(let status): "Failed to load from Keychain. Status: \(status)"
        case .deleteFailed(let status): "Failed to delete from Keychain. Status: \(status)"
        case .dataConversionFailed: "Failed to convert data"
        case .unexpectedData: "Unexpected data format"
        case .itemNotFound: "Item not found in Keychain"
        }
    }
}
