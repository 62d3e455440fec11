// DeviceIdentificationService: the identifier by which the app's server knows this device.

public import Foundation
public import Keychain

/// The identifier of this installation: a random UUID that is made once and stays.
///
/// Many processes may ask at once, the first time too: one makes it, and all get that one. It is
/// in the keychain alone, never in `UserDefaults`, and in memory once it was read.
///
/// All functions throw `KeychainError`; ``KeychainFailure`` puts it in the words of this app.
public struct DeviceIdentificationService: Sendable {
    private let identity: DeviceIdentity

    /// The identifier in a database.
    ///
    /// - Parameter database: The database: the user's, unless a test brings its own.
    public init(in database: KeychainDatabase = .default) {
        identity = DeviceIdentity(
            service: StorageKey.service, account: StorageKey.deviceId.rawValue, in: database)
    }

    // MARK: Get or create

    /// The identifier, at once. Where there is none, one is made.
    public func deviceId() throws -> String {
        try identity.identifier()
    }

    /// The identifier as a UUID, at once. Where there is none, one is made.
    public func deviceId(as type: UUID.Type) throws -> UUID {
        try identity.identifier(as: type)
    }

    /// The identifier, without blocking the caller. Where there is none, one is made.
    public func deviceId() async throws -> String {
        try await identity.identifier()
    }

    /// The identifier as a UUID, without blocking the caller. Where there is none, one is made.
    public func deviceId(as type: UUID.Type) async throws -> UUID {
        try await identity.identifier(as: type)
    }

    // MARK: Read

    /// The identifier, at once; nil if there is none. None is made.
    public func existingDeviceId() throws -> String? {
        try identity.existing()
    }

    /// Whether there is an identifier.
    public func hasDeviceId() throws -> Bool {
        try identity.exists()
    }

    // MARK: Change and carry over

    /// Forgets the identifier for good. The next one is another.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    public func resetDeviceId() throws -> Bool {
        try identity.reset()
    }

    /// The identifier, to take to another device.
    ///
    /// - Throws: `itemNotFound` if there is none.
    public func exportDeviceId() throws -> String {
        guard let identifier = try identity.export() else {
            throw KeychainError(
                .itemNotFound, operation: .load, service: identity.keychain.service,
                account: identity.account)
        }
        return identifier
    }

    /// Takes over the identifier of another device, letter for letter.
    ///
    /// - Parameters:
    ///   - identifier: A UUID in 36 characters.
    ///   - isReplacing: Whether an identifier that is there may be replaced.
    /// - Throws: `invalidData` if it is no such text, and `duplicateItem` if there is another
    ///   identifier, which may not be replaced.
    public func importDeviceId(_ identifier: String, replacing isReplacing: Bool = false) throws {
        try identity.import(identifier, replacing: isReplacing)
    }

    /// Takes over the identifier of another device.
    ///
    /// The same as with its text.
    public func importDeviceId(_ identifier: UUID, replacing isReplacing: Bool = false) throws {
        try identity.import(identifier, replacing: isReplacing)
    }

    /// Moves the identifier of an earlier release out of `UserDefaults`, where it lies readable.
    ///
    /// Call it at every start, before anything asks for the identifier. It is saved, read back and
    /// compared before the old one goes. If the keychain has an identifier already, that one
    /// counts, and the old one is only cleaned up.
    ///
    /// - Parameter defaults: The defaults of the earlier release.
    /// - Returns: What was done. Unless it `isComplete`, the old one is still in the defaults.
    /// - Throws: `invalidData` if it is no identifier, or why it could not be saved. It stays in
    ///   the defaults.
    @discardableResult
    public func migrateDeviceId(
        from defaults: UserDefaults
    ) throws -> Keychain.Migration.Outcome {
        let report = identity.keychain.migrate(
            [.init(StorageKey.oldDefaults.deviceId, to: identity.key)], from: defaults,
            onConflict: .keepDestination)
        for item in report.items {
            if let error = item.error { throw error }
            return item.outcome
        }
        return .nothingToMigrate
    }
}
