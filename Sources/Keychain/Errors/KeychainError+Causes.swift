// KeychainError+Causes: creates a KeychainError from a failure of the keychain, or from an error in
// encoding or decoding a value.

import Foundation
package import KeychainCore

extension KeychainError {
    /// Creates the error for a failure that the keychain reported. Its status becomes the code,
    /// even if `Code` declares no such code.
    package init(
        _ failure: KeychainFailure, _ operation: Operation, _ service: String? = nil,
        _ account: String? = nil
    ) {
        self.init(
            Code(rawValue: failure.status.rawValue), operation: operation, service: service,
            account: account)
        // The reason is empty if Apple's SecItem functions failed, because they return only a
        // status.
        detail = failure.reason.isEmpty ? nil : failure.reason
        reportedCause = Cause(failure.cause)
    }

    /// Returns the KeychainError to throw after a `KeychainKey`'s `encode` closure threw `cause`.
    static func encoding(_ cause: any Error, _ access: ItemAccess) -> KeychainError {
        conversion(cause, .encodingFailed, access)
    }

    /// Returns the KeychainError to throw after a `KeychainKey`'s `decode` closure threw `cause`
    /// for the stored bytes `data`.
    static func decoding(
        _ cause: any Error, _ data: Data, _ access: ItemAccess
    ) -> KeychainError {
        var error = conversion(cause, .decodingFailed, access)
        error.storedData = data
        return error
    }

    /// If `cause` is a KeychainError, it keeps its code.
    private static func conversion(
        _ cause: any Error, _ code: Code, _ access: ItemAccess
    ) -> KeychainError {
        var error =
            (cause as? KeychainError)
            ?? KeychainError(code, underlyingError: withoutValues(cause))
        error.operation = access.operation
        error.service = access.service
        error.account = access.account
        return error
    }

    /// Removes values from the errors of Swift's coders. These errors quote their input: a number
    /// out of range, the text of an unknown case, the keys of a dictionary, or the whole value.
    /// For such an error, only the case (such as `typeMismatch`) and the type or key that the
    /// decoder expected are kept. Errors of other types are returned unchanged.
    private static func withoutValues(_ error: any Error) -> any Error {
        let text = "The details could contain a secret and are omitted."
        switch error {
        case let error as DecodingError:
            let context = DecodingError.Context(codingPath: [], debugDescription: text)
            return switch error {
            case .typeMismatch(let type, _): DecodingError.typeMismatch(type, context)
            case .valueNotFound(let type, _): DecodingError.valueNotFound(type, context)
            case .keyNotFound(let key, _): DecodingError.keyNotFound(key, context)
            case .dataCorrupted: DecodingError.dataCorrupted(context)
            @unknown default: DecodingError.dataCorrupted(context)
            }
        case is EncodingError:
            return EncodingError.invalidValue(
                "", EncodingError.Context(codingPath: [], debugDescription: text))
        default:
            return error
        }
    }
}

extension KeychainError.Cause {
    /// - Returns: `nil` if the status alone describes the failure.
    init?(_ cause: KeychainFailure.Cause) {
        switch cause {
        case .damage: self = .damage
        case .permission: self = .permission
        case .contention: self = .contention
        case .interruption: self = .interruption
        case .otherMachine: self = .otherMachine
        case .authentication, .other: return nil
        }
    }
}
