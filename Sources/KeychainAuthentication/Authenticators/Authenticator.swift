// Authenticator: asks the user, defines the texts of the prompts, and returns the responses.
//   (1) The user's input is stored as secret bytes and is never part of a text.
//   (2) Every prompt results in an answer, however it ends. Authenticators don't throw.

#if !canImport(Darwin)

import Foundation
package import FoundationEssentials
package import KeychainCrypto
package import KeychainCore

/// Asks the user of the device.
package protocol Authenticator: Sendable {
    /// Whether the user can be asked. This does not mean that a user is present.
    var canAsk: Bool { get }

    /// Prompts for text input, and waits for it.
    func ask(_ question: Question, until interruption: Interruption) -> Answer

    var biometry: Biometry { get }

    /// Prompts for a fingerprint or face, and waits for it.
    func recognize(_ question: Question, until interruption: Interruption) -> Recognition
}

extension Authenticator {
    // An authenticator need not support biometry, which requires hardware.
    package var biometry: Biometry { .notAvailable }

    package func recognize(_: Question, until _: Interruption) -> Recognition { .unavailable }
}

/// A prompt for the user.
package struct Question: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        /// The passcode of the keychain.
        case passcode
        /// The application password of an item that exists.
        case applicationPassword
        /// An application password for a new item.
        case newApplicationPassword
        /// The repetition of the new password, to detect typing errors.
        case newApplicationPasswordAgain
        /// A person whom the biometric hardware recognizes.
        case biometry
    }

    package var subject: Subject
    /// The program's reason for the prompt. May be empty.
    package var reason: String
    /// The problem with the previous answer, or `nil` if there is none to show.
    package var problem: Problem?
    /// The program's titles for the buttons.
    package var cancelTitle: String?
    package var fallbackTitle: String?

    package enum Problem: Hashable, Sendable {
        case wrong
        case notTheSame
    }

    package init(
        _ subject: Subject, reason: String = "", problem: Problem? = nil,
        cancelTitle: String? = nil, fallbackTitle: String? = nil
    ) {
        self.subject = subject
        self.reason = reason
        self.problem = problem
        self.cancelTitle = cancelTitle
        self.fallbackTitle = fallbackTitle
    }
}

/// The result of a prompt for text input.
package enum Answer: Sendable {
    case entered(SecretBytes)
    /// The user canceled, the terminal was closed or can't hide the input, or the prompter's time
    /// ran out.
    case cancelled
    /// The prompt was canceled by the program.
    case interrupted
    /// The user can't be asked, or the prompter failed.
    case unavailable
}

/// The state of the biometric hardware.
package enum Biometry: Hashable, Sendable {
    /// There is no biometric hardware.
    case notAvailable
    case notEnrolled(LABiometryType)
    /// `enrollment` changes whenever a fingerprint or face is added or removed.
    case ready(LABiometryType, enrollment: [UInt8])
    case lockedOut(LABiometryType, enrollment: [UInt8])

    package var type: LABiometryType {
        switch self {
        case .notAvailable: .none
        case .notEnrolled(let type), .ready(let type, _), .lockedOut(let type, _): type
        }
    }

    /// A digest of fixed size that identifies the enrollment to a keychain, or `nil` if nothing is
    /// enrolled.
    package var enrollmentDigest: Data? {
        switch self {
        case .notAvailable, .notEnrolled: nil
        case .ready(_, let enrollment), .lockedOut(_, let enrollment):
            Data(SecretBytes(copying: enrollment).sha256)
        }
    }

    /// The reason that biometry can't be used, or `nil` if it can.
    package var obstacle: LAError.Code? {
        switch self {
        case .notAvailable: .biometryNotAvailable
        case .notEnrolled: .biometryNotEnrolled
        case .lockedOut: .biometryLockout
        case .ready: nil
        }
    }
}

/// The result of a biometric prompt.
package enum Recognition: Sendable {
    /// A person was recognized. The keychain issued the grant when the biometric hardware
    /// recognized the user.
    case recognized(AuthenticationGrant)
    /// The person was not recognized.
    case failed
    /// The user chose to enter the passcode instead.
    case fallback
    case cancelled
    case interrupted
    case unavailable
}

// MARK: - Texts

extension Question {
    /// The label of the input field.
    var label: String {
        switch subject {
        case .passcode: "Passcode of the keychain"
        case .applicationPassword: "Password of the item"
        case .newApplicationPassword: "New password for the item"
        case .newApplicationPasswordAgain: "New password for the item, again"
        case .biometry: "Biometry"
        }
    }

    /// The name of the program that asks, followed by its reason if there is one.
    ///
    /// The program supplies the reason. Line separators, and control and format characters, which a
    /// terminal would interpret, are replaced by spaces. A name or reason that is too long to read
    /// is cut off.
    var introduction: String {
        let reason = Self.printable(reason)
        let program = Self.printable(ProcessInfo.processInfo.processName)
        return reason.isEmpty ? program : "\(program): \(reason)"
    }

    /// The problem with the previous answer, or an empty string if there is none.
    var complaint: String {
        switch (problem, subject) {
        case (nil, _): ""
        case (.wrong, .passcode): "The passcode is wrong."
        case (.wrong, _): "The password is wrong."
        case (.notTheSame, _): "The two passwords don't match. Enter them again."
        }
    }

    /// The maximum length of a name, reason or title that the program supplies, in characters.
    private static let longestReason = 300

    static func printable(_ text: String) -> String {
        let scalars = text.unicodeScalars.lazy.map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .format: " "
            default: scalar
            }
        }
        return String(String(String.UnicodeScalarView(scalars)).prefix(longestReason))
    }
}

#endif
