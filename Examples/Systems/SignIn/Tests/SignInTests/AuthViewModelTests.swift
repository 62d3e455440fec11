// AuthViewModelTests: restoring a session, the effect of each function, and keychains that fail.

import Foundation
import KeychainTesting
import Security
import Testing

@testable import SignIn

@MainActor @Suite struct `Sign-in view model` {
    let test = TestKeychain()

    private var stored: String? {
        get throws { try silent.read(for: .userIdentifier) }
    }

    // MARK: Launches

    @Test func `the view model has the properties that the app's views use`() {
        let model = AuthViewModel()
        let isAuthenticated: ReferenceWritableKeyPath<AuthViewModel, Bool> = \.isAuthenticated
        let isLoading: ReferenceWritableKeyPath<AuthViewModel, Bool> = \.isLoading
        let errorMessage: ReferenceWritableKeyPath<AuthViewModel, String?> = \.errorMessage
        let userIdentifier: KeyPath<AuthViewModel, String?> = \.userIdentifier
        #expect(!model[keyPath: isAuthenticated])
        #expect(!model[keyPath: isLoading])
        #expect(model[keyPath: errorMessage] == nil)
        #expect(model[keyPath: userIdentifier] == nil)
        #expect(!model.isSessionKnown)
    }

    @Test func `after a sign-in the identifier is saved and the next launch restores it`()
        async throws
    {
        try await test.withSecItem { () async throws in
            let first = AuthViewModel(alice)
            await first.restoreSession()
            #expect(!first.isAuthenticated)
            #expect(first.isSessionKnown)
            await first.signInWithApple()
            #expect(first.isAuthenticated)
            #expect(first.userIdentifier == alice)
            #expect(first.errorMessage == nil)
            #expect(try stored == alice)

            try test.restart()
            let next = AuthViewModel(bob)
            await next.restoreSession()
            #expect(next.isAuthenticated)
            #expect(next.userIdentifier == alice)
            #expect(next.errorMessage == nil)
        }
    }

    @Test func `a sign-out deletes the identifier, and the next launch is signed out`()
        async throws
    {
        try await test.withSecItem { () async throws in
            let model = AuthViewModel(alice)
            await model.signInWithApple()
            model.signOut()
            #expect(!model.isAuthenticated)
            #expect(model.userIdentifier == nil)
            #expect(model.isSessionKnown)
            #expect(try stored == nil)
            let next = AuthViewModel(alice)
            await next.restoreSession()
            #expect(!next.isAuthenticated)
            #expect(next.isSessionKnown)
            next.signOut()
            #expect(next.errorMessage == nil)
        }
    }

