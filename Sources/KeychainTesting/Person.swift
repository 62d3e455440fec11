// Person: who sits in front of a test keychain, and what they do when they are asked.
//   (1) No question for an item of a test keychain ever goes to a real terminal.

#if !canImport(Darwin)

import Foundation
public import KeychainAuthentication
import KeychainCore
import KeychainCrypto
import KeychainEngine
import Synchronization

extension TestKeychain {
    /// A person who is asked for the passcode, for an application password, or for a finger.
    public struct Person: Hashable, Sendable {
        /// What they enter when asked for the passcode: one after the other, then the last again
        /// and again. Empty: they decline.
        public var passcodes: [Entry]

        /// What they enter when asked for the application password of an item. nil: they decline.
        public var applicationPassword: String?

        /// What happens when they are asked for a finger or face.
        public var touch: Touch

        /// Makes a person.
        ///
        /// - Parameters:
        ///   - passcodes: What they enter when asked for the passcode; see ``passcodes``.
        ///   - applicationPassword: What they enter when asked for that. nil: they decline.
        ///   - touch: What happens when they are asked for a finger or face.
        public init(
            passcodes: [Entry] = [.right], applicationPassword: String? = nil,
            touch: Touch = .recognized
        ) {
            self.passcodes = passcodes
            self.applicationPassword = applicationPassword
            self.touch = touch
        }

        /// Knows the passcode and is recognized, and declines to enter an application password.
        public static let owner = Person()

        /// Enters a wrong passcode whenever asked, and isn't recognized.
        public static let stranger = Person(passcodes: [.wrong], touch: .notRecognized)

        /// Declines everything.
        public static let declining = Person(passcodes: [], touch: .declines)
    }

    /// What a person enters for a passcode.
    public struct Entry: Hashable, Sendable, ExpressibleByStringLiteral {
        enum Kind: Hashable, Sendable {
            case right
            case text(String)
        }

        let kind: Kind

        /// The passcode of the keychain.
        public static let right = Entry(kind: .right)

        /// Something that is not the passcode.
        public static let wrong = Entry(kind: .text("\u{0}not the passcode"))

        /// Some text.
        ///
        /// - Parameter text: The text, 0 bytes and up.
        /// - Returns: The entry.
        public static func text(_ text: String) -> Entry { Entry(kind: .text(text)) }

        /// Some text.
        public init(stringLiteral text: String) { kind = .text(text) }

        private init(kind: Kind) { self.kind = kind }
    }

    /// What happens when a person is asked for a finger or face.
    public struct Touch: Hashable, Sendable {
        private let number: Int

        /// They are recognized.
        public static let recognized = Touch(number: 0)
        /// The hardware doesn't know them.
        public static let notRecognized = Touch(number: 1)
        /// They decline.
        public static let declines = Touch(number: 2)
        /// They would rather enter the passcode.
        public static let prefersPasscode = Touch(number: 3)
    }

    /// Biometric hardware, with what is enrolled.
    public struct Biometry: Hashable, Sendable {
        /// The kind of the hardware.
        public var type: LABiometryType

        /// A name for what is enrolled now. Change it as if a finger was added or removed: that
        /// shuts the items that ask for `biometryCurrentSet`.
        /// nil: nothing is.
        public var enrollment: String?

        /// Whether it failed too often and waits for the passcode.
        public var isLockedOut: Bool

        /// Describes hardware.
        ///
        /// - Parameters:
        ///   - type: The kind; anything but `none`, which stands for no hardware.
        ///   - enrollment: A name for what is enrolled. nil: nothing is.
        ///   - isLockedOut: Whether it failed too often.
        public init(
            type: LABiometryType = .touchID, enrollment: String? = "enrolled",
            isLockedOut: Bool = false
        ) {
            self.type = type
            self.enrollment = enrollment
            self.isLockedOut = isLockedOut
        }
    }

    /// Something that a person was asked.
    public struct AskedQuestion: Hashable, Sendable {
        /// What was asked for.
        public struct Subject: Hashable, Sendable {
            private let number: Int

            /// The passcode of the keychain.
            public static let passcode = Subject(number: 0)
            /// The application password of an item.
            public static let applicationPassword = Subject(number: 1)
            /// An application password for an item to be. It is asked for twice.
            public static let newApplicationPassword = Subject(number: 2)
            /// A finger or face.
            public static let biometry = Subject(number: 3)
        }

        /// What was asked for.
        public let subject: Subject
        /// The reason that was told, as the program gave it. May be empty.
        public let reason: String
    }
}

// MARK: - In front of a keychain

