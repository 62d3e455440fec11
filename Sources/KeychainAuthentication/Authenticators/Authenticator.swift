// Authenticator: who asks the person at the device, what that person reads, and what can come back.
//   (1) What a person enters is secret bytes and never part of a text.
//   (2) An answer comes, however the question ends; no authenticator throws.

#if !canImport(Darwin)

import Foundation
package import FoundationEssentials
package import KeychainCrypto
package import KeychainCore

/// Asks the person at the device.
package protocol Authenticator: Sendable {
    /// Whether there is a way to ask a person. It doesn't say that a person is there.
    var canAsk: Bool { get }

    /// Asks for something that is typed, and waits for it.
    func ask(_ question: Question, until interruption: Interruption) -> Answer

    var biometry: Biometry { get }

    /// Asks for a finger or a face, and waits for it.
    func recognize(_ question: Question, until interruption: Interruption) -> Recognition
}

extension Authenticator {
    // Typing needs no hardware, biometry does.
    package var biometry: Biometry { .notAvailable }

    package func recognize(_: Question, until _: Interruption) -> Recognition { .unavailable }
}

/// What a person is asked.
package struct Question: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        /// The passcode of the keychain.
        case passcode
        /// The application password of an item that exists.
        case applicationPassword
        /// An application password for an item to be.
        case newApplicationPassword
        /// The same once more, against mistyping.
        case newApplicationPasswordAgain
        /// A person whom the biometric hardware knows.
        case biometry
    }

    package var subject: Subject
    /// Why it is asked, as the program says it. May be empty.
    package var reason: String
    /// What was wrong with the answer before.
    package var problem: Problem?
    /// Words of the program's own for the buttons.
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

/// What came back.
package enum Answer: Sendable {
    case entered(SecretBytes)
    /// The person declined.
    case cancelled
    /// The question was taken back.
    case interrupted
    /// No person can be asked.
    case unavailable
}

/// The state of the biometric hardware.
package enum Biometry: Hashable, Sendable {
    /// There is none.
    case notAvailable
    case notEnrolled(LABiometryType)
    /// `enrollment` changes whenever a finger or face is added or removed.
    case ready(LABiometryType, enrollment: [UInt8])
    case lockedOut(LABiometryType, enrollment: [UInt8])

    package var type: LABiometryType {
        switch self {
        case .notAvailable: .none
        case .notEnrolled(let type), .ready(let type, _), .lockedOut(let type, _): type
        }
    }

    /// What identifies the enrolled set for a keychain, of a fixed size; nil: nothing is enrolled.
    package var enrollmentDigest: Data? {
        switch self {
        case .notAvailable, .notEnrolled: nil
        case .ready(_, let enrollment), .lockedOut(_, let enrollment):
            Data(SecretBytes(copying: enrollment).sha256)
        }
    }

    /// Why it can't be used; nil: it can.
    package var obstacle: LAError.Code? {
        switch self {
        case .notAvailable: .biometryNotAvailable
        case .notEnrolled: .biometryNotEnrolled
        case .lockedOut: .biometryLockout
        case .ready: nil
        }
    }
}

/// What the biometric hardware answers.
package enum Recognition: Sendable {
    /// A person was recognized, for which the keychain gave its word to the hardware.
    case recognized(AuthenticationGrant)
    /// No person whom it knows.
    case failed
    /// The person wants to enter the passcode instead.
    case fallback
    case cancelled
    case interrupted
    case unavailable
}

// MARK: - Texts

extension Question {
    /// What is asked for, in the words of a label.
    var label: String {
        switch subject {
        case .passcode: "Passcode of the keychain"
        case .applicationPassword: "Password of the item"
        case .newApplicationPassword: "New password for the item"
        case .newApplicationPasswordAgain: "New password for the item, again"
        case .biometry: "Biometry"
        }
    }

    /// Which program asks, and why if it says so.
    ///
    /// The reason is the program's text: characters that a terminal would act on are left out, and
    /// so is all beyond a length that a person would read.
    var introduction: String {
        let reason = Self.printable(reason)
        let program = Self.printable(ProcessInfo.processInfo.processName)
        return reason.isEmpty ? program : "\(program): \(reason)"
    }

    /// What was wrong with the answer before. Empty: nothing.
    var complaint: String {
        switch (problem, subject) {
        case (nil, _): ""
        case (.wrong, .passcode): "The passcode is wrong."
        case (.wrong, _): "The password is wrong."
        case (.notTheSame, _): "The two are not the same. Once more."
        }
    }

    /// The longest reason that is shown, in characters.
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
