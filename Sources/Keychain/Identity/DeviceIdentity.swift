// DeviceIdentity: an identifier that an installation creates once and keeps.
//   (1) There is one identifier per database, service, access group and account. Concurrent callers
//       that create it all receive the same one.
//   (2) The identifier is stored as text, only in the keychain, and is never synchronized.
//   (3) The cached identifier is discarded whenever this process saves or deletes a value through
//       `Keychain`, see `ChangeCount`.

public import Foundation
import Synchronization

/// A random identifier of this installation that stays the same from launch to launch.
///
/// ```swift
/// let identity = DeviceIdentity(service: "com.example.app")
/// let identifier = try identity.identifier()  // created by the first call, then always the same
/// ```
///
/// A new identifier is a version 4 UUID in the text form of `UUID.uuidString`. It is stored as an
/// ordinary item that can be read after the first unlock, is restricted to this device, and is
/// never synchronized. Programs that share an access group share the identity if they specify the
/// same group, service and account.
///
/// Every operation has a synchronous form, which blocks the calling thread, and an `async` form,
/// which doesn't. Copies of a `DeviceIdentity` share the cached identifier.
public struct DeviceIdentity: Sendable {
    /// The keychain that holds the identifier.
    public let keychain: Keychain

    /// The account that holds the identifier (`kSecAttrAccount`).
    public let account: String

    let memory = Memory()

    /// Creates the identity of a service.
    ///
    /// Nothing is opened or read before the first operation.
    ///
    /// - Parameters:
    ///   - service: The service that the identity belongs to, by convention a reverse-domain name.
    ///   - accessGroup: The access group to share the identity in. For the meaning of `nil`, see
    ///     ``Keychain/Keychain/accessGroup``.
    ///   - account: The account that holds the identifier, or `nil` for ``account(for:)``.
    ///   - database: The database that holds the identifier.
    public init(
        service: String, accessGroup: String? = nil, account: String? = nil,
        in database: KeychainDatabase = .default
    ) {
        keychain = Keychain(service: service, accessGroup: accessGroup, in: database)
        self.account = account ?? Self.account(for: service)
    }

    /// The default account for the identity of a service, such as
    /// "com.example.app.device.identifier". It is a reverse-domain name if the service is one.
    public static func account(for service: String) -> String {
        service + ".device.identifier"
    }

    /// The key of the identifier in ``keychain``, for migrating an existing identifier:
    ///
    /// ```swift
    /// let report = identity.keychain.migrate(
    ///     [.init("deviceId", to: identity.key)], from: .standard)
    /// ```
    ///
    /// Loading or saving anything but an identifier fails with ``KeychainError/Code/invalidData``.
    /// Loading bytes that are not valid UTF-8 fails with
    /// ``KeychainError/Code/dataConversionFailed``.
    public var key: KeychainKey<String> {
        KeychainKey(
            account, label: "Device identifier",
            encode: { Data(try Self.validated($0).utf8) },
            decode: { try Self.validated(String(keychainData: $0)) })
    }

    /// - Returns: The text, if it is an identifier.
    /// - Throws: `invalidData` for any other text, and for the nil UUID (all zeros), which stands
    ///   for "none" and would be the same on many devices.
    static func validated(_ text: String) throws(KeychainError) -> String {
        guard let identifier = UUID(uuidString: text),
            identifier.uuidString != "00000000-0000-0000-0000-000000000000"
        else { throw KeychainError(.invalidData) }
        return text
    }

    // MARK: Reading

    /// Returns the identifier, creating and saving one if none exists.
    ///
    /// If several threads or processes create one concurrently, one of them succeeds and all
    /// receive the same identifier. Once it is known, the identifier is returned from memory, even
    /// while the keychain is locked. This method reads it again after this process has saved or
    /// deleted any value through a ``Keychain/Keychain``. `existing()`, on this value or a copy of
    /// it, also replaces the identifier in memory. If *another* process or another API resets or
    /// replaces the identifier, this method can return the earlier one until the identifier is read
    /// again.
    ///
    /// - Returns: The text as it is stored, 36 characters.
    /// - Throws: ``KeychainError`` with one of the following codes, or with any other status of the
    ///   keychain:
    ///   - ``KeychainError/Code/interactionNotAllowed`` before the first unlock. Retry after the
    ///     first unlock.
    ///   - ``KeychainError/Code/invalidData`` or ``KeychainError/Code/dataConversionFailed`` if the
    ///     stored bytes are not an identifier. The bytes are in ``KeychainError/storedData`` and
    ///     stay in the keychain.
    ///
    /// The corresponding calls are `SecItemCopyMatching` and, if no item was found, `SecItemAdd`.
    public func identifier() throws(KeychainError) -> String {
        if let known = memory.identifier { return known }
        let changes = ChangeCount.count
        let identifier: String
        if let present = try keychain.load(key) {
            identifier = present
        } else {
            identifier = try keychain.addOrLoad(UUID().uuidString, key)
        }
        memory.remember(identifier, changes)
        return identifier
    }

