// EveryStatusTests: every status of the keychain with every function of the view model.

import KeychainTesting
import Security
import Testing

@testable import SignIn

@MainActor @Suite struct `Sign-in and every status` {
    enum Function: CaseIterable {
        case signInWithApple, restoreSession, signOut, hasStoredCredentials, loadStoredCredentials
        case deleteToken

        /// Calls the function. A function with a result must return what was known before the call,
        /// because the keychain fails.
        @MainActor func call(_ model: AuthViewModel) async {
            switch self {
            case .signInWithApple: await model.signInWithApple()
            case .restoreSession: await model.restoreSession()
            case .signOut: model.signOut()
            case .hasStoredCredentials: #expect(model.hasStoredCredentials())
            case .loadStoredCredentials: #expect(model.loadStoredCredentials() == alice)
            case .deleteToken: model.deleteToken()
            }
        }

        /// The statuses that the function must report as failures. `errSecItemNotFound` is a
        /// failure only of `signInWithApple`, which adds an item.
        var failures: [OSStatus] {
            Statuses.failures.filter { self == .signInWithApple || $0 != errSecItemNotFound }
        }
    }

    private static func message(_ status: OSStatus) -> String {
        switch status {
        case errSecDuplicateItem: "Item already exists in Keychain"
        case errSecItemNotFound: "Item not found in Keychain"
        default: "Keychain error: \(status)"
        }
    }

    @Test(arguments: Function.allCases)
    func `no keychain error crashes the model; each is published and changes nothing`(
        function: Function
    ) async throws {
        let test = TestKeychain()
        var reached: Set<String> = []
        try await test.withSecItem { () async throws in
            try silent.save(alice, for: .userIdentifier)
            let model = AuthViewModel(bob)
            await model.restoreSession()
            for status in function.failures {
                test.inject(.failure(.init(rawValue: status)))
                await function.call(model)
                test.removeFaults()
                #expect(model.errorMessage == Self.message(status))
                if let message = model.errorMessage { reached.insert(message) }
                model.errorMessage = nil
                #expect(model.isAuthenticated && model.isSessionKnown && !model.isLoading)
                #expect(model.userIdentifier == alice)
                #expect(try silent.read(for: .userIdentifier) == alice)
            }
        }
        // The table has 380 statuses, each with its own message. The model published all of them,
        // or all except errSecItemNotFound.
        #expect(reached.count == (function == .signInWithApple ? 380 : 379))
    }

    @Test func `each keychain error at launch is published, and the session stays unknown`() async {
        let test = TestKeychain()
        var reached: Set<String> = []
        await test.withSecItem {
            for status in Statuses.failures where status != errSecItemNotFound {
                test.inject(.failure(.init(rawValue: status)))
                let model = AuthViewModel(bob)
                await model.restoreSession()
                test.removeFaults()
                #expect(!model.isSessionKnown)
                #expect(!model.isAuthenticated)
                reached.insert(model.errorMessage ?? "")
            }
        }
        #expect(
            reached
                == Set(Statuses.failures.map(Self.message)).subtracting([
                    "Item not found in Keychain"
                ]))
        #expect(reached.count == 379)
    }
}
