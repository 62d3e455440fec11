// KeychainAdministration: what the owner of a keychain can ask beside requests for items.

package import KeychainCrypto
package import KeychainModel

/// A keychain that can be locked, given a passcode and looked at as a whole.
///
/// As with requests for items, it may be in this process or behind a socket, and callers can't
/// tell.
package protocol KeychainAdministration: KeychainService {
    /// Makes every item readable until ``lock()``.
    /// - Throws: `authFailed` for a wrong passcode; `param` when none is set.
    func unlock(passcode: SecretBytes) throws(KeychainFailure)

    /// Forgets the keys of the when-unlocked classes, and ends all grants.
    /// - Throws: `param` when no passcode is set.
    func lock() throws(KeychainFailure)

    /// Forgets all keys that a passcode protects, as before the first unlock, and ends all grants:
    /// what is left to read are the items of the always-available classes.
    /// - Throws: `param` when no passcode is set.
    func lockAll() throws(KeychainFailure)

    /// Sets the first passcode. The keychain stays unlocked.
    /// - Throws: `param` when one is set already, or the new one is empty.
    func setPasscode(_ passcode: SecretBytes) throws(KeychainFailure)

    /// - Throws: `authFailed` when `old` is wrong; nothing is changed then.
    func changePasscode(from old: SecretBytes, to new: SecretBytes) throws(KeychainFailure)

    /// Removes the passcode and with it all items of the when-passcode-set class, for good.
    /// - Returns: How many items went.
    /// - Throws: `authFailed` when the passcode is wrong; nothing is changed then.
    @discardableResult
    func removePasscode(_ passcode: SecretBytes) throws(KeychainFailure) -> Int

    /// What a person wants to know, without opening an item.
    func status() throws(KeychainFailure) -> KeychainStatus

    /// Reads everything once and says what is not as it was written. Nothing is changed.
    ///
    /// `progress` is called now and then with the number of rows checked and the number of all.
    func check(progress: (Int, Int) -> Void) throws(KeychainFailure) -> CheckReport
}

extension KeychainAdministration {
    package func check() throws(KeychainFailure) -> CheckReport { try check { _, _ in } }
}

extension KeychainEngine: KeychainAdministration {
    package func check(
        progress: (Int, Int) -> Void
    ) throws(KeychainFailure) -> CheckReport {
        try check(settingAside: false, progress: progress)
    }
}
