// LocalAuthentication: contexts, policies and errors.

import Foundation
import LocalAuthentication
import Security

func contextSettings() {
    _ = \LAContext.localizedReason as ReferenceWritableKeyPath<LAContext, String>
    _ = \LAContext.localizedCancelTitle as ReferenceWritableKeyPath<LAContext, String?>
    _ = \LAContext.localizedFallbackTitle as ReferenceWritableKeyPath<LAContext, String?>
    _ = \LAContext.interactionNotAllowed as ReferenceWritableKeyPath<LAContext, Bool>
    _ =
        \LAContext.touchIDAuthenticationAllowableReuseDuration
        as ReferenceWritableKeyPath<LAContext, TimeInterval>
    _ = \LAContext.biometryType as KeyPath<LAContext, LABiometryType>
    _ = \LAContext.evaluatedPolicyDomainState as KeyPath<LAContext, Data?>
}

func contextMethods(_ context: LAContext, _ accessControl: SecAccessControl) {
    _ = context.canEvaluatePolicy as (LAPolicy, NSErrorPointer) -> Bool
    _ =
        context.evaluatePolicy
        as (LAPolicy, String, @escaping @Sendable (Bool, (any Error)?) -> Void) -> Void
    _ = context.evaluatePolicy as (LAPolicy, String) async throws -> Bool
    _ =
        context.evaluateAccessControl
        as (
            SecAccessControl, LAAccessControlOperation, String,
            @escaping @Sendable (Bool, (any Error)?) -> Void
        ) -> Void
    _ =
        context.evaluateAccessControl
        as (SecAccessControl, LAAccessControlOperation, String) async throws -> Bool
    _ = context.setCredential as (Data?, LACredentialType) -> Bool
    _ = context.isCredentialSet as (LACredentialType) -> Bool
    _ = context.invalidate as () -> Void
}

func contextTypes() {
    _ =
        [.deviceOwnerAuthenticationWithBiometrics, .deviceOwnerAuthentication]
        as [LAPolicy]
    _ = [.applicationPassword] as [LACredentialType]
    _ =
        [.createItem, .useItem, .createKey, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange]
        as [LAAccessControlOperation]
    _ = [.none, .touchID, .faceID] as [LABiometryType]
    _ =
        [
            .authenticationFailed, .userCancel, .userFallback, .systemCancel, .passcodeNotSet,
            .biometryNotAvailable, .biometryNotEnrolled, .biometryLockout, .appCancel,
            .invalidContext, .notInteractive,
        ] as [LAError.Code]
    _ = LAErrorDomain as String
}

/// The way in which existing code distinguishes errors.
func isCancellation(_ error: any Error) -> Bool {
    if let error = error as? LAError, error.code == .userCancel { return true }
    do {
        throw error
    } catch LAError.userCancel {
        return true
    } catch {
        return (error as NSError).domain == LAErrorDomain
            && (error as NSError).code == LAError.Code.appCancel.rawValue
    }
}
