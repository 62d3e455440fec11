// The storage layer of SignIn, written with Keychain: the last code block of SignIn's README.

import ExampleTesting
import Keychain
import KeychainTesting
import Testing

extension KeychainKey where Value == String {
    static var userIdentifier: Self { Self("userIdentifier") }
}

@MainActor final class SignInSession {
    private let item: ObservableSecret<String>

    init(in database: KeychainDatabase = .default) {
        let keychain = Keychain(service: "com.steeven.mysubguard", in: database)
        item = ObservableSecret(.userIdentifier, in: keychain)
    }

    /// What an interface shows. The interface is redrawn when this changes.
    var userIdentifier: String? { item.value }
    var errorMessage: String? { item.error?.localizedDescription }
    var isLoading: Bool { item.state == nil || item.isSaving }

    /// .value, .absent, or .unavailable with an error: a locked keychain signs no user out.
    func restore() async -> KeychainState<String> { await item.ready() }
    func signIn(_ user: String) async throws { try await item.save(user) }
    func signOut() async throws { try await item.delete() }
}

@MainActor @Suite struct `Sign-in with Keychain` {
    let test = TestKeychain()

    @Test func `the README shows the tested snippet`() throws {
        try expectSnippet(inReadmeOf: "SignIn")
    }

    @Test func `a session is kept, restored and deleted`() async throws {
        let session = SignInSession(in: test.database)
        #expect(session.isLoading)
        #expect(await session.restore().value == nil)
        #expect(!session.isLoading)
        try await session.signIn("001234.alice")
        #expect(session.userIdentifier == "001234.alice")

        let next = SignInSession(in: test.database)
        #expect(await next.restore().value == "001234.alice")
        try await next.signOut()
        #expect(next.userIdentifier == nil)
        #expect(try test.items().isEmpty)
    }

    @Test func `the session is stored in the same item that the program uses`() async throws {
        try await SignInSession(in: test.database).signIn("001234.alice")
        let item = try #require(try test.items().first)
        #expect(item.service == "com.steeven.mysubguard")
        #expect(item.account == "userIdentifier")
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        #expect(!item.isSynchronizable)
    }

    @Test func `a locked keychain doesn't sign the user out`() async throws {
        try await SignInSession(in: test.database).signIn("001234.alice")
        try test.setPasscode("1234")
        try test.restart()
        let session = SignInSession(in: test.database)
        guard case .unavailable(let error) = await session.restore() else {
            Issue.record("The state is known.")
            return
        }
        #expect(error.code == .interactionNotAllowed)
        #expect(session.errorMessage != nil)
        try test.unlock()
        #expect(
            try await Keychain(service: "com.steeven.mysubguard", in: test.database)
                .load(.userIdentifier) == "001234.alice")
    }
}
