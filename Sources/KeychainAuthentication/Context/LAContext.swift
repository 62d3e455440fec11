// LAContext: one occasion on which a person is authenticated, and what came of it.
//   (1) All of it is behind one mutex, which is never held while a person is being asked.
//   (2) A context that was invalidated has forgotten proofs and password, and never asks again.
//   (3) A password is kept as secret bytes; no description holds it.

#if !canImport(Darwin)

public import Foundation
import KeychainCrypto
import KeychainCore
import Synchronization

/// Authenticates the owner of the keychain, and remembers that it did.
///
/// Give it as `kSecUseAuthenticationContext` to the calls that open secrets under access
/// constraints: it answers for the person as long as it can, asks where it has to, and what it was
/// told stays with it until ``invalidate()`` or its end. Safe to use from many threads at once.
///
/// The owner proves to be present by the keychain's passcode (`keychainctl passcode set`), entered
/// at the terminal that the program was started from or in the window of `pinentry`. There is no
/// biometric hardware and no paired device.
///
/// It corresponds to the class of the same name in Apple's LocalAuthentication.
open class LAContext: NSObject, @unchecked Sendable {
    // `@unchecked`, because a class that can be inherited from can't be checked: everything it
    // holds is behind this mutex.
    let state = Mutex(State())

    struct State {
        var isInvalid = false
        var reason = ""
        var cancelTitle: String?
        var fallbackTitle: String?
        var reuseDuration: TimeInterval = 0
        var isInteractionForbidden = false
        var password: ApplicationPassword?
        var proofs: [PresenceProof] = []
        var enrollment: [UInt8]?
        /// The questions that are being asked.
        var questions: [Interruption] = []
    }

    struct ApplicationPassword {
        let bytes: SecretBytes
        /// Whether a person entered it, who can enter another. The program's own is final.
        let isEntered: Bool
    }

    /// Makes a context that knows nothing yet.
    public override init() {
        super.init()
    }

    // MARK: Settings

    /// The reason that people are told when a call to the keychain has to ask them. Empty at
    /// first: only the program's name is told.
    open var localizedReason: String {
        get { state.withLock { $0.reason } }
        set { state.withLock { $0.reason = newValue } }
    }

    /// The program's own word for "cancel". nil, as at first, or empty: that of the prompter. A
    /// terminal shows none.
    open var localizedCancelTitle: String? {
        get { state.withLock { $0.cancelTitle } }
        set { state.withLock { $0.cancelTitle = newValue } }
    }

    /// The program's own word for "enter the passcode", where biometry was asked for first.
    /// nil, as at first: that of the prompter.
    open var localizedFallbackTitle: String? {
        get { state.withLock { $0.fallbackTitle } }
        set { state.withLock { $0.fallbackTitle = newValue } }
    }

