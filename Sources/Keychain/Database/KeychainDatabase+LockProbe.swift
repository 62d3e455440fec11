// Whether items of an accessibility are locked, where that can be asked.

#if canImport(Darwin)

extension KeychainDatabase {
    /// Always false: Apple's functions tell it only of an item that exists.
    func isLocked(for accessibility: Keychain.Accessibility) throws -> Bool { false }
}

#else

import KeychainEngine
import KeychainModel

extension KeychainDatabase {
    /// Whether items of an accessibility are locked in this process.
    func isLocked(for accessibility: Keychain.Accessibility) throws -> Bool {
        // A database without an administration tells it, as the system's, only of an item that exists.
        guard administration != nil else { return false }
        let state = try administer { keychain throws(KeychainFailure) in
            try keychain.status().lockState
        }
        return switch ProtectionClass(code: accessibility.rawValue)?.availability {
        case .whileUnlocked: state != .unlocked
        case .afterFirstUnlock: state == .beforeFirstUnlock
        case .always, nil: false
        }
    }
}

#endif
