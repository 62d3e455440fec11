// LAContext+AccessControl: evaluating an access control, apart from any item.
//
// It stands here and not with the class because access controls are this module's: files that name
// both import both modules, as on Apple's systems.

#if !canImport(Darwin)

public import KeychainAuthentication
internal import KeychainCore

extension LAContext {
    /// Gets what an access control asks for, so that later calls with this context need not ask.
    ///
    /// To use an item or key, a person proves to be present as the access control says, and an
    /// application password is asked for that the context wasn't given; whether it is the right one
    /// shows with the item. To create one, no person has to be present: an application password is
    /// asked for, twice, and the passcode must exist that would be asked for later.
    ///
    /// - Parameters:
    ///   - accessControl: The access control.
    ///   - operation: What is about to be done.
    ///   - localizedReason: Why, for the person. Empty: only the program's name is told.
    ///   - reply: Called once, on any thread, with true, or with false and an `LAError`.
    ///
    /// It corresponds to the method of the same name.
    @preconcurrency
    public func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation,
        localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        let requirement = AccessRequirement(
            AccessConstraints(rawValue: UInt64(accessControl.flags.rawValue)))
        inBackground(reply) { context throws(AuthenticationFailure) in
            switch operation {
            case .createItem, .createKey:
                try context.evaluateCreation(requirement, reason: localizedReason)
            case .useItem, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange:
                try context.evaluate(requirement, reason: localizedReason)
            }
        }
    }

    /// Gets what an access control asks for; see
    /// ``evaluateAccessControl(_:operation:localizedReason:reply:)``.
    ///
    /// - Parameters:
    ///   - accessControl: The access control.
    ///   - operation: What is about to be done.
    ///   - localizedReason: Why, for the person.
    /// - Returns: True.
    /// - Throws: `LAError`.
    @discardableResult
    public func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation,
        localizedReason: String
    ) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            evaluateAccessControl(
                accessControl, operation: operation, localizedReason: localizedReason
            ) { isSuccess, error in
                if let error {
                    continuation.resume(throwing: error)
                } else {
                    continuation.resume(returning: isSuccess)
                }
            }
        }
    }
}

#endif