    @Test func `a sign-in of another user replaces the stored identifier`() async throws {
        await test.withSecItem {
            await AuthViewModel(alice).signInWithApple()
            let model = AuthViewModel(bob)
            await model.restoreSession()
            await model.signInWithApple()
            #expect(model.userIdentifier == bob)
        }
        #expect(try test.items().count == 1)
        try test.withSecItem { () throws in #expect(try stored == bob) }
    }

    // MARK: Synchronous functions

    @Test func `loading stored credentials restores the session`() throws {
        try test.withSecItem { () throws in
            try silent.save(alice, for: .userIdentifier)
            let model = AuthViewModel(bob)
            #expect(model.loadStoredCredentials() == alice)
            #expect(model.isAuthenticated)
            #expect(model.userIdentifier == alice)
            try silent.delete(for: .userIdentifier)
            #expect(model.loadStoredCredentials() == nil)
            #expect(!model.isAuthenticated)
            #expect(model.errorMessage == nil)
        }
    }

    @Test func `hasStoredCredentials tells whether credentials exist and opens no secret`() throws {
        try test.withSecItem { () throws in
            let model = AuthViewModel(bob)
            #expect(!model.hasStoredCredentials())
            #expect(model.isSessionKnown)
            try silent.save(alice, for: .userIdentifier)
            #expect(model.hasStoredCredentials())
            #expect(model.errorMessage == nil)
            // The model knows that an identifier exists, but not its value.
            #expect(!model.isSessionKnown)
        }
        #expect(test.openedSecretCount == 0)
    }

    @Test func `after the token is deleted, this launch is still signed in and the next isn't`()
        async throws
    {
        try await test.withSecItem { () async throws in
            let model = AuthViewModel(alice)
            await model.signInWithApple()
            model.deleteToken()
            #expect(try stored == nil)
            #expect(model.isAuthenticated)
            #expect(model.userIdentifier == alice)
            #expect(!model.hasStoredCredentials())
            let next = AuthViewModel(alice)
            await next.restoreSession()
            #expect(!next.isAuthenticated)
        }
    }

    @Test func `while the keychain is locked, the model reports the lock and the last known state`()
        throws
    {
        try test.withSecItem { () throws in
            let model = AuthViewModel(alice)
            test.inject(.locked)
            // Before the keychain has once told whether an identifier exists, the result is `true`.
            #expect(model.hasStoredCredentials())
            #expect(model.errorMessage == "Keychain error: -25308")
            #expect(model.loadStoredCredentials() == nil)
            #expect(model.errorMessage == "Keychain error: -25308")
            #expect(!model.isSessionKnown)
            test.removeFaults()
            #expect(!model.hasStoredCredentials())
            test.inject(.locked)
            // The model knows that no identifier is stored.
            #expect(!model.hasStoredCredentials())
            #expect(model.errorMessage == "Keychain error: -25308")
            test.removeFaults()
            try silent.save(alice, for: .userIdentifier)
            #expect(model.loadStoredCredentials() == alice)
            test.inject(.locked)
            // The model knows the stored identifier.
            #expect(model.hasStoredCredentials())
            #expect(model.loadStoredCredentials() == alice)
            #expect(model.isAuthenticated)
        }
    }

    // MARK: Sign-ins that don't succeed

    @Test func `a sign-in that the person cancels shows no message and changes nothing`()
        async throws
    {
        try await test.withSecItem { () async throws in
            let cancelling = AuthViewModel(
                authService: AppleAuthService { throw AppleAuthError.cancelled }, keychain: silent)
            await cancelling.signInWithApple()
            #expect(!cancelling.isAuthenticated)
            #expect(cancelling.errorMessage == nil)
            #expect(!cancelling.isLoading)
            #expect(try stored == nil)

            try silent.save(alice, for: .userIdentifier)
            await cancelling.restoreSession()
            await cancelling.signInWithApple()
            #expect(cancelling.userIdentifier == alice)
            #expect(cancelling.errorMessage == nil)
            #expect(try stored == alice)
        }
    }

    @Test func `a sign-in that fails shows why, changes nothing, and can be tried again`()
        async throws
    {
        try await test.withSecItem { () async throws in
            var answers = [AppleAuthError.failed(statusCode: 500), .timedOut][...]
            let model = AuthViewModel(
                authService: AppleAuthService { @MainActor in
                    if let error = answers.popFirst() { throw error }
                    return AppleAuthCredential(user: alice)
                }, keychain: silent)
            await model.signInWithApple()
            #expect(model.errorMessage == "The sign-in service failed (500). Try again.")
            #expect(!model.isAuthenticated)
            #expect(!model.isLoading)
            await model.signInWithApple()
            #expect(
                model.errorMessage == "The sign-in service did not answer in time. Try again.")
            #expect(try stored == nil)
            await model.signInWithApple()
            #expect(model.errorMessage == nil)
            #expect(model.userIdentifier == alice)
        }
    }

    @Test func `a sign-in that can't be saved fails, and no user is signed in`() async {
        await test.withSecItem {
            let model = AuthViewModel(alice)
            await model.restoreSession()
            test.inject(.diskFull, times: 1)
            await model.signInWithApple()
            #expect(!model.isAuthenticated)
            #expect(model.userIdentifier == nil)
            #expect(model.errorMessage == "Keychain error: -34")
            await model.signInWithApple()
            #expect(model.isAuthenticated)
            #expect(model.errorMessage == nil)
        }
    }

    @Test func `a user interface can clear the error message, and the session stays unknown`() async
    {
        await test.withSecItem {
            let model = AuthViewModel(alice)
            test.inject(.denied, times: 1)
            await model.restoreSession()
            #expect(model.errorMessage == "Keychain error: -25293")
            model.errorMessage = nil
            #expect(model.errorMessage == nil)
            #expect(!model.isSessionKnown)
        }
    }

    // MARK: Keychains that fail

