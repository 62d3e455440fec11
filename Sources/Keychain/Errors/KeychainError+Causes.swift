// The border between causes and codes: what a KeychainError is made of.

import Foundation
import KeychainCore

extension KeychainError {
    /// What a backend reported. Its status becomes the code, whatever it is.
    init(
        _ failure: BackendFailure, _ operation: Operation, _ service: String, _ account: String?
    ) {
        self.init(
            Code(rawValue: failure.status), operation: operation, service: service,
            account: account)
        detail = failure.reason
        reportedCause = failure.cause.flatMap { Cause($0) }
    }

    /// What a key's `encode` threw.
    static func encoding(_ cause: any Error, _ selector: ItemSelector, _ operation: Operation)
        -> KeychainError
    {
        conversion(cause, .encodingFailed, selector, operation)
    }

    /// What a key's `decode` threw for stored bytes.
    static func decoding(
        _ cause: any Error, _ data: Data, _ selector: ItemSelector, _ operation: Operation
    ) -> KeychainError {
        var error = conversion(cause, .decodingFailed, selector, operation)
        error.storedData = data
        return error
    }

    private static func conversion(
        _ cause: any Error, _ code: Code, _ selector: ItemSelector, _ operation: Operation
    ) -> KeychainError {
        var error =
            (cause as? KeychainError)
            ?? KeychainError(code, underlyingError: withoutValues(cause))
        error.operation = operation
        error.service = selector.namespace.service
        error.account = selector.account
        return error
    }

    /// The errors of Swift's coders quote what they were given: a number that doesn't fit, the
    /// text of an unknown case, the keys of a dictionary, or the whole value. Here they keep
    /// their case and type alone. Errors of other code stay as they are.
    private static func withoutValues(_ error: any Error) -> any Error {
        let text = "The details could hold a secret and are left out."
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
    /// - Returns: nil where the status says it all.
    init?(_ cause: KeychainFailure.Cause) {
        switch cause {
        case .damage: self = .damage
        case .permission: self = .permission
        case .contention: self = .contention
        case .interruption: self = .interruption
        case .authentication, .other: return nil
        }
    }
}
