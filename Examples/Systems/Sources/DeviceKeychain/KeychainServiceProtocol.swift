// KeychainServiceProtocol: what the app asks of a keychain, and the forms of its values.

public import Foundation
import Keychain

/// Keeps secrets by key. The app uses ``KeychainService``; tests use one in memory.
///
/// Every function blocks its thread for as long as the disk takes. All throw `KeychainError`, and
/// have changed nothing then; ``KeychainFailure`` puts it in the words of this app.
public protocol KeychainServiceProtocol: Sendable {
    /// Saves bytes, replacing those that were there. They are durable when this returns.
    func save(_ data: Data, forKey key: StorageKey) throws

    /// Loads bytes; nil if there are none. Nil never stands for a failure.
    func load(forKey key: StorageKey) throws -> Data?

    /// Deletes what is there. It is fine if there is nothing.
    func delete(forKey key: StorageKey) throws

    /// Whether there is anything. The secret is not read.
    func exists(forKey key: StorageKey) throws -> Bool
}

extension KeychainServiceProtocol {
    /// Saves text as UTF-8.
    public func save(_ text: String, forKey key: StorageKey) throws {
        try save(text.keychainData, forKey: key)
    }

    /// Loads text; nil if there is none.
    ///
    /// - Throws: `dataConversionFailed` if the bytes are no UTF-8. They stay.
    public func loadString(forKey key: StorageKey) throws -> String? {
        try load(forKey: key) { try String(keychainData: $0) }
    }

    /// Saves an identifier as its 36 characters.
    public func save(_ identifier: UUID, forKey key: StorageKey) throws {
        try save(identifier.keychainData, forKey: key)
    }

    /// Loads an identifier; nil if there is none.
    ///
    /// - Throws: `invalidData` if the bytes are anything else. They stay.
    public func loadUUID(forKey key: StorageKey) throws -> UUID? {
        try load(forKey: key) { try UUID(keychainData: $0) }
    }

    /// Saves a value as JSON.
    ///
    /// - Throws: `encodingFailed` if it has no such form. Nothing is saved then.
    public func save(_ value: some Encodable, forKey key: StorageKey) throws {
        let data: Data
        do {
            data = try JSONEncoder().encode(value)
        } catch {
            throw KeychainError(
                .encodingFailed, operation: .save, account: key.rawValue, underlyingError: error)
        }
        try save(data, forKey: key)
    }

    /// Loads a value from JSON; nil if there is none.
    ///
    /// - Throws: `decodingFailed` if the bytes are no such value. They stay.
    public func load<Value: Decodable>(
        _ type: Value.Type, forKey key: StorageKey
    ) throws -> Value? {
        try load(forKey: key) { try JSONDecoder().decode(type, from: $0) }
    }

    private func load<Value>(
        forKey key: StorageKey, as decode: (Data) throws -> Value
    ) throws -> Value? {
        guard let data = try load(forKey: key) else { return nil }
        do {
            return try decode(data)
        } catch {
            let code = (error as? KeychainError)?.code ?? .decodingFailed
            var failure = KeychainError(
                code, operation: .load, account: key.rawValue, underlyingError: error)
            failure.storedData = data
            throw failure
        }
    }
}
