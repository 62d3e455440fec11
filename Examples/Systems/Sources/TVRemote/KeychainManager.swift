// KeychainManager: values of any Codable type in the keychain, by service and account.

public import Keychain

/// Keeps values of any `Codable` type.
///
/// A manager holds no secret and no open file. Values are readable after the first unlock, so
/// that a widget can draw itself on a locked screen, and useless on another device.
public struct KeychainManager: Sendable {
    private let accessGroup: String?
    private let database: KeychainDatabase

    /// A manager of the values in an access group.
    ///
    /// - Parameters:
    ///   - accessGroup: The group that programs share. nil: the program's own.
    ///   - database: Where the items are.
    public init(accessGroup: String? = nil, in database: KeychainDatabase = .default) {
        self.accessGroup = accessGroup
        self.database = database
    }

    /// Saves a value, replacing the one that was there.
    ///
    /// The value is on the disk when this returns. When it throws, the stored one is as it was.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - service: What it belongs to.
    ///   - account: Whose it is.
    /// - Throws: `KeychainError`, with code `missingEntitlement` if the program may not use the
    ///   access group.
    public func save<Value: Codable & Sendable>(
        _ value: Value, service: String, account: String
    ) throws {
        try keychain(service).save(value, for: account)
    }

    /// Loads a value.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - service: What it belongs to.
    ///   - account: Whose it is.
    /// - Returns: The value; nil if there is none.
    /// - Throws: `KeychainError`, with code `missingEntitlement` if the program may not use the
    ///   access group, or `decodingFailed` if the stored value is of another type. It stays.
    public func load<Value: Codable & Sendable>(
        _ type: Value.Type = Value.self, service: String, account: String
    ) throws -> Value? {
        try keychain(service).load(type, for: account)
    }

    /// Deletes a value. Deleting one that isn't there succeeds.
    ///
    /// - Parameters:
    ///   - service: What it belongs to.
    ///   - account: Whose it is.
    /// - Throws: `KeychainError`; the value is still there.
    public func delete(service: String, account: String) throws {
        try keychain(service).delete(account)
    }

    func keychain(_ service: String) -> Keychain {
        Keychain(service: service, accessGroup: accessGroup, in: database)
    }
}
