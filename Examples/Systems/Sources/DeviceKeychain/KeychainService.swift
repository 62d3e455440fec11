// KeychainService: the app's items in the keychain of the user.

public import Foundation
public import Keychain

/// Keeps secrets in the keychain: readable after the first unlock, on this device only, never
/// synchronized.
public struct KeychainService: KeychainServiceProtocol {
    private let keychain: Keychain

    /// The app's items in a database.
    ///
    /// Nothing is opened before the first operation.
    ///
    /// - Parameter database: The database: the user's, unless a test brings its own.
    public init(in database: KeychainDatabase = .default) {
        keychain = Keychain(service: StorageKey.service, in: database)
    }

    /// Saves bytes, replacing those that were there.
    public func save(_ data: Data, forKey key: StorageKey) throws {
        try keychain.save(data, for: key.rawValue)
    }

    /// Loads bytes; nil if there are none.
    public func load(forKey key: StorageKey) throws -> Data? {
        try keychain.load(Data.self, for: key.rawValue)
    }

    /// Deletes what is there.
    public func delete(forKey key: StorageKey) throws {
        try keychain.delete(key.rawValue)
    }

    /// Whether there is anything.
    public func exists(forKey key: StorageKey) throws -> Bool {
        try keychain.exists(key.rawValue)
    }
}
