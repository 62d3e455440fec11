// The person in front of a test keychain.
//   (1) No question for an item of a test keychain ever goes to a real terminal.

#if !canImport(Darwin)

import Foundation
import KeychainAuthentication
import KeychainCrypto
import KeychainEngine
import KeychainCore
import Synchronization

extension TestKeychain {
    /// Who is asked when an item under access constraints is opened. nil, as at first: no person is
    /// there, as for a program without a terminal; such an item then gives
    /// `errSecInteractionNotAllowed`.
    ///
    /// It holds for the SecItem functions and for `LAContext` within ``withSecItem(_:)``, and for
    /// ``secItemDatabase``.
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
