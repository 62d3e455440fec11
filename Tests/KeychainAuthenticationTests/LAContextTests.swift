// LAContext with a test keychain, whose user the tests simulate.

import Foundation
import KeychainAuthentication
import KeychainCore
import KeychainCrypto
import KeychainServices
import KeychainTesting
import Testing

@Suite struct `An authentication context` {
    private let test = TestKeychain()

    private func withPasscode() throws -> TestKeychain {
        try test.setPasscode("1234")
        return test
    }

    /// Evaluates a policy and returns the error code, or `nil` for success.
    private func code(
        _ context: LAContext, _ policy: LAPolicy = .deviceOwnerAuthentication,
        reason: String = "test"
    ) async -> LAError.Code? {
        await test.withSecItem {
            do {
                let isSuccess = try await context.evaluatePolicy(policy, localizedReason: reason)
                #expect(isSuccess)
                return nil
            } catch {
                #expect(error is LAError)
                return (error as? LAError)?.code
            }
        }
    }

    private func obstacle(_ context: LAContext, _ policy: LAPolicy) -> LAError.Code? {
        test.withSecItem {
            var error: NSError?
            // SAFETY: the variable outlives the call.
            let isPossible = unsafe context.canEvaluatePolicy(policy, error: &error)
            #expect(isPossible == (error == nil))
            return (error as? LAError)?.code
        }
    }

    // MARK: Policies

    @Test func `a context prompts the owner once, with the reason`() async throws {
        let test = try withPasscode()
        test.person = .owner
        let context = LAContext()
        #expect(await code(context, reason: "see your notes") == nil)
        #expect(await code(context) == nil)
        #expect(test.askedQuestions.map(\.reason) == ["see your notes"])
        #expect(test.askedQuestions.map(\.subject) == [.passcode])
        #expect(await code(LAContext()) == nil)
        #expect(test.askedQuestions.count == 2)
    }

    @Test func `a wrong passcode can be corrected twice`() async throws {
        let test = try withPasscode()
        test.person = TestKeychain.Person(passcodes: [.wrong, "4321", .right])
        #expect(await code(LAContext()) == nil)
        #expect(test.askedQuestions.count == 3)
        test.person = .stranger
        #expect(await code(LAContext()) == .authenticationFailed)
        #expect(test.askedQuestions.count == 6)
    }

    @Test func `a user who declines isn't prompted again`() async throws {
        let test = try withPasscode()
        test.person = .declining
        #expect(await code(LAContext()) == .userCancel)
        #expect(test.askedQuestions.count == 1)
    }

    @Test func `without a user, or with interaction forbidden, there is no prompt`() async throws {
        let test = try withPasscode()
        #expect(await code(LAContext()) == .notInteractive)
        #expect(obstacle(LAContext(), .deviceOwnerAuthentication) == .notInteractive)
        test.person = .owner
        #expect(obstacle(LAContext(), .deviceOwnerAuthentication) == nil)
        let context = LAContext()
        context.interactionNotAllowed = true
        #expect(await code(context) == .notInteractive)
        #expect(test.askedQuestions.isEmpty)
        context.interactionNotAllowed = false
        #expect(await code(context) == nil)
        context.interactionNotAllowed = true
        #expect(await code(context) == nil)
    }

    @Test func `without a passcode or biometry, there is no prompt`() async throws {
        test.person = .owner
        #expect(await code(LAContext()) == .passcodeNotSet)
        #expect(obstacle(LAContext(), .deviceOwnerAuthentication) == .passcodeNotSet)
        #expect(test.askedQuestions.isEmpty)
    }