extension TestKeychain {
    /// Who is asked when an item under access constraints is opened. nil, as at first: no person is
    /// there, as for a program without a terminal; such an item then gives
    /// `errSecInteractionNotAllowed`.
    ///
    /// It holds for ``database`` and ``secItemDatabase``, and within ``withSecItem(_:)`` for the SecItem
    /// functions and for `LAContext`.
    public var person: Person? {
        get { attendance.person.withLock { $0.person } }
        set {
            attendance.person.withLock {
                $0.person = newValue
                $0.passcodeCount = 0
            }
        }
    }

    /// The biometric hardware. nil, as at first: there is none, as on every system that this
    /// package runs on.
    ///
    /// An item that asks for `biometryCurrentSet` opens while ``Biometry/enrollment`` is what it was
    /// when the item was made, and gives `errSecDataNotAvailable` under another.
    public var biometry: Biometry? {
        get { attendance.person.withLock { $0.biometry } }
        set { attendance.person.withLock { $0.biometry = newValue } }
    }

    /// What was asked so far, in that order.
    public var askedQuestions: [AskedQuestion] {
        attendance.person.withLock { $0.questions }
    }

    /// The passcode, where one is set that this object knows.
    fileprivate var enteredPasscode: String { state.withLock { $0.passcode } ?? "" }

    var authenticationEnvironment: AuthenticationEnvironment {
        AuthenticationEnvironment(
            TestAuthenticator(keychain: self), recentProofs: attendance.recentProofs
        ) {
            .seconds((self.now ?? Date()).timeIntervalSinceReferenceDate)
        }
    }
}

/// The person, and what they proved lately.
final class Attendance: Sendable {
    struct State {
        var person: TestKeychain.Person?
        var biometry: TestKeychain.Biometry?
        var passcodeCount = 0
        var questions: [TestKeychain.AskedQuestion] = []
    }

    let person = Mutex(State())
    let recentProofs = RecentProofs()
}

/// Asks the person of a test keychain.
private struct TestAuthenticator: Authenticator {
    let keychain: TestKeychain

    var canAsk: Bool { keychain.person != nil }

    func ask(_ question: Question, until interruption: Interruption) -> Answer {
        let entered: Entered = keychain.attendance.person.withLock { state in
            guard let person = state.person else { return .unavailable }
            state.questions.append(TestKeychain.AskedQuestion(question))
            switch question.subject {
            case .passcode:
                guard let last = person.passcodes.indices.last else { return .nothing }
                defer { state.passcodeCount += 1 }
                return .passcode(person.passcodes[min(state.passcodeCount, last)])
            case .applicationPassword, .newApplicationPassword, .newApplicationPasswordAgain:
                return person.applicationPassword.map { .passcode(.text($0)) } ?? .nothing
            case .biometry: return .unavailable
            }
        }
        switch entered {
        case .unavailable: return .unavailable
        case .nothing: return .cancelled
        case .passcode(let entry):
            let text =
                switch entry.kind {
                case .right: keychain.enteredPasscode
                case .text(let text): text
                }
            return .entered(SecretBytes(copying: Array(text.utf8)))
        }
    }

    private enum Entered {
        case unavailable
        case nothing
        case passcode(TestKeychain.Entry)
    }

    var biometry: KeychainAuthentication.Biometry {
        guard let biometry = keychain.biometry, biometry.type != .none else {
            return .notAvailable
        }
        guard let enrollment = biometry.enrollment else { return .notEnrolled(biometry.type) }
        let bytes = Array(enrollment.utf8)
        return biometry.isLockedOut
            ? .lockedOut(biometry.type, enrollment: bytes)
            : .ready(biometry.type, enrollment: bytes)
    }

    func recognize(_ question: Question, until interruption: Interruption) -> Recognition {
        let touch = keychain.attendance.person.withLock { state in
            if state.person != nil {
                state.questions.append(TestKeychain.AskedQuestion(question))
            }
            return state.person?.touch
        }
        switch touch {
        case nil: return .unavailable
        case .declines: return .cancelled
        case .prefersPasscode: return .fallback
        case .recognized:
            guard let engine = try? keychain.engine else { return .unavailable }
            return .recognized(engine.grantForRecognition())
        default: return .failed
        }
    }
}

extension TestKeychain.AskedQuestion {
    fileprivate init(_ question: Question) {
        reason = question.reason
        subject =
            switch question.subject {
            case .passcode: .passcode
            case .applicationPassword: .applicationPassword
            case .newApplicationPassword, .newApplicationPasswordAgain: .newApplicationPassword
            case .biometry: .biometry
            }
    }
}

#endif
