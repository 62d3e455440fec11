// KeychainError+Description: the texts of an error, for users and logs. None contains a value or a
// name.

public import Foundation

extension KeychainError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The operation, code, reason and remedy, such as "KeychainError: load: interactionNotAllowed
    /// (-25308): the device or the keychain is locked. Unlock the device or the keychain and try
    /// again."
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
            case .administer: "The keychain could not do this"
            case .migrate: "The secret could not be moved"
            case .sign: "The data could not be signed"
            case .agree: "No secret could be agreed on"
            default: "The keychain could not do this"
            }
        return (["\(aim): \(explanation) (\(code.rawValue))."] + advice).joined(separator: " ")
    }

    /// The exact reason, if it is known, and the remedy.
    private var advice: [String] {
        guard let detail else { return recoverySuggestion.map { [$0] } ?? [] }
        // A reason of several sentences from the keychain includes the remedy.
        if detail.contains(". ") { return [detail] }
        return [detail] + (recoverySuggestion.map { [$0] } ?? [])
    }

    /// The exact reason, if more is known than ``errorDescription`` says about the code.
    public var failureReason: String? { detail }

    /// What the user or the program can do about the failure.
    public var recoverySuggestion: String? {
        switch code {
        case .interactionNotAllowed: "Unlock the device or the keychain and try again."
        case .authFailed: "Check the passcode and try again."
        case .userCanceled: "Try again and confirm."
        case .missingEntitlement:
            "Add the access group to the keychain-access-groups entitlement of the program."
        case .diskFull: "Make space on the disk and try again."
        case .allocate: "Try again when there is more memory."
        case .itemNotFound: "Look which service, account and access group are asked for."
        case .internalError: "Check the keychain, and report this as a defect."
        case .readOnly, .ioError:
            "Check that the keychain's folder can be written and try again."
        case .decode: "Check the keychain and set damaged items aside. Nothing was deleted."
        case .notAvailable where cause == .contention:
            "Try again when other programs have finished."
        case .notAvailable where cause == .interruption:
            "Look whether the change was made, and try again if not."
        case .notAvailable where cause == .otherMachine:
            "Use the machine that the keychain comes from, or its recovery code. Nothing was deleted."
        case .notAvailable where cause == .permission:
            "Check who owns the keychain's folder and may use it."
        case .notAvailable, .invalidKeychain: "Check the keychain. Nothing was deleted."
        case .wrongVersion: "Update this program."
        case .dataNotAvailable: "Delete the item, and get its data anew."
        case .duplicateItem: "Save over the item, or use another name."
        case .invalidData, .decodingFailed, .dataConversionFailed:
            storedData == nil
                ? "Use data of the form that is asked for."
                : "Load the secret as what it was saved as. It is still in the keychain."
        case .secureEnclaveUnavailable: "Use a device with a Secure Enclave or a TPM 2.0."
        case .invalidKey: "Use a key of the size that is asked for."
        case .param, .noSuchAttribute, .noSuchClass, .unimplemented, .encodingFailed:
            "Correct the program."
        default: nil
        }
    }

    private var explanation: String {
        switch code {
        case .unimplemented: "this is not implemented here"
        case .diskFull: "the disk is full"
        case .ioError: "reading or writing failed"
        case .param: "the request makes no sense"
        case .allocate: "there is not enough memory"
        case .userCanceled: "it was cancelled"
        case .notAvailable: "the keychain is not available"
        case .readOnly: "the keychain can't be changed"
        case .authFailed: "the passcode or the proof of identity was wrong"
        case .invalidKeychain: "the file is no keychain"
        case .duplicateItem: "there is one already"
        case .itemNotFound: "there is no such item"
        case .noSuchAttribute: "there is no such attribute"
        case .noSuchClass: "there is no such class of items"
        case .interactionNotAllowed: "the device or the keychain is locked"
        case .wrongVersion: "the keychain was written by a later version"
        case .dataNotAvailable: "the biometric enrollment changed since the item was made"
        case .decode: "the item is damaged"
        case .internalError: "the keychain is at fault"
        case .missingEntitlement: "the program may not use this access group"
        case .invalidData: "the bytes have the wrong form"
        case .encodingFailed: "the value could not be turned into bytes"
        case .decodingFailed: "the stored bytes are no value of this type"
        case .dataConversionFailed: "the stored bytes are no text"
        case .secureEnclaveUnavailable: "there is no Secure Enclave that can be used"
        case .invalidKey: "the key has the wrong size"
        default: "the keychain reported an unexpected status"
        }
    }
}