    @Test func `by default no biometry and no companion device is available`() async throws {
        let test = try withPasscode()
        test.person = .owner
        let rows: [(LAPolicy, LAError.Code)] = [
            (.deviceOwnerAuthenticationWithBiometrics, .biometryNotAvailable),
            (.deviceOwnerAuthenticationWithCompanion, .companionNotAvailable),
            (.deviceOwnerAuthenticationWithBiometricsOrCompanion, .biometryNotAvailable),
        ]
        for (policy, expected) in rows {
            #expect(obstacle(LAContext(), policy) == expected)
            #expect(await code(LAContext(), policy) == expected)
        }
        test.withSecItem { #expect(LAContext().biometryType == .none) }
        #expect(LAContext().biometryType == .none)
        #expect(test.askedQuestions.isEmpty)
    }

    // MARK: Biometry in tests

    @Test func `enrolled biometry is used instead of the passcode`() async throws {
        let test = try withPasscode()
        test.person = .owner
        test.biometry = TestKeychain.Biometry(type: .faceID, enrollment: "one face")
        let context = LAContext()
        test.withSecItem { #expect(context.biometryType == .faceID) }
        #expect(context.evaluatedPolicyDomainState == nil)
        #expect(await code(context) == nil)
        #expect(test.askedQuestions.map(\.subject) == [.biometry])
        #expect(context.evaluatedPolicyDomainState == Data("one face".utf8))
        test.biometry?.enrollment = "two faces"
        let second = LAContext()
        #expect(obstacle(second, .deviceOwnerAuthenticationWithBiometrics) == nil)
        #expect(second.evaluatedPolicyDomainState == Data("two faces".utf8))
    }

    @Test func `a policy that can't be evaluated doesn't set the domain state`() throws {
        let test = try withPasscode()
        test.biometry = TestKeychain.Biometry()
        let context = LAContext()
        // No user can be asked.
        #expect(obstacle(context, .deviceOwnerAuthenticationWithBiometrics) == .notInteractive)
        #expect(context.evaluatedPolicyDomainState == nil)
        test.person = .owner
        #expect(obstacle(context, .deviceOwnerAuthenticationWithBiometrics) == nil)
        #expect(context.evaluatedPolicyDomainState != nil)
    }

    @Test func `if biometry fails, the passcode can be entered where the policy allows it`()
        async throws
    {
        let test = try withPasscode()
        test.biometry = TestKeychain.Biometry()
        for touch in [TestKeychain.Touch.notRecognized, .prefersPasscode] {
            test.person = TestKeychain.Person(touch: touch)
            #expect(await code(LAContext()) == nil)
            #expect(test.askedQuestions.last?.subject == .passcode)
        }
        let biometrics = LAPolicy.deviceOwnerAuthenticationWithBiometrics
        test.person = TestKeychain.Person(touch: .notRecognized)
        #expect(await code(LAContext(), biometrics) == .authenticationFailed)
        test.person = TestKeychain.Person(touch: .prefersPasscode)
        #expect(await code(LAContext(), biometrics) == .userFallback)
        test.person = TestKeychain.Person(touch: .declines)
        #expect(await code(LAContext(), biometrics) == .userCancel)
        test.biometry?.isLockedOut = true
        #expect(await code(LAContext(), biometrics) == .biometryLockout)
        test.biometry?.enrollment = nil
        #expect(await code(LAContext(), biometrics) == .biometryNotEnrolled)
    }

    // MARK: Reuse

    @Test
    func `another context's authentication is reused for the reuse duration, at most 300 seconds`()
        async throws
    {
        let test = try withPasscode()
        test.person = .owner
        let start = Date(timeIntervalSinceReferenceDate: 1_000_000)
        test.now = start
        #expect(await code(LAContext()) == nil)
        func needsPrompt(after seconds: TimeInterval, reuse: TimeInterval) async -> Bool {
            test.now = start + seconds
            let before = test.askedQuestions.count
            let context = LAContext()
            context.touchIDAuthenticationAllowableReuseDuration = reuse
            context.interactionNotAllowed = true
            let code = await code(context)
            #expect(test.askedQuestions.count == before)
            return code == .notInteractive
        }
        #expect(await needsPrompt(after: 0, reuse: 0))
        #expect(await needsPrompt(after: 10, reuse: 9))
        #expect(await !needsPrompt(after: 10, reuse: 10))
        #expect(await !needsPrompt(after: 300, reuse: 300))
        // The longest accepted duration is 300 seconds.
        #expect(await needsPrompt(after: 301, reuse: 10_000))
        #expect(await needsPrompt(after: 1, reuse: .nan))
        #expect(await needsPrompt(after: 1, reuse: -5))
        #expect(await !needsPrompt(after: 1, reuse: .infinity))
    }

    @Test func `a lock of the keychain ends a context's own proofs`() async throws {
        let test = try withPasscode()
        test.person = .owner
        let context = LAContext()
        for count in 1...2 {
            #expect(await code(context) == nil)
            #expect(await code(context) == nil)
            #expect(test.askedQuestions.count == count)
            try test.lock()
        }
        test.biometry = TestKeychain.Biometry()
        for count in 3...4 {
            #expect(await code(context, .deviceOwnerAuthenticationWithBiometrics) == nil)
            #expect(await code(context, .deviceOwnerAuthenticationWithBiometrics) == nil)
            #expect(test.askedQuestions.count == count)
            try test.lock()
        }
    }

    @Test func `a lock of the keychain ends the reuse of earlier authentications`() async throws {
        let test = try withPasscode()
        test.person = .owner
        let reusing = LAContext()
        reusing.touchIDAuthenticationAllowableReuseDuration = 300
        #expect(await code(reusing) == nil)
        try test.lock()
        // Another context obtains a later proof. The next lock ends this proof, too.
        #expect(await code(LAContext()) == nil)
        try test.lock()
        reusing.interactionNotAllowed = true
        #expect(await code(reusing) == .notInteractive)
        // A proof since the last lock is reused.
        #expect(await code(LAContext()) == nil)
        #expect(await code(reusing) == nil)
    }

    // MARK: Credentials

    @Test func `an application password can be set and removed`() {
        let context = LAContext()
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(context.setCredential(Data(), type: .applicationPassword))
        #expect(context.isCredentialSet(.applicationPassword))
        #expect(context.setCredential(nil, type: .applicationPassword))
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(!context.setCredential(Data([1]), type: .smartCardPIN))
        #expect(!context.isCredentialSet(.smartCardPIN))
    }

    @Test func `a printed context doesn't contain the password`() {
        let context = LAContext()
        #expect(context.setCredential(Data("tiger".utf8), type: .applicationPassword))
        var text = "\(context)" + context.debugDescription + String(reflecting: context)
        dump(context, to: &text)
        #expect(!text.contains("tiger"))
        #expect(!text.contains("116, 105"))
    }

    // MARK: Invalidation

    @Test func `an invalidated context fails every request`() async throws {
        let test = try withPasscode()
        test.person = .owner
        let context = LAContext()
        #expect(context.setCredential(Data([1]), type: .applicationPassword))
        #expect(await code(context) == nil)
        context.invalidate()
        context.invalidate()
        #expect(await code(context) == .invalidContext)
        #expect(obstacle(context, .deviceOwnerAuthentication) == .invalidContext)
        #expect(!context.setCredential(Data([1]), type: .applicationPassword))
        #expect(!context.isCredentialSet(.applicationPassword))
    }

    @Test func `invalidating a context cancels its open prompt`()
        async throws
    {
        _ = try withPasscode()
        let context = LAContext()
        let waiting = WaitingAuthenticator { context.invalidate() }
        let environment = AuthenticationEnvironment(waiting, recentProofs: RecentProofs())
        await AuthenticationEnvironment.$current.withValue(environment) {
            #expect(await code(context) == .appCancel)
            #expect(await code(context) == .invalidContext)
        }
    }

    @Test func `a context that is invalidated while it looks for recent proofs uses none of them`()
        async throws
    {
        _ = try withPasscode()
        let proofs = RecentProofs()
        let earlier = AuthenticationEnvironment(
            OwnerAuthenticator(), recentProofs: proofs, clock: { .zero })
        await AuthenticationEnvironment.$current.withValue(earlier) {
            #expect(await code(LAContext()) == nil)
        }
        let context = LAContext()
        context.touchIDAuthenticationAllowableReuseDuration = 10
        // The clock is read between the check of the context and the use of the proofs.
        let environment = AuthenticationEnvironment(
            OwnerAuthenticator(), recentProofs: proofs,
            clock: {
                context.invalidate()
                return .zero
            })
        await AuthenticationEnvironment.$current.withValue(environment) {
            #expect(await code(context) == .invalidContext)
        }
    }

    // MARK: Access controls

    private func control(_ flags: SecAccessControlCreateFlags) throws -> SecAccessControl {
        let made = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenUnlocked, flags, nil)
        return try #require(made)
    }

    private func code(
        _ context: LAContext, _ flags: SecAccessControlCreateFlags,
        _ operation: LAAccessControlOperation
    ) async throws -> LAError.Code? {
        let control = try control(flags)
        return await test.withSecItem {
            do {
                let isSuccess = try await context.evaluateAccessControl(
                    control, operation: operation, localizedReason: "test")
                #expect(isSuccess)
                return nil
            } catch {
                return (error as? LAError)?.code
            }
        }
    }

    @Test func `evaluation for using an item or a key requires what the flags demand`()
        async throws
    {
        let test = try withPasscode()
        test.person = .owner
        for operation in [LAAccessControlOperation.useItem, .useKeySign, .useKeyDecrypt] {
            let count = test.askedQuestions.count
            let flags: SecAccessControlCreateFlags = [.userPresence, .privateKeyUsage]
            #expect(try await code(LAContext(), flags, operation) == nil)
            #expect(test.askedQuestions.count == count + 1)
        }
        let count = test.askedQuestions.count
        #expect(try await code(LAContext(), [], .useItem) == nil)
        #expect(try await code(LAContext(), .userPresence, .createItem) == nil)
        #expect(test.askedQuestions.count == count)
        #expect(try await code(LAContext(), .biometryAny, .useItem) == .biometryNotAvailable)
        test.biometry = TestKeychain.Biometry()
        #expect(try await code(LAContext(), .biometryCurrentSet, .useItem) == nil)
        #expect(test.askedQuestions.last?.subject == .biometry)
        #expect(try await code(LAContext(), [.biometryAny, .devicePasscode], .useItem) == nil)
        #expect(test.askedQuestions.suffix(2).map(\.subject) == [.biometry, .passcode])
    }

    @Test func `evaluation for createItem prompts for a new password and not for presence`()
        async throws
    {
        test.person = TestKeychain.Person(applicationPassword: "tiger")
        #expect(try await code(LAContext(), .userPresence, .createItem) == .passcodeNotSet)
        let context = LAContext()
        #expect(try await code(context, .applicationPassword, .createItem) == nil)
        #expect(
            test.askedQuestions.map(\.subject)
                == [.newApplicationPassword, .newApplicationPassword])
        #expect(context.isCredentialSet(.applicationPassword))
        #expect(try await code(context, .applicationPassword, .useItem) == nil)
        #expect(test.askedQuestions.count == 2)
        #expect(try await code(LAContext(), .applicationPassword, .useItem) == nil)
        #expect(test.askedQuestions.last?.subject == .applicationPassword)
        test.person = .declining
        #expect(try await code(LAContext(), .applicationPassword, .createItem) == .userCancel)
    }

