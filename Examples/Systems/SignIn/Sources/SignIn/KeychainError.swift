// KeychainError: why the keychain didn't do what the app asked for. It holds no secret.

import Foundation
import Security

/// An error of ``KeychainService``.
///
/// An item that is absent is no error: reading it gives nil, deleting it succeeds.
public enum KeychainError: LocalizedError, Equatable {
    /// An item was there each time that a save added one, and gone each time that it updated one:
    /// another program saves and deletes at the same time. Save again.
    case duplicateItem
    /// The keychain answered an addition with "there is no such item", which it has no reason to.
    /// Save again.
    case itemNotFound
    /// The keychain answered with this status. `errSecInteractionNotAllowed` (-25308): the item is
    /// locked and still there; try again after unlock. `errSecDecode` (-26275): the stored bytes
    /// are no text; they stay as they are.
    case unexpectedStatus(OSStatus)

    init(_ status: OSStatus) {
        switch status {
        case errSecDuplicateItem: self = .duplicateItem
        case errSecItemNotFound: self = .itemNotFound
        default: self = .unexpectedStatus(status)
        }
    }

    /// A sentence for a person, with the status where there is no other word for it.
    public var errorDescription: String? {
        switch self {
        case .duplicateItem: "Item already exists in Keychain"
        case .itemNotFound: "Item not found in Keychain"
        case .unexpectedStatus(let status): "Keychain error: \(status)"
        }
    }
}
