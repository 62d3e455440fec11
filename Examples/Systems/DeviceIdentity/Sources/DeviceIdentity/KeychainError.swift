// KeychainError: what went wrong in the keychain, in the words of this app.

import Foundation
import Security

/// An error of the keychain. A caller tells the cases apart, and has the status of the system.
///
/// An absent item is no error: loading it gives nil. After an error nothing was changed, unless a
/// keychain service broke off: then the change may have been made.
public enum KeychainError: Error, LocalizedError, Hashable, Sendable {
    /// It was not saved, unless a keychain service broke off. With `errSecInteractionNotAllowed`
    /// (-25308) the device is locked: keep the value and try again after the unlock.
    case saveFailed(status: OSStatus)
    /// It isn't known what is stored, and what is stored stays. With
    /// `errSecInteractionNotAllowed` (-25308) the device is locked: try again after the unlock.
    case loadFailed(status: OSStatus)
    /// It was not deleted, unless a keychain service broke off.
    case deleteFailed(status: OSStatus)
    /// A value has no form as bytes, or the bytes are not UTF-8. What is stored stays.
    case dataConversionFailed
    /// The bytes are no value of the asked type. What is stored stays.
    case unexpectedData
    /// There is no such item where there has to be one.
    case itemNotFound

    /// A sentence for a person. It holds no value and no key.
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
