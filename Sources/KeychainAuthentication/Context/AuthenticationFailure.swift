// AuthenticationFailure: why a context couldn't answer for a person.

#if !canImport(Darwin)

import Foundation
package import KeychainCore

/// An authentication that didn't succeed.
package enum AuthenticationFailure: Error, Hashable, Sendable {
    /// The person, the device or the context stands against it.
    case refused(LAError.Code)
    /// The keychain can't be used.
    case keychain(KeychainFailure)

    /// The failure in the terms of a context's own functions.
    package var localError: LAError {
        switch self {
        case .refused(let code): LAError(code)
        case .keychain(let failure):
            LAError(
                .authenticationFailed,
                userInfo: [
                    NSLocalizedDescriptionKey: failure.reason,
                    NSUnderlyingErrorKey: NSError(
                        domain: "NSOSStatusErrorDomain", code: Int(failure.status.rawValue)),
                ])
        }
    }

    /// The failure in the terms of the calls to a keychain.
    ///
    /// Apple answers with `errSecAuthFailed` to what isn't listed here. A departure from it:
    /// hardware that isn't there is `errSecNotAvailable`, since trying again is of no use.
    package var keychainFailure: KeychainFailure {
        switch self {
        case .keychain(let failure): failure
        case .refused(let code):
            KeychainFailure(Self.status(of: code), LAError(code).localizedDescription)
        }
    }

    private static func status(of code: LAError.Code) -> Status {
        switch code {
        case .userCancel: .userCanceled
        case .notInteractive: .interactionNotAllowed
        case .biometryNotAvailable, .biometryNotEnrolled, .companionNotAvailable: .notAvailable
        case .authenticationFailed, .userFallback, .systemCancel, .passcodeNotSet,
            .biometryLockout, .appCancel, .invalidContext:
            .authFailed
        }
    }
}

#endif
