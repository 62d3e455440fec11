// DeviceIdentificationService: the identifier by which the backend knows this installation.
//   (1) One is made where there is none, never where one can't be read.
//   (2) Of first uses at the same time one makes it, and all of them get that one.
//   (3) `known` is set only while `turn` is held, to what the keychain held during that turn.
//   (4) `known` is never locked during a call of the keychain.

import Foundation
import Synchronization

/// The identifier of this installation: a random UUID that is made once and stays.
///
/// It is in the keychain alone, as text, and after its first use also in the memory of this
/// object: no secret is opened again until ``resetDeviceId()`` or an import. An app has one such
/// object. A change that another object or process makes is seen by the next launch.
public final class DeviceIdentificationService: Sendable {
    private let keychain: any KeychainServiceProtocol
    /// The identifier, once it was read, made or imported.
    private let known = Mutex<UUID?>(nil)
    /// Held during the calls that make one operation.
    private let turn = Mutex<Void>(())

    /// The identifier in a keychain. Nothing is read before the first operation.
    ///
    /// - Parameter keychain: The keychain: the app's, unless a test brings its own.
    public init(keychain: any KeychainServiceProtocol = KeychainService()) {
        self.keychain = keychain
    }

    // MARK: Get or create

    /// The identifier. Where there is none, one is made and saved.
    ///
    /// The caller's thread and actor are not blocked.
    ///
    /// - Returns: The identifier. It is durable.
    /// - Throws: ``KeychainError``
    ///   - ``KeychainError/loadFailed(status:)`` if it can't be read. None is made, and what is
    ///     stored stays. While the device is locked, status -25308: try again after the unlock.
    ///   - ``KeychainError/unexpectedData`` if something else is stored in its place. It stays.
    ///   - ``KeychainError/saveFailed(status:)`` if a new one could not be saved.
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
            // Again if the winner's was deleted before it could be read.
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

    /// The identifier, at once. None is made.
    ///
    /// Unless it is in memory already, the caller's thread waits for the keychain.
    ///
    /// - Returns: The identifier.
    /// - Throws: ``DeviceIdentificationError/deviceIdNotFound`` if there is none, or
    ///   ``KeychainError`` if it can't be read.
    public func getDeviceIdSync() throws -> UUID {
        if let known = known.withLock({ $0 }) { return known }
        guard let stored = try turn.withLock({ _ in try stored() }) else {
            throw DeviceIdentificationError.deviceIdNotFound
        }
        return stored
    }

    /// Whether there is an identifier. No secret is opened, and none is made.
    ///
    /// - Returns: Whether there is one. False never stands for a failure.
    /// - Throws: ``KeychainError/loadFailed(status:)`` if that can't be found out.
    public func hasDeviceId() throws -> Bool {
        if known.withLock({ $0 }) != nil { return true }
        return try keychain.exists(for: KeychainKeys.deviceId)
    }

    /// The identifier, to take it to another installation.
    ///
    /// - Returns: The identifier.
    /// - Throws: What ``getDeviceIdSync()`` throws.
    public func exportDeviceId() throws -> UUID {
        try getDeviceIdSync()
    }

    // MARK: Change

    /// Forgets the identifier. The next one is another. It succeeds if there is none.
    ///
    /// - Throws: ``KeychainError/deleteFailed(status:)``. The identifier stays.
    public func resetDeviceId() throws {
        try turn.withLock { _ in
            try keychain.delete(for: KeychainKeys.deviceId)
            known.withLock { $0 = nil }
        }
    }

    /// Makes the identifier of another installation that of this one. It replaces the one that is
    /// there.
    ///
    /// - Parameter uuid: The identifier. The UUID of zeros, which stands for "none", is not one.
    /// - Throws: ``DeviceIdentificationError/invalidDeviceId``, or
    ///   ``KeychainError/saveFailed(status:)``. The identifier stays as it was.
    public func importDeviceId(_ uuid: UUID) throws {
        guard uuid.isIdentifier else { throw DeviceIdentificationError.invalidDeviceId }
        try turn.withLock { _ in
            try keychain.saveUUID(uuid, for: KeychainKeys.deviceId)
            _ = remember(uuid)
        }
    }

    // MARK: Under `turn`

    /// What is known or else stored, and is known from then on.
    private func stored() throws -> UUID? {
        if let known = known.withLock({ $0 }) { return known }
        return try keychain.loadUUID(for: KeychainKeys.deviceId).map(remember)
    }

    private func remember(_ identifier: UUID) -> UUID {
        known.withLock { $0 = identifier }
        return identifier
    }
}

extension UUID {
    /// Whether this can stand for an installation. The UUID of zeros is given out where there is
    /// none, and would be the same on many devices.
    var isIdentifier: Bool { uuidString.contains { $0 != "0" && $0 != "-" } }
}
