// KeychainService: the capture app's items, each by its key.
//   (1) Every item is for this device only and never synchronized.
//   (2) A log line names an operation and a key, never a value.

public import Foundation
public import Keychain
public import Logging

/// The keys and identifiers of this device.
///
/// A service holds no secret and no open file: make as many as you like, and use them from any
/// thread. What is saved is on the disk when the call returns, for this app alone.
public struct KeychainService: Sendable {
    /// What the items belong to (`kSecAttrService`).
    public static let service = "app.rial.keychain"

    /// The keys of the items (`kSecAttrAccount`).
    public enum Account {
        /// The name of the key that attests this device, text.
        public static let attestationKeyId = "rial.attestation.keyId"
        /// The identifier of this device, text.
        public static let deviceId = "rial.device.id"
        /// The ``DeviceState``, JSON.
        public static let deviceState = "rial.device.state"
        /// The key that captures are encrypted with, 256 bits.
        public static let encryptionKey = "rial.encryption.key"
        /// All of them.
        public static let all = [attestationKeyId, deviceId, deviceState, encryptionKey]
    }

    /// When an item can be read. No item can be read on another device.
    public enum Protection: CaseIterable, Sendable {
        /// After the first unlock since the start, also while the device is in a pocket.
        case afterFirstUnlockThisDeviceOnly
        /// While the device is unlocked: for critical items.
        case whenUnlockedThisDeviceOnly

        var accessibility: Keychain.Accessibility {
            switch self {
            case .afterFirstUnlockThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
            case .whenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
            }
        }
    }

    let keychain: Keychain
    private let logger: Logger

    /// A service for the items of this app.
    ///
    /// - Parameters:
    ///   - database: Where the items are.
    ///   - logger: What every operation is told to: at level debug, or error if it failed.
    public init(
        in database: KeychainDatabase = .default,
        logger: Logger = Logger(label: KeychainService.service)
    ) {
        keychain = Keychain(service: Self.service, in: database)
        self.logger = logger
    }

    // MARK: Bytes

    /// Saves bytes, replacing those that were there.
    ///
    /// When it throws, the item is as it was.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: The key of the item.
    ///   - protection: When it can be read from now on.
    /// - Throws: `KeychainError` with reason `saveFailed`; its code says why.
    public func save(
        _ data: Data, forKey key: String,
        protection: Protection = .afterFirstUnlockThisDeviceOnly
    ) throws {
        try perform("save", key) {
            try keychain.save(
                data, for: KeychainKey(key, accessibility: protection.accessibility))
        }
    }

    /// Saves bytes where there are none.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: The key of the item.
    ///   - protection: When it can be read.
    /// - Throws: `KeychainError` with reason `duplicateItem` if there is such an item, which stays
    ///   as it was; otherwise as for ``save(_:forKey:protection:)``.
    public func add(
        _ data: Data, forKey key: String,
        protection: Protection = .afterFirstUnlockThisDeviceOnly
    ) throws {
        try perform("add", key) {
            try keychain.add(
                data, for: KeychainKey(key, accessibility: protection.accessibility))
        }
    }

    /// Loads bytes.
    ///
    /// - Parameter key: The key of the item.
    /// - Returns: The bytes; nil if there is no such item.
    /// - Throws: `KeychainError` with reason `loadFailed`. The item is still there: while it is
    ///   locked, try again after unlock.
    public func load(forKey key: String) throws -> Data? {
        try perform("load", key) { try keychain.load(KeychainKey<Data>(key)) }
    }

    /// Deletes an item. Deleting one that isn't there succeeds.
    ///
    /// - Parameter key: The key of the item.
    /// - Throws: `KeychainError` with reason `deleteFailed`; the item is still there.
    public func delete(forKey key: String) throws {
        try perform("delete", key) { _ = try keychain.delete(key) }
    }

    // MARK: Attributes

    /// The attributes of an item as they are stored. The secret is not read.
    ///
    /// - Parameter key: The key of the item.
    /// - Returns: The attributes; nil if there is no such item.
    /// - Throws: `KeychainError` with reason `loadFailed`.
    public func attributes(forKey key: String) throws -> Keychain.Item? {
        try perform("read attributes of", key) { try keychain.item(key) }
    }

    /// Whether an item is stored with a protection, and is not synchronized.
    ///
    /// - Parameters:
    ///   - protection: The protection that it should have.
    ///   - key: The key of the item.
    /// - Returns: Whether it has exactly this protection.
    /// - Throws: `KeychainError` with reason `itemNotFound` if there is no such item: an absent
    ///   item is neither protected nor unprotected.
    public func isProtected(_ protection: Protection, forKey key: String) throws -> Bool {
        guard let item = try attributes(forKey: key) else { throw notFound(key) }
        return item.accessibility == protection.accessibility && !item.isSynchronizable
    }

    // MARK: For every operation

    func perform<Result>(
        _ operation: String, _ key: String, _ body: () throws -> Result
    ) throws -> Result {
        do {
            let result = try body()
            logger.debug("\(operation) \(key)")
            return result
        } catch {
            // The description of a KeychainError holds no value. Of other errors nobody knows.
            let reason = (error as? KeychainError)?.description ?? "\(type(of: error))"
            logger.error("\(operation) \(key): \(reason)")
            throw error
        }
    }

    func notFound(_ key: String) -> KeychainError {
        KeychainError(.itemNotFound, operation: .load, service: Self.service, account: key)
    }
}
