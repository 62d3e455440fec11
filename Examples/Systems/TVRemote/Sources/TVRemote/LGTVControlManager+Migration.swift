// Migration: the client key that an earlier release kept readable in UserDefaults.
//   (1) The plain key is removed only after the keychain has given back credentials with a key. An
//       empty one, which is no key, is removed without that.
//   (2) A key that the migration finds in the keychain is not replaced: the plain one is older, as
//       only the earlier release writes it. This holds in one process: a key that another one saves
//       between the look and the saving is replaced.

import Foundation

extension LGTVControlManager {
    /// What a migration did.
    public enum ClientKeyMigration: Hashable, Sendable {
        /// There is no plain key, or it was empty and is removed.
        case nothingToMigrate
        /// The plain key is part of the credentials now, and removed.
        case migrated
        /// The keychain had a key already, which stays. The plain one is removed.
        case keptStoredKey
    }

    /// Why a migration did not succeed. The plain key is still there.
    public enum ClientKeyMigrationError: Error, LocalizedError, Equatable {
        /// What is stored as the plain key is not text.
        case notText
        /// The keychain gave back something else than was saved.
        case notVerified
        /// The key is in the keychain and could not be removed from the defaults.
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

    /// Where an earlier release kept the client key and the addresses, in the standard defaults.
    enum LegacyKey {
        static let clientKey = "clientKey"
        static let ipAddress = "ipAddress"
        static let macAddress = "macAddress"
    }

    /// Moves the plain client key of an earlier release into the credentials.
    ///
    /// The key joins the addresses of the keychain or, if it has none, those of the defaults. It is
    /// saved, loaded, compared, and only then removed from the defaults. If the program ends
    /// half-way, nothing is lost, and the next call does the rest: call it at every start, before
    /// connecting.
    ///
    /// - Parameter defaults: The defaults of the earlier release.
    /// - Returns: What was done.
    /// - Throws: ``ClientKeyMigrationError``, or what loading and saving credentials throws. The
    ///   plain key is still there.
    @discardableResult
    public func migrateClientKey(
        from defaults: UserDefaults = .standard
    ) throws -> ClientKeyMigration {
        try migrateClientKey(from: defaults) { _ in }
    }

    /// A step of a migration that is done.
    enum MigrationStep: CaseIterable {
        case saved, verified, removed
    }

    /// Moves the plain client key, with a hook after each step.
    func migrateClientKey(
        from defaults: UserDefaults, after: (MigrationStep) throws -> Void
    ) throws -> ClientKeyMigration {
        guard let plain = defaults.object(forKey: LegacyKey.clientKey) else {
            return .nothingToMigrate
        }
        guard let key = defaults.string(forKey: LegacyKey.clientKey) else {
            throw ClientKeyMigrationError.notText
        }
        let stored = try loadCredentials()
        let isNeeded = stored?.usableKey == nil && !key.isEmpty
        if isNeeded {
            var credentials =
                stored
                ?? TVCredentials(
                    ipAddress: defaults.string(forKey: LegacyKey.ipAddress) ?? "",
                    macAddress: defaults.string(forKey: LegacyKey.macAddress) ?? "")
            credentials.clientKey = key
            try saveCredentials(credentials)
            try after(.saved)
            guard try loadCredentials() == credentials else {
                throw ClientKeyMigrationError.notVerified
            }
            try after(.verified)
        }
        defaults.removeObject(forKey: LegacyKey.clientKey)
        guard defaults.synchronize() else {
            // It is still in the file. Memory must not say otherwise, or the next migration of
            // this process would find nothing to do.
            defaults.set(plain, forKey: LegacyKey.clientKey)
            throw ClientKeyMigrationError.plainKeyRemains
        }
        guard defaults.object(forKey: LegacyKey.clientKey) == nil else {
            throw ClientKeyMigrationError.plainKeyRemains
        }
        try after(.removed)
        return isNeeded ? .migrated : key.isEmpty ? .nothingToMigrate : .keptStoredKey
    }
}
