// DeviceIdentity: the identifier that an installation makes once and keeps.
//   (1) One identifier per service, group and account: all that race for it get the same one.
//   (2) It is kept in the keychain alone, as text, and never leaves it by synchronization.
//   (3) What is remembered is dropped with every change that this process makes to a keychain.

public import Foundation
import Synchronization

/// A random identifier of this installation that stays the same from launch to launch.
///
/// ```swift
/// let identity = DeviceIdentity(service: "com.example.app")
/// let identifier = try identity.identifier()  // made at the first call, the same ever after
/// ```
///
/// The identifier is a version 4 UUID in the text form of `UUID.uuidString`. It is an item like
/// any other: readable after the first unlock, of this device only, never synchronized.
/// Programs that share an access group share the identity if they name group and service.
///
/// Every operation has a synchronous form, which blocks the thread that calls it, and an `async`
/// form, which doesn't. Copies of a value remember what one of them has read.
public struct DeviceIdentity: Sendable {
    /// The keychain that holds the identifier.
    public let keychain: Keychain

    /// The account that holds the identifier (`kSecAttrAccount`).
    public let account: String

    let memory = Memory()

    /// The identity of a service.
    ///
    /// Nothing is opened or read before the first operation.
    ///
    /// - Parameters:
    ///   - service: What the identity belongs to, by convention a reverse-domain name.
    ///   - accessGroup: The access group to share the identity in. nil: see
    ///     ``Keychain/Keychain/accessGroup``.
    ///   - account: The account that holds it. nil: ``account(for:)``.
    ///   - database: The database that holds it.
    public init(
        service: String, accessGroup: String? = nil, account: String? = nil,
        in database: KeychainDatabase = .default
    ) {
        keychain = Keychain(service: service, accessGroup: accessGroup, in: database)
        self.account = account ?? Self.account(for: service)
    }

    /// The account of the identity of a service, a reverse-domain name if the service is one:
    /// "com.example.app.device.identifier".
    public static func account(for service: String) -> String {
        service + ".device.identifier"
    }

    /// The key of the identifier in ``keychain``, for a migration of an old one:
    ///
    /// ```swift
    /// identity.keychain.migrate([.init("deviceId", to: identity.key)], from: .standard)
    /// ```
    ///
    /// Loading or saving anything but an identifier is ``KeychainError/Code/invalidData``.
    public var key: KeychainKey<String> {
        KeychainKey(
            account, label: "Device identifier",
            encode: { Data(try Self.validated($0).utf8) },
            decode: { try Self.validated(String(keychainData: $0)) })
    }

    /// - Returns: The text, if it is an identifier.
    /// - Throws: `invalidData` for anything else, and for the identifier of zeros, which stands
    ///   for "none" and would be the same on many devices.
    static func validated(_ text: String) throws(KeychainError) -> String {
        guard let identifier = UUID(uuidString: text),
            identifier.uuidString != "00000000-0000-0000-0000-000000000000"
        else { throw KeychainError(.invalidData) }
        return text
    }

    // MARK: Reading

    /// The identifier. Where there is none, one is made and saved.
    ///
    /// When several threads or processes make one at once, one wins and all of them get it. Once
    /// known, the identifier is given from memory, also while the keychain is locked. It is read
    /// anew after any change that this process makes through a ``Keychain/Keychain``. If
    /// *another* process resets or replaces it, `existing()` sees that at once and this after
    /// it.
    ///
    /// - Returns: The text as it is stored: 36 characters.
    /// - Throws: ``KeychainError``, with code
    ///   - ``KeychainError/Code/interactionNotAllowed`` before the first unlock: try again then;
    ///   - ``KeychainError/Code/invalidData`` or ``KeychainError/Code/dataConversionFailed`` if
    ///     something else is stored there: it is in ``KeychainError/storedData``, and stays;
    ///   - or any status of the keychain.
    ///
    /// The corresponding calls are those of `Keychain.load(_:orAdd:)`.
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

    /// The identifier if there is one. None is made. It is always read from the keychain.
    ///
    /// - Returns: The text as it is stored; nil if there is none.
    /// - Throws: ``KeychainError`` as for `identifier()`, so that nil always means that there
    ///   is none.
    public func existing() throws(KeychainError) -> String? {
        let changes = ChangeCount.count
        let identifier = try keychain.load(key)
        memory.remember(identifier, changes)
        return identifier
    }

    /// Whether there is an identifier. It is not read, and none is made.
    ///
    /// - Throws: ``KeychainError`` with a status of the keychain, so that "no" always means that
    ///   there is none.
    public func exists() throws(KeychainError) -> Bool {
        try keychain.exists(key)
    }

    // MARK: Changing

    /// Forgets the identifier for good. The next `identifier()` is another one.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: ``KeychainError`` with a status of the keychain. The identifier is as it was,
    ///   except perhaps after an ``KeychainError/Cause/interruption``.
    @discardableResult
    public func reset() throws(KeychainError) -> Bool {
        try keychain.delete(key)
    }

    /// Makes a known identifier that of this installation: one from an old store or a backup.
    ///
    /// It is stored letter for letter. When this throws, what was stored is as it was, except
    /// perhaps after an ``KeychainError/Cause/interruption``.
    ///
    /// - Parameters:
    ///   - identifier: 36 characters of a UUID, of either case, and not all zero.
    ///   - isReplacing: Whether another identifier may be replaced.
    /// - Throws: ``KeychainError``, with code
    ///   - ``KeychainError/Code/invalidData`` if the text is no such identifier, or if something
    ///     else is stored and may not be replaced;
    ///   - ``KeychainError/Code/duplicateItem`` if there is another identifier and it may not be
    ///     replaced. The same one in other letters is not another;
    ///   - or any status of the keychain.
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

    /// Makes a known identifier that of this installation.
    ///
    /// The same as `import(_:replacing:)` with its `uuidString`.
    public func `import`(
        _ identifier: UUID, replacing isReplacing: Bool = false
    ) throws(KeychainError) {
        try `import`(identifier.uuidString, replacing: isReplacing)
    }

    /// The identifier to take elsewhere, as `import(_:replacing:)` accepts it.
    ///
    /// - Returns: The same as `existing()`: the text as it is stored; nil if there is none.
    /// - Throws: ``KeychainError`` as for `identifier()`.
    public func export() throws(KeychainError) -> String? {
        try existing()
    }

    // MARK: Memory

    /// What was last read, and how many changes this process had made before.
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

// MARK: As UUID

extension DeviceIdentity {
    /// The identifier as a `UUID`. Where there is none, one is made and saved.
    ///
    /// Otherwise the same as `identifier()`.
    public func identifier(as type: UUID.Type) throws(KeychainError) -> UUID {
        try Self.uuid(try identifier())
    }

    /// The identifier as a `UUID` if there is one. None is made.
    ///
    /// Otherwise the same as `existing()`.
    public func existing(as type: UUID.Type) throws(KeychainError) -> UUID? {
        guard let text = try existing() else { return nil }
        return try Self.uuid(text)
    }

    static func uuid(_ text: String) throws(KeychainError) -> UUID {
        // What is stored was validated when it was read.
        guard let identifier = UUID(uuidString: text) else { throw KeychainError(.invalidData) }
        return identifier
    }
}
