// DeviceIdentificationService: the identifier by which the backend knows this installation.
//   (1) An identifier is created only if none exists, never if one can't be read.
//   (2) If several first uses are concurrent, only one creates an identifier, and all receive it.
//   (3) `known` is set only while `turn` is held. Its new value is what the keychain then contains.
//   (4) `known` is never locked during a call to the keychain.

import Foundation
import Synchronization

/// The identifier of this installation, a random UUID that is created once and kept.
///
/// The identifier is stored only in the keychain, as text. After the first use, this object also
/// caches the identifier, so no secret is opened again until ``resetDeviceId()``. An app has one
/// such object. A change by another object or process becomes visible at the next launch.
///
/// The documentation of some operations says that the identifier is unchanged or kept after an
/// error. In one case, which ``KeychainError`` describes, the change may have been made
/// nevertheless.
public final class DeviceIdentificationService: Sendable {
    private let keychain: any KeychainServiceProtocol
    /// The identifier, once it has been read, created or imported.
    private let known = Mutex<UUID?>(nil)
    /// Each operation except ``hasDeviceId()`` holds this lock during all of its calls to the
    /// keychain.
    private let turn = Mutex<Void>(())

    /// Creates a service for the identifier in a keychain. Nothing is read before the first
    /// operation.
    ///
    /// - Parameter keychain: The app's keychain, or another keychain in tests.
    public init(keychain: any KeychainServiceProtocol = KeychainService()) {
        self.keychain = keychain
    }

    // MARK: Get or create

    /// Returns the identifier, creating and saving one if none exists.
    ///
    /// The caller's thread and actor are not blocked.
    ///
    /// - Returns: The identifier, which is durable.
    /// - Throws: ``KeychainError``
    ///   - ``KeychainError/loadFailed(status:)`` if the identifier can't be read. No identifier is
    ///     created, and the stored data are kept. Status -25308 means that the device is locked:
    ///     retry after it is unlocked.
    ///   - ``KeychainError/unexpectedData`` if the stored data are not the text of a UUID or are
    ///     the nil UUID. The data are kept.
    ///   - ``KeychainError/saveFailed(status:)`` if a new identifier could not be saved.
    ///   - ``KeychainError/itemNotFound`` if an existing identifier was deleted before it could be
    ///     read, three times in a row.
    @concurrent
    public func getDeviceId() async throws -> UUID {
        if let known = known.withLock({ $0 }) { return known }
        return try await withTaskExecutorPreference(KeychainExecutor.shared) {
            try self.loadOrMake()
        }
    }

    private func loadOrMake() throws -> UUID {
        try turn.withLock { _ in
            if let stored = try stored() { return stored }
            // Retry if the existing identifier was deleted before it could be read.
            for _ in 1...3 {
                let new = UUID()
                if try keychain.add(Data(new.uuidString.utf8), for: KeychainKeys.deviceId) {
                    return remember(new)
                }
                if let winner = try stored() { return winner }
            }
            throw KeychainError.itemNotFound
        }
    }

    // MARK: Read

    /// Returns the identifier synchronously. This method never creates an identifier.
    ///
    /// Unless the identifier is cached, the caller's thread waits for the keychain.
    ///
    /// - Returns: The identifier.
    /// - Throws: ``DeviceIdentificationError/deviceIdNotFound`` if none exists, or
    ///   ``KeychainError`` if it can't be read.
    public func getDeviceIdSync() throws -> UUID {
        if let known = known.withLock({ $0 }) { return known }
        guard let stored = try turn.withLock({ _ in try stored() }) else {
            throw DeviceIdentificationError.deviceIdNotFound
        }
        return stored
    }

    /// Checks whether an identifier exists. No secret is opened, and no identifier is created.
    ///
    /// - Returns: `true` if an identifier exists. `false` never indicates a failure.
    /// - Throws: ``KeychainError/loadFailed(status:)`` if this can't be determined.
    public func hasDeviceId() throws -> Bool {
        if known.withLock({ $0 }) != nil { return true }
        return try keychain.exists(for: KeychainKeys.deviceId)
    }

    /// Returns the identifier, for use in another installation.
    ///
    /// - Returns: The identifier.
    /// - Throws: The errors of ``getDeviceIdSync()``.
    public func exportDeviceId() throws -> UUID {
        try getDeviceIdSync()
    }

    // MARK: Change

    /// Deletes the identifier. The next identifier is different. If no identifier exists, this
    /// method succeeds.
    ///
    /// - Throws: ``KeychainError/deleteFailed(status:)``. The identifier is then kept.
    public func resetDeviceId() throws {
        try turn.withLock { _ in
            try keychain.delete(for: KeychainKeys.deviceId)
            known.withLock { $0 = nil }
        }
    }

    /// Replaces the identifier of this installation, if any, with that of another installation.
    ///
    /// - Parameter uuid: The identifier. The nil UUID, which stands for "none", is not accepted.
    /// - Throws: ``DeviceIdentificationError/invalidDeviceId``, or
    ///   ``KeychainError/saveFailed(status:)``. The identifier is then unchanged.
    public func importDeviceId(_ uuid: UUID) throws {
        guard uuid.isIdentifier else { throw DeviceIdentificationError.invalidDeviceId }
        try turn.withLock { _ in
            try keychain.saveUUID(uuid, for: KeychainKeys.deviceId)
            _ = remember(uuid)
        }
    }

    // MARK: Functions to call while `turn` is held

    /// Returns the cached identifier or, if none is cached, loads the stored identifier and caches
    /// it.
    private func stored() throws -> UUID? {
        if let known = known.withLock({ $0 }) { return known }
        guard let identifier = try keychain.loadUUID(for: KeychainKeys.deviceId) else { return nil }
        guard identifier.isIdentifier else { throw KeychainError.unexpectedData }
        return remember(identifier)
    }

    private func remember(_ identifier: UUID) -> UUID {
        known.withLock { $0 = identifier }
        return identifier
    }
}

extension UUID {
    /// Whether this UUID can identify an installation. The nil UUID is used where no identifier is
    /// available, and would be the same on many devices.
    var isIdentifier: Bool { uuidString.contains { $0 != "0" && $0 != "-" } }
}
