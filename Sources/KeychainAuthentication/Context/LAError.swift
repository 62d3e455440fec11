// LAError: the reason that an authentication failed, with Apple's codes. AuthenticationFailure: the
// same reason, or a failure of the keychain.
//   (1) An LAError and an `NSError` of its domain with a known code are two forms of the same
//       value. Each can be cast to the other.
//   (2) No text contains the user's input.

// swift-format-ignore-file: AlwaysUseLowerCamelCase, NoLeadingUnderscores

#if !canImport(Darwin)

public import Foundation
package import KeychainCore

/// The domain of errors with the codes of ``LAError/Code``.
public let LAErrorDomain = "com.apple.LocalAuthentication"

/// An error that explains why an authentication failed.
public struct LAError: Error, Sendable {
    /// Error codes, with Apple's numbers.
    public enum Code: Int, Hashable, Sendable {
        /// The input was wrong three times, the two inputs of a new password differed three times,
        /// no application password was provided and the user can't be asked for one, the password
        /// that the program provided is wrong, the person was not recognized, or the keychain can't
        /// be used.
        case authenticationFailed = -1
        /// The user canceled, the prompter's time ran out, the terminal was closed during the
        /// prompt, or the terminal can't hide the input.
        case userCancel = -2
        /// The user chose to enter the passcode, but it is not sufficient or not set.
        case userFallback = -3
        /// On Apple platforms: the system canceled the prompt. Here, no authentication fails with
        /// this code. It results only from converting an `NSError` that has this code, an unknown
        /// code or another domain.
        case systemCancel = -4
        /// The keychain has no passcode. Set one first.
        case passcodeNotSet = -5
        /// Biometric hardware is not available.
        case biometryNotAvailable = -6
        /// No fingerprint or face is enrolled.
        case biometryNotEnrolled = -7
        /// Biometry failed too often and is locked. The passcode is required.
        case biometryLockout = -8
        /// The context was invalidated while a prompt was open.
        case appCancel = -9
        /// The context had already been invalidated.
        case invalidContext = -10
        /// No paired device is available.
        case companionNotAvailable = -11
        /// User interaction is required, but the context or the call forbids it, there is neither a
        /// terminal nor a prompter that can be used, or the prompter failed. If only an application
        /// password is missing, the lack of a terminal and a prompter results in
        /// ``authenticationFailed`` instead.
        case notInteractive = -1004

        /// The older name of ``biometryNotAvailable``.
        public static let touchIDNotAvailable = biometryNotAvailable
        /// The older name of ``biometryNotEnrolled``.
        public static let touchIDNotEnrolled = biometryNotEnrolled
        /// The older name of ``biometryLockout``.
        public static let touchIDLockout = biometryLockout
        /// The older name of ``companionNotAvailable``.
        public static let watchNotAvailable = companionNotAvailable
    }

    /// The error code.
    public let code: Code

    private let details: NSError

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The error code.
    ///   - userInfo: Additional information. If it contains no description, the description of the
    ///     code is added.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.code = code
        let standard: [String: Any] = [NSLocalizedDescriptionKey: code.text]
        details = NSError(
            domain: LAErrorDomain, code: code.rawValue,
            userInfo: userInfo.merging(standard) { given, _ in given })
    }

    /// Creates an error from an `NSError`, with its code and user information.
    ///
    /// - Parameter error: An error of ``LAErrorDomain``. For an error of another domain or with an
    ///   unknown code, the result has the code ``Code/systemCancel``, the description of `error`,
    ///   and `error` as its underlying error. Apple's initializer stores any error unchanged.
    public init(_nsError error: NSError) {
        self = ._unconditionallyBridgeFromObjectiveC(error)
    }

    /// The error as an `NSError`.
    public var _nsError: NSError { details }

    /// The additional information.
    public var userInfo: [String: Any] { details.userInfo }

    /// A description for users.
    public var localizedDescription: String { details.localizedDescription }
}

extension LAError.Code {
    /// Whether an error has this code, for patterns such as `catch LAError.userCancel`.
    public static func ~= (code: LAError.Code, error: any Error) -> Bool {
        (error as? LAError)?.code == code
    }

    /// What happened and, if applicable, what to do next.
    fileprivate var text: String {
        switch self {
        case .authenticationFailed:
            "The authentication failed: the input is wrong or missing, or the person was not "
                + "recognized."
        case .userCancel: "The user canceled the authentication."
        case .userFallback: "The user wants to enter the passcode instead."
        case .systemCancel: "The system canceled the prompt before it was answered. Try again."
        case .passcodeNotSet: "No passcode is set. Set one with `keychainctl passcode set`."
        case .biometryNotAvailable: "There is no biometric hardware."
        case .biometryNotEnrolled: "No fingerprint or face is enrolled."
        case .biometryLockout: "Biometry failed too often. Enter the passcode."
        case .appCancel: "The context was invalidated while a prompt was open."
        case .invalidContext: "The context was invalidated. Create a new one."
        case .companionNotAvailable: "There is no paired device."
        case .notInteractive:
            "The user must be asked, but that is not allowed or not possible here."
        }
    }
}

