// KeychainDatabase+LockProbe: determines whether items with a given accessibility are locked, if
// the database can report it.

#if canImport(Darwin)

extension KeychainDatabase {
    /// Always `false`, because Apple's functions report a lock only for an item that exists.
    func isLocked(for accessibility: Keychain.Accessibility) throws(KeychainError) -> Bool { false }
}

#else

import KeychainEngine
import KeychainCore

extension KeychainDatabase {
    /// Whether items with a given accessibility are locked, or `false` if the database can't report
    /// it.
    func isLocked(for accessibility: Keychain.Accessibility) throws(KeychainError) -> Bool {
        // Some databases in tests have no `administration`, so their status can't be read. For
        // them, only reading an item can show a lock, as on Apple platforms.
        guard administration != nil else { return false }
        let status: KeychainStatus
        do {
            status = try administer { keychain throws(KeychainFailure) in
                try keychain.perform(ReadStatus())
            }
        } catch {
            // A keychain service reports the status only to programs that may administer the
            // database.
            guard error.code == .missingEntitlement else { throw error }
            return false
        }
        return switch accessibility.protection.availability {
        case .whileUnlocked: status.lockState != .unlocked
        case .afterFirstUnlock: status.lockState == .beforeFirstUnlock
        case .always: false
        }
    }
}

#endif
