// LAContext: one authentication of the user, and its results.
//   (1) All state is protected by one mutex, which is never held while the user is being asked.
//   (2) An invalidated context has erased its proofs and password, and never asks again.
//   (3) A password is stored as secret bytes. No description contains it.

#if !canImport(Darwin)

public import Foundation
import KeychainCrypto
import KeychainCore
import Synchronization

/// Authenticates the owner of the keychain, and remembers the authentication.
///
/// Pass a context as `kSecUseAuthenticationContext` to calls that open secrets with an access
/// control. The context provides the proofs that it remembers, and asks the user for others. It
/// keeps passwords and proofs until ``invalidate()`` is called or it is deallocated. Proofs end
/// earlier if the keychain is locked, or its passcode or keys are changed. A context can be used
/// concurrently from many threads.
///
/// The owner proves presence with the keychain's passcode (`keychainctl passcode set`), which is
/// entered at the terminal that the program was started from or in the window of `pinentry`.
/// Biometric hardware and paired devices are not supported.
///
/// This class corresponds to the class of the same name in Apple's LocalAuthentication.
open class LAContext: NSObject, @unchecked Sendable {
    // `@unchecked`, because the compiler can't check a class that is open for inheritance. All its
    // state is protected by this mutex.
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
        /// The prompts that are open.
        var questions: [Interruption] = []
    }

    struct ApplicationPassword {
        let bytes: SecretBytes
        /// Whether the user entered the password and can enter another one. A password from the
        /// program is final.
        let isEntered: Bool
    }

    /// Creates a context without any proofs.
    public override init() {
        super.init()
    }

    // MARK: Settings

    /// The reason that is shown to the user when a call to the keychain has to ask, unless the call
    /// specifies another one, for example with `kSecUseOperationPrompt`. If empty, which is the
    /// default, only the program's name is shown.
    open var localizedReason: String {
        get { state.withLock { $0.reason } }
        set { state.withLock { $0.reason = newValue } }
    }

    /// The title of the Cancel button. If `nil`, which is the default, or empty, the prompter's
    /// title is used. A terminal shows no title.
    open var localizedCancelTitle: String? {
        get { state.withLock { $0.cancelTitle } }
        set { state.withLock { $0.cancelTitle = newValue } }
    }

    /// The title of the button for entering the passcode when biometry is asked for first. The
    /// default is `nil`. The title is not shown, because biometric hardware is not supported.
    open var localizedFallbackTitle: String? {
        get { state.withLock { $0.fallbackTitle } }
        set { state.withLock { $0.fallbackTitle = newValue } }
    }

    /// The time for which an earlier authentication in this process by another context is accepted,
    /// in seconds.
    ///
    /// If 0, which is the default, an authentication by another context is never accepted. Values
    /// greater than ``LATouchIDAuthenticationMaximumAllowableReuseDuration`` count as this maximum.
    /// The time starts when the user proves presence, and ends early if the keychain is locked. On
    /// Apple platforms, it starts when the device is unlocked. An accepted authentication is one of
    /// the context's own proofs from then on. A context's own proofs have no time limit, but they
    /// also end if the keychain is locked.
    open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
        get { state.withLock { $0.reuseDuration } }
        set { state.withLock { $0.reuseDuration = newValue } }
    }

    /// Whether the context must not ask the user. If `true`, it uses only proofs that it can
    /// provide without asking, and fails with ``LAError/Code/notInteractive`` if they are not
    /// sufficient. The default is `false`.
    open var interactionNotAllowed: Bool {
        get { state.withLock { $0.isInteractionForbidden } }
        set { state.withLock { $0.isInteractionForbidden = newValue } }
    }

    // MARK: Biometry

    /// The type of biometric hardware. It is always ``LABiometryType/none``, except in tests with
    /// `KeychainTesting`.
    open var biometryType: LABiometryType {
        AuthenticationEnvironment.inUse.authenticator.biometry.type
    }

    /// Data that changes when the enrolled fingerprints or faces change. It is `nil` until a policy
    /// with biometry was evaluated successfully or found possible, and therefore always `nil`
    /// without biometric hardware.
    open var evaluatedPolicyDomainState: Data? {
        state.withLock { $0.enrollment.map { Data($0) } }
    }

    // MARK: Policies

    /// Determines, without asking the user, whether
    /// ``evaluatePolicy(_:localizedReason:reply:)`` could succeed now.
    ///
    /// - Parameters:
    ///   - policy: The policy.
    ///   - error: Receives the reason if the result is `false`, with a code of ``LAError/Code``. It
    ///     is not changed otherwise.
    /// - Returns: `false` if the context is invalid (``LAError/Code/invalidContext``), the policy
    ///   requires a passcode and none is set (``LAError/Code/passcodeNotSet``), hardware that the
    ///   policy requires can't be used (``LAError/Code/biometryNotAvailable``,
    ///   ``LAError/Code/biometryNotEnrolled``, ``LAError/Code/biometryLockout``,
    ///   ``LAError/Code/companionNotAvailable``), there is neither a terminal nor a prompter that
    ///   can be used (``LAError/Code/notInteractive``), or the keychain can't be used
    ///   (``LAError/Code/authenticationFailed``).
    ///
    /// This method corresponds to Apple's method of the same name.
    @discardableResult
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        guard let obstacle = obstacle(to: policy) else { return true }
        // SAFETY: the pointer is nil or valid during the call, as its type requires of the caller.
        unsafe error?.pointee = obstacle.localError as NSError
        return false
    }

    /// Authenticates the owner of the keychain.
    ///
    /// The user is not asked if the context already has sufficient proofs, either from an earlier
    /// call or because of ``touchIDAuthenticationAllowableReuseDuration``, and since then the
    /// keychain was not locked, and its passcode and keys were not changed. The user has three
    /// attempts to enter the passcode.
    ///
    /// - Parameters:
    ///   - policy: The policy to evaluate.
    ///   - localizedReason: The reason to show to the user. If empty, only the program's name is
    ///     shown; Apple's method raises an exception in this case.
    ///   - reply: A closure that is called once, on any thread, with `true`, or with `false` and an
    ///     ``LAError``.
    ///
    /// This method corresponds to Apple's method of the same name.
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

    /// Authenticates the owner of the keychain; see ``evaluatePolicy(_:localizedReason:reply:)``.
    ///
    /// - Parameters:
    ///   - policy: The policy to evaluate.
    ///   - localizedReason: The reason to show to the user.
    /// - Returns: Always `true`.
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

    /// Provides a credential that the context would otherwise ask for.
    ///
    /// - Parameters:
    ///   - credential: The bytes of the credential, which may be empty. They are copied. `nil`
    ///     removes the credential.
    ///   - type: The type, ``LACredentialType/applicationPassword``.
    /// - Returns: `false` if the context is invalid or does not support credentials of that type.
    ///
    /// This method corresponds to Apple's method of the same name.
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

    /// Whether the context has a credential, either set by the program or entered by the user.
    ///
    /// This method corresponds to Apple's method of the same name.
    open func isCredentialSet(_ type: LACredentialType) -> Bool {
        type == .applicationPassword && state.withLock { $0.password != nil }
    }

    // MARK: Invalidation

    /// Invalidates the context permanently.
    ///
    /// The context erases its credential and proofs. An open prompt is canceled, and the evaluation
    /// that waits for it fails with ``LAError/Code/appCancel``. Every later evaluation with the
    /// context fails with ``LAError/Code/invalidContext``. A call to the keychain fails with
    /// `errSecAuthFailed` if its prompt is canceled in this way, or if it is made later and
    /// requires a proof. Calls that require no proof still succeed.
    ///
    /// This method corresponds to Apple's method of the same name.
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