extension LAError: Hashable {
    /// Errors are equal if their codes are equal.
    public static func == (one: LAError, other: LAError) -> Bool { one.code == other.code }

    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension LAError: CustomNSError {
    /// ``LAErrorDomain``.
    public static var errorDomain: String { LAErrorDomain }
    /// The number of the code.
    public var errorCode: Int { code.rawValue }
    /// ``userInfo``.
    public var errorUserInfo: [String: Any] { userInfo }
}

extension LAError: CustomStringConvertible {
    /// The description and the number.
    public var description: String { "\(localizedDescription) (\(code.rawValue))" }
}

// Existing code refers to the codes as members of the error, such as `LAError.userCancel`.
extension LAError {
    /// ``Code/authenticationFailed``.
    public static var authenticationFailed: Code { .authenticationFailed }
    /// ``Code/userCancel``.
    public static var userCancel: Code { .userCancel }
    /// ``Code/userFallback``.
    public static var userFallback: Code { .userFallback }
    /// ``Code/systemCancel``.
    public static var systemCancel: Code { .systemCancel }
    /// ``Code/passcodeNotSet``.
    public static var passcodeNotSet: Code { .passcodeNotSet }
    /// ``Code/biometryNotAvailable``.
    public static var biometryNotAvailable: Code { .biometryNotAvailable }
    /// ``Code/biometryNotEnrolled``.
    public static var biometryNotEnrolled: Code { .biometryNotEnrolled }
    /// ``Code/biometryLockout``.
    public static var biometryLockout: Code { .biometryLockout }
    /// ``Code/biometryNotAvailable``.
    public static var touchIDNotAvailable: Code { .biometryNotAvailable }
    /// ``Code/biometryNotEnrolled``.
    public static var touchIDNotEnrolled: Code { .biometryNotEnrolled }
    /// ``Code/biometryLockout``.
    public static var touchIDLockout: Code { .biometryLockout }
    /// ``Code/appCancel``.
    public static var appCancel: Code { .appCancel }
    /// ``Code/invalidContext``.
    public static var invalidContext: Code { .invalidContext }
    /// ``Code/companionNotAvailable``.
    public static var companionNotAvailable: Code { .companionNotAvailable }
    /// ``Code/companionNotAvailable``.
    public static var watchNotAvailable: Code { .companionNotAvailable }
    /// ``Code/notInteractive``.
    public static var notInteractive: Code { .notInteractive }
}

extension LAError: _ObjectiveCBridgeable {
    // Bridges to NSError: `error as? LAError` accepts an NSError of this domain with a known code,
    // and `as NSError` returns one.

    /// The error as an `NSError`.
    public func _bridgeToObjectiveC() -> NSError { details }

    /// See ``_conditionallyBridgeFromObjectiveC(_:result:)``.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// Accepts an error of this domain with a known code.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError, result: inout LAError?
    ) -> Bool {
        guard source.domain == LAErrorDomain, let code = Code(rawValue: source.code) else {
            return false
        }
        result = LAError(code, userInfo: source.userInfo)
        return true
    }

    /// Accepts any error. An error of another domain or with an unknown code becomes
    /// `systemCancel`. The result has the description of `source`, because that of `systemCancel`,
    /// which says that the system canceled a prompt, would be wrong.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
        guard let source else { return LAError(.systemCancel) }
        var result: LAError?
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
        return result
            ?? LAError(
                .systemCancel,
                userInfo: [
                    NSLocalizedDescriptionKey: source.localizedDescription,
                    NSUnderlyingErrorKey: source,
                ])
    }
}

// MARK: - Failures of the keychain

/// The failure of an authentication.
package enum AuthenticationFailure: Error, Hashable, Sendable {
    /// The authentication failed or was not possible. The code says why.
    case refused(LAError.Code)
    /// The keychain can't be used.
    case keychain(KeychainFailure)

    /// The error that the methods of a context report for the failure.
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

    /// The failure as a failure of a call to the keychain.
    ///
    /// Like Apple's functions, this returns `errSecAuthFailed` for codes that have no status of
    /// their own. Unlike Apple's functions, it returns `errSecNotAvailable` for missing hardware
    /// and for a missing biometric enrollment, because a retry can't succeed.
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
