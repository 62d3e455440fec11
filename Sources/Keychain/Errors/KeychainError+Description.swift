// KeychainError+Description: the texts of an error, for users and logs. None contains a value or
// the name of an item.

public import Foundation

extension KeychainError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The operation, code, reason and remedy, such as "KeychainError: load: diskFull (-34): the
    /// disk is full. Free some disk space and try again."
    public var description: String {
        let head = operation.map { "KeychainError: \($0): \(code)" } ?? "KeychainError: \(code)"
        return ([head + ": \(explanation)."] + advice).joined(separator: " ")
    }

    /// The same as ``description``.
    public var debugDescription: String { description }
}

extension KeychainError: CustomReflectable {
    /// A mirror that contains only the operation, the code, the cause, the reason and the type of
    /// the underlying error.
    public var customMirror: Mirror {
        var children: [Mirror.Child] = [("code", code.description)]
        if let operation { children.append(("operation", operation.rawValue)) }
        if cause != .other { children.append(("cause", cause.rawValue)) }
        if let detail { children.append(("reason", detail)) }
        if let underlyingError {
            children.append(("underlyingErrorType", "\(type(of: underlyingError))"))
        }
        return Mirror(self, children: children, displayStyle: .struct)
    }
}

extension KeychainError: LocalizedError {
    /// A description of the failed operation, the reason and the remedy, in a few sentences. This
    /// is the value of `localizedDescription`.
    public var errorDescription: String? {
        let aim =
            switch operation {
            case .save: "The secret could not be saved"
            case .load: "The secret could not be loaded"
            case .delete: "The secret could not be deleted"
            case .list: "The secrets could not be listed"
            case .update: "The secret could not be changed"
            case .administer: "The operation on the keychain failed"
            case .migrate: "The secret could not be moved"
            case .sign: "The data could not be signed"
            case .agree: "The key agreement failed"
            default: "The operation on the keychain failed"
            }
        return (["\(aim): \(explanation) (\(code.rawValue))."] + advice).joined(separator: " ")
    }

    /// The exact reason, if it is known, and the remedy.
    private var advice: [String] {
        guard let detail else { return recoverySuggestion.map { [$0] } ?? [] }
        // A reason of several sentences states the remedy itself, if there is one.
        if detail.contains(". ") { return [detail] }
        return [detail] + (recoverySuggestion.map { [$0] } ?? [])
    }

    /// The exact reason, or `nil` if only the code is known. ``errorDescription`` contains it.
    public var failureReason: String? { detail }

    /// What the user or the program can do about the failure.
    public var recoverySuggestion: String? {
        switch code {
        case .decode where cause == .otherMachine:
            "Use the original machine and keychain, or create a new key. Nothing was deleted."
        case _ where cause == .otherMachine:
            "Use the keychain's original machine or its recovery code. Nothing was deleted."
        case _ where cause == .interruption:
            "Check whether the change was made, and try again if not."
        case .interactionNotAllowed:
            "Unlock the device or the keychain, or let the program ask the user, and try again."
        case .authFailed: "Check the passcode or password, and try again."
        case .userCanceled: "Try again and confirm."
        case .missingEntitlement where operation == .administer:
            "Use a program that may administer the keychain, such as keychainctl, or give the "
                + "user or systemd unit of this program the group \"*\" in the registry of the "
                + "keychain service."
        case .missingEntitlement:
            "Add the access group to the keychain-access-groups entitlement of the program."
        case .diskFull: "Free some disk space and try again."
        case .allocate: "Try again when more memory is available."
        case .itemNotFound: "Check the service, account and access group of the request."
        case .internalError: "Check the keychain and report this as a bug."
        case .readOnly, .ioError:
            "Check that the keychain's folder is writable and try again."
        case .decode: "Check the keychain and set damaged items aside. Nothing was deleted."
        case .notAvailable where cause == .contention:
            "Try again later. If a keychain service is in use, check that it is running."
        case .notAvailable where cause == .permission:
            "Check the owner and the permissions of the keychain's folder, or the password of the "
                + "TPM."
        case .notAvailable where cause == .damage, .invalidKeychain:
            "Check the keychain. Nothing was deleted."
        case .notAvailable:
            "Make the keychain and the hardware that it needs available, and try again. Nothing "
                + "was deleted."
        case .wrongVersion: "Update this program or, if it is older, the keychain service."
        case .dataNotAvailable: "Delete the item and obtain its data again."
        case .duplicateItem: "Replace the existing item, or use a different name."
        case .invalidData, .decodingFailed, .dataConversionFailed:
            storedData == nil
                ? "Use data in the required format."
                : "Load the secret as the type it was saved as. It is still in the keychain."
        case .secureEnclaveUnavailable: "Use a device with a Secure Enclave or a TPM 2.0."
        case .invalidKey: "Use a key of the required size."
        case .param: "Correct the program, its configuration or the input."
        case .noSuchAttribute, .noSuchClass, .unimplemented, .encodingFailed:
            "Correct the program."
        default: nil
        }
    }

    private var explanation: String {
        switch code {
        case .unimplemented: "the operation is not implemented on this platform"
        case .diskFull: "the disk is full"
        case .ioError: "an input or output operation failed"
        case .param: "a parameter of the request is invalid"
        case .allocate: "there is not enough memory"
        case .userCanceled: "the user canceled the operation"
        case .notAvailable: "the keychain is not available"
        case .readOnly: "the keychain can't be changed"
        case .authFailed:
            "a passcode or password is wrong or missing, or the user could not be authenticated"
        case .invalidKeychain: "a file of the keychain is not valid"
        case .duplicateItem: "the item already exists"
        case .itemNotFound: "the item does not exist"
        case .noSuchAttribute: "items of this class don't have this attribute"
        case .noSuchClass: "the item class does not exist"
        case .interactionNotAllowed:
            "the device or the keychain is locked, or the user can't be asked"
        case .wrongVersion: "the keychain or its service has a version that is not supported"
        case .dataNotAvailable: "the biometric enrollment has changed since the item was created"
        case .decode where cause == .otherMachine: "the key can't be used here"
        case .decode: "the item is damaged"
        case .internalError: "an internal error occurred in the keychain"
        case .missingEntitlement: "the program may not use this access group or operation"
        case .invalidData: "the bytes don't have the required format"
        case .encodingFailed: "the value could not be encoded"
        case .decodingFailed: "the stored bytes could not be decoded as this type"
        case .dataConversionFailed: "the stored bytes are not valid UTF-8"
        case .secureEnclaveUnavailable: "no Secure Enclave is available"
        case .invalidKey: "the key has the wrong size"
        default: "the keychain reported an unexpected status"
        }
    }
}
