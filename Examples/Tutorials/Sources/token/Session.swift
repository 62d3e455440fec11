// Session: the sign-in of the program's user. The article "Keep a token" explains this file.

import Keychain

extension KeychainKey where Value == String {
    /// The token that the server issued.
    static var token: Self { Self("token") }
}

/// The sign-in of the program's user.
struct Session {
    var keychain = Keychain(service: "com.example.token")

    /// Saves a token, replacing an earlier one.
    func signIn(with token: String) throws {
        try keychain.save(token, for: .token)
    }

    /// The token, or `nil` if the user is signed out.
    func token() throws -> String? {
        try keychain.load(.token)
    }

    /// Deletes the token. Deleting an absent token succeeds.
    func signOut() throws {
        try keychain.delete(.token)
    }
}
