// KeychainError: an error of the keychain. It contains no secret.

import Foundation
import Security

/// An error of ``KeychainService``.
///
/// An absent item is not an error: reading it returns `nil`, and deleting it succeeds.
public enum KeychainError: LocalizedError, Equatable {
    /// The item existed whenever a save tried to add it, and did not exist whenever the save tried
    /// to update it, because another program was saving and deleting it at the same time. Retry.
    case duplicateItem
    /// The keychain reported for an addition that the item does not exist, which should never
    /// happen. Retry.
    case itemNotFound
    /// The keychain returned this status. `errSecInteractionNotAllowed` (-25308) means that the
    /// item is locked but still exists: retry after the unlock. `errSecDecode` (-26275) means that
    /// the stored bytes are not text; they are not changed.
    case unexpectedStatus(OSStatus)

    init(_ status: OSStatus) {
        switch status {
        case errSecDuplicateItem: self = .duplicateItem
        case errSecItemNotFound: self = .itemNotFound
        default: self = .unexpectedStatus(status)
        }
    }

    /// A description for users, with the status if there is no other text for it.
    public var errorDescription: String? {
        switch self {
        case .duplicateItem: "Item already exists in Keychain"
        case .itemNotFound: "Item not found in Keychain"
        case .unexpectedStatus(let status): "Keychain error: \(status)"
        }
    }
}
