// KeychainError: why an operation of KeychainService failed, and what a caller does next.

import Foundation
import Security

/// Why an operation of ``KeychainService`` failed.
///
/// No case and no text holds a value or the key of an item. <doc:ErrorRecovery> has a table of the
/// cases and of the statuses.
public enum KeychainError: Error, LocalizedError, Equatable, Sendable {
    /// The item or key could not be stored. Nothing was changed; but where a keychain service broke
    /// off, the change may have been made: load before you repeat it.
    case saveFailed(OSStatus)
    /// The item or key could not be read. It is still there.
    case loadFailed(OSStatus)
    /// The item or key could not be deleted. It is still there, unless a keychain service broke
    /// off.
    case deleteFailed(OSStatus)
    /// There is no such item where there has to be one.
    case itemNotFound
    /// There is such an item or key already. It is as it was.
    case duplicateItem
    /// The bytes have the wrong form: those of a key that has not 256 bits, for example. Stored
    /// bytes stay.
    case invalidData
    /// The value could not be turned into bytes. Nothing was stored.
    case encodingFailed
    /// The stored bytes are no value of the type. They stay.
    case decodingFailed
    /// This device has no Secure Enclave. No key was made, and none in software.
    case secureEnclaveUnavailable
    /// A function on keys failed with a status, or gave a result of an unknown form.
    case unexpectedError(OSStatus)

    /// A sentence for people.
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

    /// The status that the keychain returned or, where it was not asked, the one that says the
    /// same; nil if the bytes are the reason.
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

    /// What to do, as a sentence for people.
    public var recoverySuggestion: String? {
        switch self {
        case .invalidData, .decodingFailed:
            "Load the item as what it was saved as; it was not changed. Otherwise save it anew."
        case .encodingFailed: "Correct the value and save it again; nothing was stored."
        case .secureEnclaveUnavailable:
            "Go on without a hardware key, or use a device that has a Secure Enclave."
        case .saveFailed, .loadFailed, .deleteFailed, .itemNotFound, .duplicateItem,
            .unexpectedError:
            status.flatMap(Self.recovery)
        }
    }

    /// What to do after a status. nil: its text in `SecBase.h` is all that is known.
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
