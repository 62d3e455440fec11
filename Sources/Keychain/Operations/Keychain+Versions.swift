// Keychain+Versions: keeping what is replaced or deleted.

extension Keychain {
    /// The same keychain, whose operations keep what they replace or delete as an earlier version.
    ///
    /// ```swift
    /// try keychain.keepingVersions().save(token, for: .token)
    /// ```
    ///
    /// A version is encrypted as the item was, and asks for what the item asked for. It is kept for as
    /// many changes and days as the user has set, 10 and 30 unless they did. It is no item: no other
    /// operation finds it. The user lists versions with `keychainctl history`, and brings one back with
    /// `keychainctl restore --version`.
    ///
    /// On Apple platforms nothing is kept.
    ///
    /// - Returns: A keychain for the same items.
    public func keepingVersions() -> Keychain {
        var keychain = self
        keychain.database.keepsVersions = true
        return keychain
    }
}
