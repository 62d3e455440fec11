// KeychainError: the error of a failed operation of KeychainService, with the remedy.

import Foundation
import Security

/// The error of a failed operation of ``KeychainService``.
///
/// No case and no text contains the value or the key of an item. For tables of the cases and
/// statuses, see <doc:ErrorRecovery>.
public enum KeychainError: Error, LocalizedError, Equatable, Sendable {
    /// The item or key could not be stored. Nothing was changed, with one exception: if the
    /// connection to a keychain service broke, or the disk failed to synchronize the change, the
    /// change may have been made. Load the item before you retry.
    case saveFailed(OSStatus)
    /// The item or key could not be read. If it exists, it was not changed.
    case loadFailed(OSStatus)
    /// The item or key could not be deleted. It still exists, with one exception: if the connection
    /// to a keychain service broke, or the disk failed to synchronize the change, it may have been
    /// deleted.
    case deleteFailed(OSStatus)
    /// A required item does not exist.
    case itemNotFound
    /// The item or key already exists. It was not changed.
    case duplicateItem
    /// The bytes are missing or have the wrong format; for example, they are a key of a size other
    /// than 256 bits. Also if the attributes of an item don't contain its accessibility. Stored
    /// bytes are kept.
    case invalidData
    /// The value could not be encoded. Nothing was stored.
    case encodingFailed
    /// The stored bytes are not a value of the requested type. The bytes are kept.
    case decodingFailed
    /// This device has no Secure Enclave, or it was registered without a key in the Secure Enclave
    /// (see ``CaptureDevice``). No key was created, not even in software.
    case secureEnclaveUnavailable
    /// A SecKey function failed, or the keychain returned something other than a key. The status is
    /// the function's, or `errSecInternalComponent` if there is none.
    case unexpectedError(OSStatus)

    /// A description for users.
    public var errorDescription: String? {
        switch self {
        case .saveFailed(let status): "Failed to save item to Keychain (status: \(status))"
        case .loadFailed(let status): "Failed to load item from Keychain (status: \(status))"
        case .deleteFailed(let status): "Failed to delete item from Keychain (status: \(status))"
        case .itemNotFound: "Keychain item not found"
        case .duplicateItem: "Keychain item already exists"
        case .invalidData: "Keychain data is invalid or corrupted"
        case .encodingFailed: "Failed to encode data for Keychain"
        case .decodingFailed: "Failed to decode data from Keychain"
        case .secureEnclaveUnavailable: "Secure Enclave is not available on this device"
        case .unexpectedError(let status): "Unexpected Keychain error (status: \(status))"
        }
    }

    /// The status that the case contains. For a case without a status, the status with the same
    /// meaning, or `nil` if the value or its bytes caused the error.
    public var status: OSStatus? {
        switch self {
        case .saveFailed(let status), .loadFailed(let status), .deleteFailed(let status),
            .unexpectedError(let status):
            status
        case .itemNotFound: errSecItemNotFound
        case .duplicateItem: errSecDuplicateItem
        case .secureEnclaveUnavailable: errSecUnimplemented
        case .invalidData, .encodingFailed, .decodingFailed: nil
        }
    }

    /// The remedy, as a sentence for users.
    public var recoverySuggestion: String? {
        switch self {
        case .invalidData, .decodingFailed:
            "Load the item as the type that was saved, or save it again. The item was not changed."
        case .encodingFailed: "Correct the value and save it again; nothing was stored."
        case .secureEnclaveUnavailable:
            "Go on without a hardware key, or use a device that has a Secure Enclave."
        case .saveFailed, .loadFailed, .deleteFailed, .itemNotFound, .duplicateItem,
            .unexpectedError:
            status.flatMap(Self.recovery)
        }
    }

    /// The remedy for a status, or `nil` if the only explanation is the text in `SecBase.h`.
    static func recovery(from status: OSStatus) -> String? {
        switch status {
        case errSecItemNotFound:
            "This is normal at first access: nothing was saved yet. Save the item."
        case errSecDuplicateItem: "Update the item instead."
        case errSecAuthFailed:
            "Check the item's accessibility and whether the device has a passcode."
        case errSecInteractionNotAllowed:
            "Wait until the device is unlocked and try again; the item is still there."
        default: nil
        }
    }
}
