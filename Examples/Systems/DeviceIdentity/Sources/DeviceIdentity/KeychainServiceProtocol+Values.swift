// KeychainServiceProtocol+Values: saves and loads values, with text as UTF-8, a UUID as text, and
// Codable types as JSON.

import Foundation

extension KeychainServiceProtocol {
    // MARK: String

    /// Saves text as UTF-8, replacing an existing value.
    ///
    /// - Parameters:
    ///   - string: The text.
    ///   - key: The name under which the item is stored.
    /// - Throws: ``KeychainError/saveFailed(status:)``. Stored data are kept.
    public func saveString(_ string: String, for key: String) throws {
        try save(Data(string.utf8), for: key)
    }

    /// Loads text.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: The text, or `nil` if the item does not exist.
    /// - Throws: ``KeychainError/dataConversionFailed`` if the bytes are not UTF-8, in which case
    ///   they are kept; or ``KeychainError/loadFailed(status:)``.
    public func loadString(for key: String) throws -> String? {
        guard let data = try load(for: key) else { return nil }
        guard let string = String(validating: data, as: UTF8.self) else {
            throw KeychainError.dataConversionFailed
        }
        return string
    }

    // MARK: UUID

    /// Saves a UUID as the 36 characters of its text, replacing an existing value.
    ///
    /// - Parameters:
    ///   - uuid: The UUID.
    ///   - key: The name under which the item is stored.
    /// - Throws: ``KeychainError/saveFailed(status:)``. Stored data are kept.
    public func saveUUID(_ uuid: UUID, for key: String) throws {
        try saveString(uuid.uuidString, for: key)
    }

    /// Loads a UUID.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: The UUID, or `nil` if the item does not exist.
    /// - Throws: ``KeychainError/unexpectedData`` if the bytes are not the text of a UUID, in which
    ///   case they are kept; or ``KeychainError/loadFailed(status:)``.
    public func loadUUID(for key: String) throws -> UUID? {
        guard let data = try load(for: key) else { return nil }
        guard let text = String(validating: data, as: UTF8.self), let uuid = UUID(uuidString: text)
        else { throw KeychainError.unexpectedData }
        return uuid
    }

    // MARK: Codable

    /// Saves a value as JSON, replacing an existing value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The name under which the item is stored.
    /// - Throws: ``KeychainError/dataConversionFailed`` if the value can't be encoded as JSON, or
    ///   ``KeychainError/saveFailed(status:)``. Stored data are kept.
    public func saveCodable<Value: Encodable>(_ value: Value, for key: String) throws {
        // The encoder's error is dropped, because it can contain the value.
        guard let data = try? JSONEncoder().encode(value) else {
            throw KeychainError.dataConversionFailed
        }
        try save(data, for: key)
    }

    /// Loads a value from JSON.
    ///
    /// - Parameters:
    ///   - type: The type of the value, if it can't be inferred from the context.
    ///   - key: The name under which the item is stored.
    /// - Returns: The value, or `nil` if the item does not exist.
    /// - Throws: ``KeychainError/unexpectedData`` if the bytes are not a value of this type, in
    ///   which case they are kept; or ``KeychainError/loadFailed(status:)``.
    public func loadCodable<Value: Decodable>(
        _ type: Value.Type = Value.self, for key: String
    ) throws -> Value? {
        guard let data = try load(for: key) else { return nil }
        guard let value = try? JSONDecoder().decode(type, from: data) else {
            throw KeychainError.unexpectedData
        }
        return value
    }
}
