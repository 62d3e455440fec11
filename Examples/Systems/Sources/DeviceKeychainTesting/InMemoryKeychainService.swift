// InMemoryKeychainService: the app's items in a keychain in memory. The app doesn't link it.

public import DeviceKeychain
public import Foundation
public import KeychainTesting

/// Keeps secrets in memory and behaves like ``KeychainService``, because it is one: the keychain
/// below is the real one with its database in memory.
///
/// ```swift
/// let memory = InMemoryKeychainService()
/// let app = App(keychain: memory, devices: DeviceIdentificationService(in: memory.test.database))
/// try memory.test.lock()
/// ```
public struct InMemoryKeychainService: KeychainServiceProtocol {
    /// Its lock, its clock and its faults.
    public let test: TestKeychain
    private let service: KeychainService

    /// Makes an empty one, which nothing else sees.
    public init() {
        test = TestKeychain()
        service = KeychainService(in: test.database)
    }

    /// Saves bytes, replacing those that were there.
    public func save(_ data: Data, forKey key: StorageKey) throws {
        try service.save(data, forKey: key)
    }

    /// Loads bytes; nil if there are none.
    public func load(forKey key: StorageKey) throws -> Data? {
        try service.load(forKey: key)
    }

    /// Deletes what is there.
    public func delete(forKey key: StorageKey) throws {
        try service.delete(forKey: key)
    }

    /// Whether there is anything.
    public func exists(forKey key: StorageKey) throws -> Bool {
        try service.exists(forKey: key)
    }
}
