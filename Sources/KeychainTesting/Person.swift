// Person: the simulated user of a test keychain, and how the user responds to prompts.
//   (1) No prompt for an item of a test keychain ever appears on a real terminal.

#if !canImport(Darwin)

import Foundation
public import KeychainAuthentication
import KeychainCore
import KeychainCrypto
import KeychainEngine
import Synchronization

extension TestKeychain {
    /// A simulated user, who is asked for the passcode, an application password or a fingerprint.
    public struct Person: Hashable, Sendable {
        /// The responses to prompts for the passcode, in order. The last one is repeated for
        /// further prompts. If empty, the user cancels.
        public var passcodes: [Entry]

        /// The response to a prompt for the application password of an item, or `nil` if the user
        /// cancels.
        public var applicationPassword: String?

        /// The response to a prompt for a fingerprint or face.
        public var touch: Touch

        /// Creates a simulated user.
        ///
        /// - Parameters:
        ///   - passcodes: The responses to prompts for the passcode; see ``passcodes``.
        ///   - applicationPassword: The response to a prompt for an application password, or `nil`
        ///     if the user cancels.
        ///   - touch: The response to a prompt for a fingerprint or face.
        public init(
            passcodes: [Entry] = [.right], applicationPassword: String? = nil,
            touch: Touch = .recognized
        ) {
            self.passcodes = passcodes
            self.applicationPassword = applicationPassword
            self.touch = touch
        }

        /// A user who enters the correct passcode and is recognized, but cancels prompts for an
        /// application password.
        public static let owner = Person()

        /// A user who always enters a wrong passcode, is not recognized, and cancels prompts for an
        /// application password.
        public static let stranger = Person(passcodes: [.wrong], touch: .notRecognized)

        /// A user who cancels every prompt.
        public static let declining = Person(passcodes: [], touch: .declines)
    }

    /// A response to a prompt for the passcode.
    public struct Entry: Hashable, Sendable, ExpressibleByStringLiteral {
        enum Kind: Hashable, Sendable {
            case right
            case text(String)
        }

        let kind: Kind

        /// The passcode of the keychain.
        public static let right = Entry(kind: .right)

        /// A text that is not the passcode.
        public static let wrong = Entry(kind: .text("\u{0}not the passcode"))

        /// A given text.
        ///
        /// - Parameter text: The text, which may be empty.
        /// - Returns: The response.
        public static func text(_ text: String) -> Entry { Entry(kind: .text(text)) }

        /// A given text.
        public init(stringLiteral text: String) { kind = .text(text) }

        private init(kind: Kind) { self.kind = kind }
    }

    /// A response to a prompt for a fingerprint or face.
    public struct Touch: Hashable, Sendable {
        private let number: Int

        /// The user is recognized.
        public static let recognized = Touch(number: 0)
        /// The user is not recognized.
        public static let notRecognized = Touch(number: 1)
        /// The user cancels.
        public static let declines = Touch(number: 2)
        /// The user chooses to enter the passcode.
        public static let prefersPasscode = Touch(number: 3)
    }

    /// Simulated biometric hardware with an enrollment.
    public struct Biometry: Hashable, Sendable {
        /// The type of the hardware.
        public var type: LABiometryType

        /// A name for the current enrollment, or `nil` if nothing is enrolled.
        ///
        /// Change the name to simulate that a fingerprint or face was added or removed. Existing
        /// items that require `biometryCurrentSet` can then no longer be opened.
        public var enrollment: String?

        /// Whether biometry failed too often and requires the passcode.
        public var isLockedOut: Bool

        /// Creates a description of the hardware.
        ///
        /// - Parameters:
        ///   - type: The type, other than `none`, which stands for no hardware.
        ///   - enrollment: A name for the enrollment, or `nil` if nothing is enrolled.
        ///   - isLockedOut: Whether biometry failed too often and requires the passcode.
        public init(
            type: LABiometryType = .touchID, enrollment: String? = "enrolled",
            isLockedOut: Bool = false
        ) {
            self.type = type
            self.enrollment = enrollment
            self.isLockedOut = isLockedOut
        }
    }

    /// A prompt that was shown to the simulated user.
    public struct AskedQuestion: Hashable, Sendable {
        /// The subject of a prompt.
        public struct Subject: Hashable, Sendable {
            private let number: Int

            /// The passcode of the keychain.
            public static let passcode = Subject(number: 0)
            /// The application password of an item.
            public static let applicationPassword = Subject(number: 1)
            /// An application password for a new item. The user is asked for it twice.
            public static let newApplicationPassword = Subject(number: 2)
            /// A fingerprint or face.
            public static let biometry = Subject(number: 3)
        }

        /// The subject of the prompt.
        public let subject: Subject
        /// The reason that the program specified. May be empty.
        public let reason: String
    }
}

// MARK: - The user of a keychain

extension TestKeychain {
    /// The simulated user, who is asked when opening an item requires authentication. If `nil`,
    /// which is the default, the user can't be asked, as in a program without a terminal. Opening
    /// such an item then fails with `errSecInteractionNotAllowed` if a prompt for the passcode, a
    /// fingerprint or a face is needed, and with `errSecAuthFailed` if only a prompt for an
    /// application password is needed.
    ///
    /// Operations on ``database`` and ``secItemDatabase`` prompt this user. Within
    /// ``withSecItem(_:)``, so do the SecItem functions and `LAContext`.
    public var person: Person? {
        get { attendance.person.withLock { $0.person } }
        set {
            attendance.person.withLock {
                $0.person = newValue
                $0.passcodeCount = 0
            }
        }
    }

    /// The simulated biometric hardware. If `nil`, which is the default, there is none, as in all
    /// programs that use this package on Linux.
    ///
    /// An item that requires `biometryCurrentSet` can be opened while ``Biometry/enrollment`` is
    /// the same as when the item was created. With a different enrollment, opening it fails with
    /// `errSecDataNotAvailable` for a user who is recognized, unless another condition opens it.
    public var biometry: Biometry? {
        get { attendance.person.withLock { $0.biometry } }
        set { attendance.person.withLock { $0.biometry = newValue } }
    }

    /// The prompts that were shown so far, in order.
    public var askedQuestions: [AskedQuestion] {
        attendance.person.withLock { $0.questions }
    }

    /// The passcode that this object set last, or an empty string if there is none. It is wrong if
    /// the passcode was changed through `database`.
    fileprivate var enteredPasscode: String { state.withLock { $0.passcode } ?? "" }

    var authenticationEnvironment: AuthenticationEnvironment {
        AuthenticationEnvironment(
            TestAuthenticator(keychain: self), recentProofs: attendance.recentProofs
        ) {
            .seconds((self.now ?? Date()).timeIntervalSinceReferenceDate)
        }
    }
}

/// The simulated user, and the user's recent proofs of presence.
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

/// The authenticator of a test keychain, which returns the responses of the simulated user.
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