    /// For how long an earlier authentication in this process, by whichever context, is good
    /// enough, in seconds.
    ///
    /// 0, as at first: never. More than
    /// ``LATouchIDAuthenticationMaximumAllowableReuseDuration`` counts as that. The time runs from
    /// the moment in which a person proved to be present; locking the keychain ends it. At Apple it
    /// runs from the unlocking of the device.
    open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
        get { state.withLock { $0.reuseDuration } }
        set { state.withLock { $0.reuseDuration = newValue } }
    }

    /// Whether the context must not ask the user. It then answers with what it knows, or fails with
    /// ``LAError/Code/notInteractive``. False at first.
    open var interactionNotAllowed: Bool {
        get { state.withLock { $0.isInteractionForbidden } }
        set { state.withLock { $0.isInteractionForbidden = newValue } }
    }

    // MARK: Biometry

    /// The kind of the biometric hardware: ``LABiometryType/none``, but for the tests of
    /// `KeychainTesting`.
    open var biometryType: LABiometryType {
        AuthenticationEnvironment.inUse.authenticator.biometry.type
    }

    /// Bytes that change when the enrolled fingers or faces do. nil before a policy with biometry
    /// was evaluated with success, or found possible; so always where there is no hardware.
    open var evaluatedPolicyDomainState: Data? {
        state.withLock { $0.enrollment.map { Data($0) } }
    }

    // MARK: Policies

    /// Tells whether ``evaluatePolicy(_:localizedReason:reply:)`` could succeed now. Asks no
    /// question.
    ///
    /// - Parameters:
    ///   - policy: The policy.
    ///   - error: Receives the reason for a false, with one of ``LAError/Code``. Left alone
    ///     otherwise.
    /// - Returns: False if the context is invalid (``LAError/Code/invalidContext``), no passcode is
    ///   set (``LAError/Code/passcodeNotSet``), what the policy needs isn't there
    ///   (``LAError/Code/biometryNotAvailable``, ``LAError/Code/companionNotAvailable``), or there is
    ///   neither a terminal nor a prompter (``LAError/Code/notInteractive``).
    ///
    /// It corresponds to the method of the same name.
    @discardableResult
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        guard let obstacle = obstacle(to: policy) else { return true }
        // SAFETY: the pointer is nil or the caller's, valid for the call as its type promises.
        unsafe error?.pointee = obstacle.localError as NSError
        return false
    }

    /// Authenticates the owner of the keychain.
    ///
    /// No question is asked if the context knows enough already, from an earlier call or by
    /// ``touchIDAuthenticationAllowableReuseDuration``. A wrong passcode can be entered three
    /// times.
    ///
    /// - Parameters:
    ///   - policy: What the owner has to prove.
    ///   - localizedReason: Why, for the person. Empty: only the program's name is told. Apple's
    ///     method raises an exception then.
    ///   - reply: Called once, on any thread, with true, or with false and an ``LAError``.
    ///
    /// It corresponds to the method of the same name.
    @preconcurrency
    open func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        inBackground(reply) { context throws(AuthenticationFailure) in
            try context.evaluate(AccessRequirement(policy), reason: localizedReason)
            if AccessRequirement(policy).mentions(.biometry) { context.noteEnrollment() }
        }
    }

    /// Authenticates the owner of the keychain; see
    /// ``evaluatePolicy(_:localizedReason:reply:)``.
    ///
    /// - Parameters:
    ///   - policy: What the owner has to prove.
    ///   - localizedReason: Why, for the person.
    /// - Returns: True.
    /// - Throws: ``LAError``.
    @discardableResult
    open func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            evaluatePolicy(policy, localizedReason: localizedReason) { isSuccess, error in
                if let error {
                    continuation.resume(throwing: error)
                } else {
                    continuation.resume(returning: isSuccess)
                }
            }
        }
    }

    // MARK: Credentials

    /// Gives the context something that it would ask for otherwise.
    ///
    /// - Parameters:
    ///   - credential: The bytes, 0 and up; they are copied. nil: forget what was given.
    ///   - type: ``LACredentialType/applicationPassword``.
    /// - Returns: False if the context is invalid, or doesn't take credentials of that type.
    ///
    /// It corresponds to the method of the same name.
    @discardableResult
    open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool {
        guard type == .applicationPassword else { return false }
        let password = credential.map {
            ApplicationPassword(bytes: SecretBytes(copying: $0), isEntered: false)
        }
        return state.withLock { state in
            if state.isInvalid { return false }
            state.password = password
            return true
        }
    }

    /// Whether the context has a credential, given or entered.
    ///
    /// It corresponds to the method of the same name.
    open func isCredentialSet(_ type: LACredentialType) -> Bool {
        type == .applicationPassword && state.withLock { $0.password != nil }
    }

    // MARK: The end

    /// Ends the context for good.
    ///
    /// It forgets what it was given and told. A question that is open is taken back, and a caller
    /// that waits for it gets ``LAError/Code/appCancel``; every later use gives
    /// ``LAError/Code/invalidContext``.
    ///
    /// It corresponds to the method of the same name.
    open func invalidate() {
        let questions = state.withLock { state in
            defer {
                state.isInvalid = true
                state.password = nil
                state.proofs = []
                state.questions = []
            }
            return state.questions
        }
        for question in questions { question.interrupt() }
    }
}

#endif
