// AuthViewModel: a view model for a stored token. It stays on the main actor, but calls to the
// keychain don't run there.

import Foundation
import Observation

/// Whether a user is authenticated, by the token in the keychain.
@MainActor @Observable
public final class AuthViewModel {
    /// Whether a token was found by the last load that could read the keychain.
    public private(set) var isAuthenticated = false

    /// The error of the last load if it couldn't read the keychain, or `nil`.
    public private(set) var error: KeychainError?

    private let keychain: KeychainManager
    private let key: String

    /// Creates a model of a token.
    ///
    /// - Parameters:
    ///   - keychain: The keychain that contains the token.
    ///   - key: The account of the token.
    public init(keychain: KeychainManager = .shared, key: String = "token") {
        self.keychain = keychain
        self.key = key
    }

    /// Checks whether there is a token.
    ///
    /// A locked keychain signs no user out: `isAuthenticated` does not change, `error` contains the
    /// reason, and the load can be repeated after the unlock.
    public func loadToken() async {
        do {
            isAuthenticated = try await keychain.load(for: key) != nil
            error = nil
        } catch {
            self.error = error as? KeychainError
        }
    }
}
