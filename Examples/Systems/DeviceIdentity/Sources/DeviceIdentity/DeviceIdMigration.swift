// DeviceIdMigration: the identifier of an earlier release comes out of UserDefaults, where it lies
// readable in a file.
//   (1) The old one is removed only after the keychain has given an identifier back.
//   (2) Stopped at any step, the next launch does the rest.

import Foundation

/// Moves the identifier of an earlier release into the keychain.
///
/// Call it at every launch, before anything asks for the identifier.
public enum DeviceIdMigration {
    /// What a migration did. In each case there is no identifier in the defaults now.
    public enum Outcome: Hashable, Sendable {
        /// There was none.
        case nothingToMigrate
        /// It is in the keychain now.
        case migrated
        /// The keychain had one already, which counts. The old one was removed.
        case cleanedUp
    }

    /// The key of the earlier release.
    static let oldKey = "deviceId"

    /// Moves the identifier from the key "deviceId" of `UserDefaults.standard` into the app's
    /// keychain.
    ///
    /// - Returns: What was done.
    /// - Throws: ``DeviceIdentificationError/invalidDeviceId`` if what is there is no identifier,
    ///   or ``KeychainError``. The old one is still in the defaults then.
    @discardableResult
    public static func migrateFromUserDefaults() throws -> Outcome {
        try migrateFromUserDefaults(defaults: .standard, keychain: KeychainService())
    }

    /// Moves the identifier from the key "deviceId" of some defaults into a keychain.
    ///
    /// It is saved, read back and compared before the old one is removed.
    ///
    /// - Parameters:
    ///   - defaults: The defaults of the earlier release.
    ///   - keychain: Where it goes.
    /// - Returns: What was done.
    /// - Throws: ``DeviceIdentificationError/invalidDeviceId`` if what is there is no identifier,
    ///   or ``KeychainError``. The old one is still in the defaults then.
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
        guard stored == uuid || !isNew else { throw KeychainError.unexpectedData }
        defaults.removeObject(forKey: oldKey)
        // A launch can be short: the removal is written now, not some time later.
        defaults.synchronize()
        return isNew ? .migrated : .cleanedUp
    }
}
