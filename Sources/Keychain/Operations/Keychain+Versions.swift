// Keychain+Versions: keeps earlier versions of items that are replaced or deleted.

extension Keychain {
    /// Returns a copy of this keychain whose operations keep each item that they replace or delete
    /// as an earlier version.
    ///
    /// ```swift
    /// try keychain.keepingVersions().save(token, for: .token)
    /// ```
    ///
    /// A version is encrypted like the item and requires the same authentication. By default, the
    /// 10 most recent versions of an item are kept for 30 days; the user can change both limits. A
    /// version is not an item: no operation of a ``Keychain/Keychain`` finds it. The user lists
    /// versions with `keychainctl history` and restores one with `keychainctl restore --version`.
    ///
    /// Deleting a Secure Enclave key keeps no version of it. On Apple platforms, no versions are
    /// kept.
    ///
    /// - Returns: A keychain for the same items.
    public func keepingVersions() -> Keychain {
        var keychain = self
        keychain.database.keepsVersions = true
        return keychain
    }
}
