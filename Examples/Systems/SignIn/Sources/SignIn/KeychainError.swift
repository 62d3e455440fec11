// KeychainError: an error of the keychain. It contains no secret.

import Foundation
import Security

/// An error of ``KeychainService``.
///
/// An absent item is not an error: reading it returns `nil`, and deleting it succeeds.
public enum KeychainError: LocalizedError, Equatable {
    /// A save adds the item, updates it if it exists already, and adds it again if it no longer
    /// exists. The second addition found an item, too: another program was saving and deleting the
    /// item at the same time. Retry.
    case duplicateItem
    /// The item could not be added, because the keychain reported that it does not exist. This
    /// should never happen. Retry.
    case itemNotFound
    /// The keychain returned this status. `errSecInteractionNotAllowed` (-25308) means that the
    /// item is locked: retry after the device is unlocked. `errSecDecode` (-26275) means that
    /// the item is damaged, or that its bytes are not text; the item is not changed.
    case unexpectedStatus(OSStatus)

    init(_ status: OSStatus) {
        switch status {
        case errSecDuplicateItem: self = .duplicateItem
        case errSecItemNotFound: self = .itemNotFound
        default: self = .unexpectedStatus(status)
        }
    }

    /// A description for users, with the status if the error has no other text.
    public var errorDescription: String? {
        switch self {
        case .duplicateItem: "Item already exists in Keychain"
        case .itemNotFound: "Item not found in Keychain"
        case .unexpectedStatus(let status): "Keychain error: \(status)"
        }
    }
}
