// DeviceIdMigration: migrates the identifier of an earlier release from UserDefaults, which stores
// it in plaintext in a file.
//   (1) The old identifier is removed only after the keychain has returned a valid identifier.
//   (2) If the migration is interrupted at any step, the next launch completes it.

import Foundation

/// Moves the identifier of an earlier release to the keychain.
///
/// Call ``migrateFromUserDefaults()`` at every launch, before any other code requests the
/// identifier.
public enum DeviceIdMigration {
    /// The outcome of a migration. In each case, the defaults no longer contain an identifier.
    public enum Outcome: Hashable, Sendable {
        /// The defaults contained no identifier.
        case nothingToMigrate
        /// The identifier was moved to the keychain.
        case migrated
        /// The keychain already had an identifier, which is kept. The old identifier was removed
        /// from the defaults.
        case cleanedUp
    }

    /// The key that the earlier release used.
    static let oldKey = "deviceId"

    /// Moves the identifier from the key "deviceId" of `UserDefaults.standard` to the app's
    /// keychain.
    ///
    /// - Returns: The outcome.
    /// - Throws: ``DeviceIdentificationError/invalidDeviceId`` if the stored object is not an
    ///   identifier, or ``KeychainError``. After an error, the old object is still in the defaults.
    @discardableResult
    public static func migrateFromUserDefaults() throws -> Outcome {
        try migrateFromUserDefaults(defaults: .standard, keychain: KeychainService())
    }

    /// Moves the identifier from the key "deviceId" of the given defaults to a keychain.
    ///
    /// The identifier is saved and read back from the keychain before it is removed from the
    /// defaults. If the keychain already contains a valid identifier, that identifier is kept.
    ///
    /// - Parameters:
    ///   - defaults: The defaults of the earlier release.
    ///   - keychain: The destination.
    /// - Returns: The outcome.
    /// - Throws: ``DeviceIdentificationError/invalidDeviceId`` if the stored object is not an
    ///   identifier, or ``KeychainError``. After an error, the old object is still in the defaults.
    @discardableResult
    public static func migrateFromUserDefaults(
        defaults: UserDefaults, keychain: any KeychainServiceProtocol
    ) throws -> Outcome {
        guard let old = defaults.object(forKey: oldKey) else { return .nothingToMigrate }
        guard let text = old as? String, let uuid = UUID(uuidString: text), uuid.isIdentifier
        else { throw DeviceIdentificationError.invalidDeviceId }
        let isNew = try keychain.add(Data(uuid.uuidString.utf8), for: KeychainKeys.deviceId)
        guard let stored = try keychain.loadUUID(for: KeychainKeys.deviceId) else {
            throw KeychainError.itemNotFound
        }
        guard stored.isIdentifier, stored == uuid || !isNew else {
            throw KeychainError.unexpectedData
        }
        defaults.removeObject(forKey: oldKey)
        // Write the removal to disk now, because the app may exit soon.
        defaults.synchronize()
        return isNew ? .migrated : .cleanedUp
    }
}
