// OverlapTests: overlapping calls of the view model's functions. The model carries out restores and
// a sign-in in order, rejects a second sign-in, and drops what a sign-out has overtaken.

import Dispatch
import KeychainTesting
import Testing

@testable import SignIn

@MainActor @Suite struct `Sign-in calls that overlap` {
    let test = TestKeychain()
    let calls = Calls()
    let service = PatientService()

    private func model() -> AuthViewModel {
        AuthViewModel(authService: service.service, keychain: calls.keychain)
    }

    private var stored: String? {
        get throws { try silent.read(for: .userIdentifier) }
    }

    @Test func `overlapping restores and a sign-in are carried out in the order of the calls`()
        async throws
    {
        try await test.withSecItem { () async throws in
            let model = model()
            service.answer()
            calls.hold("read")
            let restore = Task { await model.restoreSession() }
            await wait { calls.isHolding }
            let signIn = Task { await model.signInWithApple() }
            let again = Task { await model.restoreSession() }
            for _ in 0..<10 { await turn() }
            #expect(service.requestCount == 0)
            #expect(calls.lines == ["read userIdentifier: -25300"])
            calls.release()
            for task in [restore, signIn, again] { await task.value }
            #expect(
                calls.lines == [
                    "read userIdentifier: -25300", "save userIdentifier: 0",
                    "read userIdentifier: 0",
                ])
            #expect(model.userIdentifier == alice)
            #expect(!model.isLoading)
            #expect(try stored == alice)
        }
    }

    @Test func `a second sign-in is rejected while the first sign-in is in progress`() async throws
    {
        try await test.withSecItem { () async throws in
            let model = model()
            let first = Task { await model.signInWithApple() }
            await wait { service.requestCount == 1 }
            let second = Task { await model.signInWithApple() }
            for _ in 0..<10 { await turn() }
            #expect(model.isLoading)
            #expect(!model.isAuthenticated)
            service.answer()
            await first.value
            await second.value
            #expect(service.requestCount == 1)
            #expect(model.userIdentifier == alice)
            // Afterwards, another sign-in is possible.
            await model.signInWithApple()
            #expect(service.requestCount == 2)
            #expect(model.userIdentifier == bob)
            #expect(try stored == bob)
        }
    }

    @Test(arguments: [false, true])
    func `a sign-in that is overtaken by a sign-out or by deleteToken doesn't sign the user in`(
        isByDeletion: Bool
    ) async throws {
        try await test.withSecItem { () async throws in
            let model = model()
            let signIn = Task { await model.signInWithApple() }
            await wait { service.requestCount == 1 }
            if isByDeletion { model.deleteToken() } else { model.signOut() }
            service.answer()
            await signIn.value
            #expect(service.cancelledCount == 1)
            #expect(!model.isAuthenticated)
            #expect(model.userIdentifier == nil)
            #expect(model.errorMessage == nil)
            #expect(!model.isLoading)
            #expect(try stored == nil)
            #expect(calls.lines == ["delete userIdentifier: -25300"])
        }
    }

    @Test func `a sign-out waits for a save that has begun, and deletes the saved identifier`()
        async throws
    {
        try await test.withSecItem { () async throws in
            let model = model()
            service.answer()
            calls.hold("save")
            let signIn = Task { await model.signInWithApple() }
            await wait { calls.isHolding }
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) { [calls] in
                calls.release()
            }
            model.signOut()
            #expect(!calls.isHolding)
            await signIn.value
            #expect(calls.lines == ["save userIdentifier: 0", "delete userIdentifier: 0"])
            #expect(!model.isAuthenticated)
            #expect(model.userIdentifier == nil)
            #expect(try stored == nil)
        }
    }

    /// Each argument is a number of turns of the main actor before the sign-out. `nil` waits until
    /// the keychain has answered the save.
    @Test(arguments: [0, 5, 50, nil] as [Int?])
    func `a sign-out leaves no session, whether or not a concurrent save has begun`(
        turnCount: Int?
    ) async throws {
        try await test.withSecItem { () async throws in
            let model = model()
            test.inject(.slow(.milliseconds(200)), into: .add)
            service.answer()
            let signIn = Task { await model.signInWithApple() }
            await wait { service.requestCount == 1 }
            // The save has not begun, has begun or has ended. In each case, the sign-out takes
            // effect last.
            if let turnCount {
                for _ in 0..<turnCount { await turn() }
            } else {
                await wait { calls.lines.contains("save userIdentifier: 0") }
            }
            model.signOut()
            await signIn.value
            #expect(calls.lines.last?.hasPrefix("delete") == true)
            #expect(!model.isAuthenticated)
            #expect(try stored == nil)
        }
    }

    @Test func `a sign-out during a sign-in lets the next sign-in begin`() async throws {
        try await test.withSecItem { () async throws in
            let model = model()
            let dropped = Task { await model.signInWithApple() }
            await wait { service.requestCount == 1 }
            model.signOut()
            let next = Task { await model.signInWithApple() }
            for _ in 0..<10 { await turn() }
            service.answer()
            await dropped.value
            await next.value
            #expect(service.requestCount == 2)
            #expect(model.userIdentifier == bob)
            #expect(try stored == bob)
        }
    }

    @Test func `a failed sign-out doesn't stop a sign-in, and the error of the sign-out is shown`()
        async throws
    {
        try await test.withSecItem { () async throws in
            let model = model()
            let signIn = Task { await model.signInWithApple() }
            await wait { service.requestCount == 1 }
            test.inject(.denied, into: .delete, times: 1)
            model.signOut()
            service.answer()
            await signIn.value
            #expect(model.userIdentifier == alice)
            #expect(model.errorMessage == "Keychain error: -25293")
            #expect(try stored == alice)
        }
    }

    @Test func `a restore that is overtaken by a sign-out doesn't restore the user`() async throws {
        try await test.withSecItem { () async throws in
            try silent.save(alice, for: .userIdentifier)
            let model = model()
            calls.hold("read")
            let restore = Task { await model.restoreSession() }
            await wait { calls.isHolding }
            model.signOut()
            calls.release()
            await restore.value
            #expect(calls.lines == ["read userIdentifier: 0", "delete userIdentifier: 0"])
            #expect(!model.isAuthenticated)
            #expect(model.userIdentifier == nil)
            #expect(model.isSessionKnown)
        }
    }

    @Test func `a failed restore shows no message if it was overtaken by a sign-out`() async throws
    {
        try await test.withSecItem { () async throws in
            try silent.save(alice, for: .userIdentifier)
            let model = model()
            test.inject(.denied, into: .search, times: 1)
            calls.hold("read")
            let restore = Task { await model.restoreSession() }
            await wait { calls.isHolding }
            model.signOut()
            calls.release()
            await restore.value
            #expect(calls.lines == ["read userIdentifier: -25293", "delete userIdentifier: 0"])
            #expect(model.errorMessage == nil)
            #expect(model.userIdentifier == nil)
            #expect(model.isSessionKnown)
        }
    }

    @Test func `a cancelled task doesn't sign the user in and shows no message`() async throws {
        try await test.withSecItem { () async throws in
            let model = model()
            let signIn = Task { await model.signInWithApple() }
            await wait { service.requestCount == 1 }
            signIn.cancel()
            service.answer()
            await signIn.value
            #expect(service.cancelledCount == 1)
            #expect(!model.isAuthenticated)
            #expect(model.errorMessage == nil)
            #expect(!model.isLoading)
            #expect(try stored == nil)
            await model.signInWithApple()
            #expect(model.isAuthenticated)
        }
    }
}
