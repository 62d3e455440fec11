// AuthViewModel: what a user interface shows of a stored token. It stays on the main actor; the
// keychain's work does not.

import Foundation
import Observation

/// Whether a user is authenticated, by the token in the keychain.
@MainActor @Observable
public final class AuthViewModel {
    /// Whether a token was found by the last load that could read the keychain.
    public private(set) var isAuthenticated = false

    /// Why the last load couldn't read the keychain, or nil.
    public private(set) var error: KeychainError?

    private let keychain: KeychainManager
    private let key: String

    /// A model of the token in a keychain.
    ///
    /// - Parameters:
    ///   - keychain: Where the token is.
    ///   - key: Its account.
    public init(keychain: KeychainManager = .shared, key: String = "token") {
        self.keychain = keychain
        self.key = key
    }

    /// Looks whether there is a token.
    ///
    /// A locked keychain signs no user out: `isAuthenticated` stays, `error` says why, and the load
    /// can be repeated after the unlock.
    public func loadToken() async {
        do {
            isAuthenticated = try await keychain.load(for: key) != nil
            error = nil
        } catch {
            self.error = error as? KeychainError
        }
    }
}
