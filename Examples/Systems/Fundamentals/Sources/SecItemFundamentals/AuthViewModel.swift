// AuthViewModel: a view model for a stored token. It stays on the main actor, but calls to the
// keychain don't run there.

import Foundation
import Observation

/// Reports whether the user is authenticated, which requires a token in the keychain.
@MainActor @Observable
public final class AuthViewModel {
    /// Whether the last successful load found a token.
    public private(set) var isAuthenticated = false

    /// The error of the last load, or `nil` if the load succeeded.
    public private(set) var error: KeychainError?

    private let keychain: KeychainManager
    private let key: String

    /// Creates a view model for a stored token.
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
    /// A locked keychain does not sign the user out: `isAuthenticated` does not change, `error`
    /// contains the reason, and the load can be repeated after the keychain is unlocked.
    public func loadToken() async {
        do {
            isAuthenticated = try await keychain.load(for: key) != nil
            error = nil
        } catch {
            self.error = error as? KeychainError
        }
    }
}