    /// Returns the identifier, or `nil` if none exists. None is created. This method always reads
    /// the keychain.
    ///
    /// - Returns: The text as it is stored, or `nil` if none exists.
    /// - Throws: ``KeychainError`` as for `identifier()`. Every failure is thrown, so `nil` always
    ///   means that no identifier exists.
    public func existing() throws(KeychainError) -> String? {
        let changes = ChangeCount.count
        let identifier = try keychain.load(key)
        memory.remember(identifier, changes)
        return identifier
    }

    /// Checks whether an identifier exists, without reading or creating one. Stored bytes that are
    /// not an identifier count as one.
    ///
    /// - Throws: ``KeychainError`` with the status of the failure. Every failure is thrown, so
    ///   `false` always means that no identifier exists.
    public func exists() throws(KeychainError) -> Bool {
        try keychain.exists(key)
    }

    // MARK: Changes

    /// Permanently deletes the identifier. The next `identifier()` creates a different one.
    ///
    /// - Returns: `true` if an identifier existed.
    /// - Throws: ``KeychainError`` with the status of the failure. If this method throws, the
    ///   identifier is unchanged, except possibly after an ``KeychainError/Cause/interruption``.
    @discardableResult
    public func reset() throws(KeychainError) -> Bool {
        try keychain.delete(key)
    }

    /// Stores an existing identifier, for example from an old store or a backup, as the identifier
    /// of this installation.
    ///
    /// The text is stored exactly as passed, unless the same identifier is already stored and
    /// `isReplacing` is `false`. If this method throws, the stored identifier is unchanged, except
    /// possibly after an ``KeychainError/Cause/interruption``.
    ///
    /// - Parameters:
    ///   - identifier: The 36 characters of a UUID, in upper or lower case, not all zero.
    ///   - isReplacing: Whether to replace a different identifier.
    /// - Throws: ``KeychainError`` with one of the following codes, or with any other status of the
    ///   keychain:
    ///   - ``KeychainError/Code/invalidData`` if the text is not such an identifier.
    ///   - ``KeychainError/Code/invalidData`` or ``KeychainError/Code/dataConversionFailed`` if the
    ///     stored bytes are not an identifier and `isReplacing` is `false`.
    ///   - ``KeychainError/Code/duplicateItem`` if a different identifier is stored and
    ///     `isReplacing` is `false`. Identifiers that differ only in case are the same.
    public func `import`(
        _ identifier: String, replacing isReplacing: Bool = false
    ) throws(KeychainError) {
        do {
            _ = try Self.validated(identifier)
        } catch {
            throw KeychainError(
                error.code, operation: .save, service: keychain.service, account: account)
        }
        if isReplacing {
            try keychain.save(identifier, for: key)
            return
        }
        let (isImported, present) = try keychain.compareExchange(
            expected: nil, desired: identifier, for: key)
        guard isImported || present.flatMap(UUID.init(uuidString:)) == UUID(uuidString: identifier)
        else {
            throw KeychainError(
                .duplicateItem, operation: .save, service: keychain.service, account: account)
        }
    }

    /// Stores an existing identifier as the identifier of this installation.
    ///
    /// This is the same as importing the identifier's `uuidString`.
    public func `import`(
        _ identifier: UUID, replacing isReplacing: Bool = false
    ) throws(KeychainError) {
        try `import`(identifier.uuidString, replacing: isReplacing)
    }

    /// Returns the identifier for use elsewhere, in a form that `import(_:replacing:)` accepts.
    ///
    /// - Returns: The text as it is stored, or `nil` if none exists, as for `existing()`.
    /// - Throws: ``KeychainError`` as for `identifier()`.
    public func export() throws(KeychainError) -> String? {
        try existing()
    }

    // MARK: Cache

    /// The identifier that was last read or created, and the change count before it was read or
    /// created.
    final class Memory: Sendable {
        private let entry = Mutex<(identifier: String, changes: Int)?>(nil)

        var identifier: String? {
            let changes = ChangeCount.count
            return entry.withLock { $0?.changes == changes ? $0?.identifier : nil }
        }

        func remember(_ identifier: String?, _ changes: Int) {
            entry.withLock { $0 = identifier.map { ($0, changes) } }
        }
    }
}

// MARK: UUID

extension DeviceIdentity {
    /// Returns the identifier as a `UUID`, creating and saving one if none exists.
    ///
    /// Otherwise the same as `identifier()`.
    public func identifier(as type: UUID.Type) throws(KeychainError) -> UUID {
        try Self.uuid(try identifier())
    }

    /// Returns the identifier as a `UUID`, or `nil` if none exists. None is created.
    ///
    /// Otherwise the same as `existing()`.
    public func existing(as type: UUID.Type) throws(KeychainError) -> UUID? {
        guard let text = try existing() else { return nil }
        return try Self.uuid(text)
    }

    static func uuid(_ text: String) throws(KeychainError) -> UUID {
        // The stored text was validated when it was read.
        guard let identifier = UUID(uuidString: text) else { throw KeychainError(.invalidData) }
        return identifier
    }
}