    @Test func `a launch on a locked device reports the lock and doesn't sign the user out`()
        async throws
    {
        try await test.withSecItem { () async throws in
            await AuthViewModel(alice).signInWithApple()
            try test.setPasscode("1234")
            try test.restart()

            let model = AuthViewModel(bob)
            await model.restoreSession()
            #expect(!model.isSessionKnown)
            #expect(model.errorMessage == "Keychain error: -25308")

            try test.unlock()
            await model.restoreSession()
            #expect(model.userIdentifier == alice)
            #expect(model.errorMessage == nil)
        }
    }

    @Test func `a user who is signed in stays signed in when the device locks`() async throws {
        try await test.withSecItem { () async throws in
            let model = AuthViewModel(alice)
            await model.signInWithApple()
            try test.setPasscode("1234")
            try test.restart()
            await model.restoreSession()
            #expect(model.errorMessage == "Keychain error: -25308")
            #expect(model.isAuthenticated)
            #expect(model.userIdentifier == alice)
            #expect(model.loadStoredCredentials() == alice)
            #expect(model.hasStoredCredentials())
        }
    }

    @Test func `signing out works on a device that was locked again after the first unlock`()
        async throws
    {
        try await test.withSecItem { () async throws in
            let model = AuthViewModel(alice)
            await model.signInWithApple()
            try test.setPasscode("1234")
            try test.restart()
            // Before the first unlock, the keychain can't determine which item to delete.
            model.signOut()
            #expect(model.errorMessage == "Keychain error: -25308")
            #expect(model.isAuthenticated)
            try test.unlock()
            try test.lock()
            model.signOut()
            #expect(model.errorMessage == nil)
            #expect(!model.isAuthenticated)
            try test.unlock()
            #expect(try stored == nil)
        }
    }

    enum Call: CaseIterable {
        case restore, signIn, signOut

        @MainActor func make(_ model: AuthViewModel) async {
            switch self {
            case .restore: await model.restoreSession()
            case .signIn: await model.signInWithApple()
            case .signOut: model.signOut()
            }
        }
    }

    struct BadKeychain: CustomTestStringConvertible {
        let fault: TestKeychain.Fault
        let status: OSStatus
        let calls: [Call]
        let testDescription: String
    }

    nonisolated static let badKeychains = [
        // After the first unlock, a lock doesn't prevent a deletion.
        BadKeychain(
            fault: .locked, status: errSecInteractionNotAllowed, calls: [.restore, .signIn],
            testDescription: "locked"),
        BadKeychain(
            fault: .denied, status: errSecAuthFailed, calls: Call.allCases,
            testDescription: "denied"),
        BadKeychain(
            fault: .diskFull, status: errSecDiskFull, calls: [.signIn, .signOut],
            testDescription: "disk full"),
        BadKeychain(
            fault: .failure(.notAvailable), status: errSecNotAvailable, calls: Call.allCases,
            testDescription: "damaged"),
        BadKeychain(
            fault: .failure(.decode), status: errSecDecode, calls: Call.allCases,
            testDescription: "damaged item"),
        BadKeychain(
            fault: .stop(.beforeCommit), status: errSecIO, calls: [.signIn, .signOut],
            testDescription: "power failure"),
        BadKeychain(
            fault: .failure(.init(rawValue: -99_999)), status: -99_999, calls: Call.allCases,
            testDescription: "unknown status"),
    ]

    @Test(arguments: badKeychains)
    func `a keychain error is published and changes nothing, and the call can be retried`(
        bad: BadKeychain
    ) async throws {
        try #require(!bad.calls.isEmpty)
        for call in bad.calls {
            let test = TestKeychain()
            try await test.withSecItem { () async throws in
                try silent.save(alice, for: .userIdentifier)
                let model = AuthViewModel(bob)
                await model.restoreSession()
                test.inject(bad.fault)
                await call.make(model)
                #expect(model.errorMessage == "Keychain error: \(bad.status)")
                #expect(model.isAuthenticated)
                #expect(model.userIdentifier == alice)
                #expect(!model.isLoading)

                test.removeFaults()
                #expect(try stored == alice)
                await call.make(model)
                #expect(model.errorMessage == nil)
                let user = call == .signIn ? bob : call == .signOut ? nil : alice
                #expect(try stored == user)
                #expect(model.userIdentifier == user)
            }
        }
    }
}
