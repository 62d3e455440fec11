// LAError: why a person was not authenticated, in Apple's terms and in the keychain's.
//   (1) It and an `NSError` of its domain are one value in two forms; each casts to the other.
//   (2) No text holds what a person entered.

// swift-format-ignore-file: AlwaysUseLowerCamelCase, NoLeadingUnderscores

#if !canImport(Darwin)

public import Foundation
package import KeychainCore

/// The domain of errors whose code is one of ``LAError/Code``.
public let LAErrorDomain = "com.apple.LocalAuthentication"

/// The reason why an authentication didn't succeed.
public struct LAError: Error, Sendable {
    /// Reasons, with Apple's numbers.
    public enum Code: Int, Hashable, Sendable {
        /// What was entered or shown was wrong, three times where it was entered.
        case authenticationFailed = -1
        /// The person declined.
        case userCancel = -2
        /// The person wants to enter the passcode where only biometry was asked for.
        case userFallback = -3
        /// The system took the question away, or there is no terminal any more to ask it at.
        case systemCancel = -4
        /// The keychain has no passcode that could be asked for: set one first.
        case passcodeNotSet = -5
        /// There is no biometric hardware.
        case biometryNotAvailable = -6
        /// No person is enrolled in the biometric hardware.
        case biometryNotEnrolled = -7
        /// Biometry failed too often; the passcode is needed.
        case biometryLockout = -8
        /// The context was invalidated while a question was open.
        case appCancel = -9
        /// The context was invalidated before.
        case invalidContext = -10
        /// There is no paired device.
        case companionNotAvailable = -11
        /// A person would have to be asked, and may not be or can't be: the context forbids it, or
        /// there is no terminal and no prompter.
        case notInteractive = -1004

        /// ``biometryNotAvailable`` under its older name.
        public static let touchIDNotAvailable = biometryNotAvailable
        /// ``biometryNotEnrolled`` under its older name.
        public static let touchIDNotEnrolled = biometryNotEnrolled
        /// ``biometryLockout`` under its older name.
        public static let touchIDLockout = biometryLockout
        /// ``companionNotAvailable`` under its older name.
        public static let watchNotAvailable = companionNotAvailable
    }

    /// The reason.
    public let code: Code

    private let details: NSError

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The reason.
    ///   - userInfo: What else the error says. Without a description it gets that of its code.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.code = code
        let standard: [String: Any] = [NSLocalizedDescriptionKey: code.text]
        details = NSError(
            domain: LAErrorDomain, code: code.rawValue,
            userInfo: userInfo.merging(standard) { given, _ in given })
    }

    /// The error that an `NSError` stands for, with its code and what else it says.
    ///
    /// - Parameter error: One of ``LAErrorDomain``. Any other, which ends the process at Apple, and
    ///   one of an unknown code become ``Code/systemCancel``.
    public init(_nsError error: NSError) {
        self = ._unconditionallyBridgeFromObjectiveC(error)
    }

    /// The error as an `NSError`.
    public var _nsError: NSError { details }

    /// What else the error says.
    public var userInfo: [String: Any] { details.userInfo }

    /// A sentence for people.
    public var localizedDescription: String { details.localizedDescription }
}

extension LAError.Code {
    /// Whether an error has this code: `catch LAError.userCancel`.
    public static func ~= (code: LAError.Code, error: any Error) -> Bool {
        (error as? LAError)?.code == code
    }

    /// What happened and, where there is something, what to do next.
    fileprivate var text: String {
        switch self {
        case .authenticationFailed: "What was entered is wrong."
        case .userCancel: "The person declined to authenticate."
        case .userFallback: "The person wants to use the passcode instead."
        case .systemCancel: "The question was taken away before it was answered. Try again."
        case .passcodeNotSet: "No passcode is set. Set one with `keychainctl passcode set`."
        case .biometryNotAvailable: "There is no biometric hardware."
        case .biometryNotEnrolled: "No person is enrolled in the biometric hardware."
        case .biometryLockout: "Biometry failed too often. Enter the passcode."
        case .appCancel: "The context was invalidated while the question was open."
        case .invalidContext: "The context was invalidated. Make a new one."
        case .companionNotAvailable: "There is no paired device."
        case .notInteractive:
            "A person would have to be asked, which is not allowed or not possible here."
        }
    }
}

extension LAError: Hashable {
    /// Errors are equal when their codes are.
    public static func == (one: LAError, other: LAError) -> Bool { one.code == other.code }

    /// A hash of the code.
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

// The codes under the name of the error, as existing code writes them.
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
    // Lets `error as? LAError` take an NSError of this domain and `as NSError` give one.

    /// The error as an `NSError`.
    public func _bridgeToObjectiveC() -> NSError { details }

    /// See ``_conditionallyBridgeFromObjectiveC(_:result:)``.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// Takes an error of this domain whose code is known.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError, result: inout LAError?
    ) -> Bool {
        guard source.domain == LAErrorDomain, let code = Code(rawValue: source.code) else {
            return false
        }
        result = LAError(code, userInfo: source.userInfo)
        return true
    }

    /// Takes any error; one of another domain or of an unknown code becomes `systemCancel`.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
        var result: LAError?
        if let source { _ = _conditionallyBridgeFromObjectiveC(source, result: &result) }
        return result ?? LAError(.systemCancel)
    }
}

// MARK: - The keychain's failures

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