    @Test func `a completion handler receives the error if the user declines`() async throws {
        let test = try withPasscode()
        test.person = .declining
        let control = try control(.userPresence)
        let answers = await withCheckedContinuation { continuation in
            test.withSecItem {
                LAContext().evaluateAccessControl(
                    control, operation: .useItem, localizedReason: "test"
                ) { isSuccess, error in
                    continuation.resume(returning: (isSuccess, (error as? LAError)?.code))
                }
            }
        }
        #expect(answers.0 == false)
        #expect(answers.1 == .userCancel)
    }
}

/// Enters the right passcode.
private struct OwnerAuthenticator: Authenticator {
    var canAsk: Bool { true }

    func ask(_ question: Question, until interruption: Interruption) -> Answer {
        .entered(SecretBytes(copying: Array("1234".utf8)))
    }
}

/// Waits until the prompt is canceled, while `whenAsked` runs on another thread.
private final class WaitingAuthenticator: Authenticator {
    private let whenAsked: @Sendable () -> Void

    init(_ whenAsked: @escaping @Sendable () -> Void) {
        self.whenAsked = whenAsked
    }

    var canAsk: Bool { true }

    func ask(_ question: Question, until interruption: Interruption) -> Answer {
        Thread { [whenAsked] in whenAsked() }.start()
        // Waits for a minute at most.
        let deadline = Date(timeIntervalSinceNow: 60)
        while !interruption.isInterrupted, Date() < deadline { Thread.sleep(forTimeInterval: 0.01) }
        return interruption.isInterrupted ? .interrupted : .cancelled
    }
}
