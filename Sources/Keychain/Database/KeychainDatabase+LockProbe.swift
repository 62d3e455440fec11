// Whether items of an accessibility are locked, where that can be asked.

#if canImport(Darwin)

extension KeychainDatabase {
    /// Always false: Apple's functions tell it only of an item that exists.
    func isLocked(for accessibility: Keychain.Accessibility) throws(KeychainError) -> Bool { false }
}

#else

import KeychainEngine
import KeychainCore

extension KeychainDatabase {
    /// Whether items of an accessibility are locked. False where that can't be asked.
    func isLocked(for accessibility: Keychain.Accessibility) throws(KeychainError) -> Bool {
        // A database without an administration tells it, as the system's, only of an item that exists.
        guard administration != nil else { return false }
        let status: KeychainStatus
        do {
            status = try administer { keychain throws(KeychainFailure) in
                try keychain.perform(ReadStatus())
            }
        } catch {
            // So does a service that doesn't let this program look at the database as a whole.
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
