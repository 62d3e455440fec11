// LGTVControlManager+Migration: migrates the client key that an earlier release stored in plaintext
// in UserDefaults.
//   (1) The plaintext key is removed only after the keychain has returned credentials with a key.
//       An empty plaintext string, which is not a key, is removed without this check.
//   (2) A key that the migration finds in the keychain is not replaced: the plaintext key is older,
//       because only the earlier release writes it. The manager saves nothing between the
//       migration's check and its save. A key that another process saves in between is replaced.

import Foundation

extension LGTVControlManager {
    /// The outcome of a migration.
    public enum ClientKeyMigration: Hashable, Sendable {
        /// There is no plaintext key, or it was empty and was removed.
        case nothingToMigrate
        /// The plaintext key was moved to the credentials.
        case migrated
        /// The keychain already had a key, which was kept. The plaintext key was removed.
        case keptStoredKey
    }

    /// The reason that a migration failed. The plaintext key still exists.
    public enum ClientKeyMigrationError: Error, LocalizedError, Equatable {
        /// The stored plaintext key is not text.
        case notText
        /// The keychain returned no key after one was saved.
        case notVerified
        /// The key is in the keychain but could not be removed from the defaults.
        case plainKeyRemains

        /// What happened.
        public var errorDescription: String? {
            switch self {
            case .notText: "The client key of an earlier release is not text."
            case .notVerified: "The keychain does not have the client key that was saved."
            case .plainKeyRemains: "The client key could not be removed from the defaults."
            }
        }
    }

    /// The keys in the standard defaults under which an earlier release stored the client key and
    /// the addresses.
    enum LegacyKey {
        static let clientKey = "clientKey"
        static let ipAddress = "ipAddress"
        static let macAddress = "macAddress"
    }

    /// Moves the plaintext client key of an earlier release to the credentials.
    ///
    /// The key is combined with the addresses in the keychain or, if the keychain has no
    /// credentials, with those in the defaults. The key is saved and loaded, and only then removed
    /// from the defaults. If the program ends at any point, nothing is lost, and the next call
    /// completes the migration. Call this method at every start. A key that a connection of this
    /// manager saves in the meantime is kept.
    ///
    /// - Parameter defaults: The defaults of the earlier release.
    /// - Returns: The outcome.
    /// - Throws: ``ClientKeyMigrationError``, or an error of loading or saving credentials. The
    ///   plaintext key still exists.
    @discardableResult
    public func migrateClientKey(
        from defaults: UserDefaults = .standard
    ) throws -> ClientKeyMigration {
        try migrateClientKey(from: defaults) { _ in }
    }

    /// A completed step of a migration.
    enum MigrationStep: CaseIterable {
        case saved, verified, removed
    }

    /// Moves the plaintext client key, and calls a hook after each step.
    func migrateClientKey(
        from defaults: UserDefaults, after: (MigrationStep) throws -> Void
    ) throws -> ClientKeyMigration {
        guard let plain = defaults.object(forKey: LegacyKey.clientKey) else {
            return .nothingToMigrate
        }
        guard let key = defaults.string(forKey: LegacyKey.clientKey) else {
            throw ClientKeyMigrationError.notText
        }
        let saved = try updateCredentials { stored in
            guard stored?.usableKey == nil, !key.isEmpty else { return nil }
            var credentials =
                stored
                ?? TVCredentials(
                    ipAddress: defaults.string(forKey: LegacyKey.ipAddress) ?? "",
                    macAddress: defaults.string(forKey: LegacyKey.macAddress) ?? "")
            credentials.clientKey = key
            return credentials
        }
        if saved != nil {
            try after(.saved)
            guard try loadCredentials()?.usableKey != nil else {
                throw ClientKeyMigrationError.notVerified
            }
            try after(.verified)
        }
        defaults.removeObject(forKey: LegacyKey.clientKey)
        guard defaults.synchronize() else {
            // The key is still in the file of the defaults. Restore the key in memory, because
            // otherwise the next migration in this process would find nothing to do.
            defaults.set(plain, forKey: LegacyKey.clientKey)
            throw ClientKeyMigrationError.plainKeyRemains
        }
        guard defaults.object(forKey: LegacyKey.clientKey) == nil else {
            throw ClientKeyMigrationError.plainKeyRemains
        }
        try after(.removed)
        return saved != nil ? .migrated : key.isEmpty ? .nothingToMigrate : .keptStoredKey
    }
}
