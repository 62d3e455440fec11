// The forms in which values are kept: text as UTF-8, a UUID as its text, Codable types as JSON.

import Foundation

extension KeychainServiceProtocol {
    // MARK: String

    /// Saves text as UTF-8, replacing what was there.
    ///
    /// - Parameters:
    ///   - string: The text.
    ///   - key: Its name.
    /// - Throws: ``KeychainError/saveFailed(status:)``. What was stored stays.
    public func saveString(_ string: String, for key: String) throws {
        try save(Data(string.utf8), for: key)
    }

    /// Loads text.
    ///
    /// - Parameter key: Its name.
    /// - Returns: The text; nil if there is none.
    /// - Throws: ``KeychainError/dataConversionFailed`` if the bytes are not UTF-8: they stay; or
    ///   ``KeychainError/loadFailed(status:)``.
    public func loadString(for key: String) throws -> String? {
        guard let data = try load(for: key) else { return nil }
        guard let string = String(validating: data, as: UTF8.self) else {
            throw KeychainError.dataConversionFailed
        }
        return string
    }

    // MARK: UUID

    /// Saves a UUID as the 36 characters of its text, replacing what was there.
    ///
    /// - Parameters:
    ///   - uuid: The UUID.
    ///   - key: Its name.
    /// - Throws: ``KeychainError/saveFailed(status:)``. What was stored stays.
    public func saveUUID(_ uuid: UUID, for key: String) throws {
        try saveString(uuid.uuidString, for: key)
    }

    /// Loads a UUID.
    ///
    /// - Parameter key: Its name.
    /// - Returns: The UUID; nil if there is none.
    /// - Throws: ``KeychainError/unexpectedData`` if the bytes are not the text of a UUID: they
    ///   stay; or ``KeychainError/loadFailed(status:)``.
    public func loadUUID(for key: String) throws -> UUID? {
        guard let data = try load(for: key) else { return nil }
        guard let text = String(validating: data, as: UTF8.self), let uuid = UUID(uuidString: text)
        else { throw KeychainError.unexpectedData }
        return uuid
    }

    // MARK: Codable

    /// Saves a value as JSON, replacing what was there.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Its name.
    /// - Throws: ``KeychainError/dataConversionFailed`` if it has no form as JSON, or
    ///   ``KeychainError/saveFailed(status:)``. What was stored stays.
    public func saveCodable<Value: Encodable>(_ value: Value, for key: String) throws {
        // The encoder's own error can hold the value, and goes no further.
        guard let data = try? JSONEncoder().encode(value) else {
            throw KeychainError.dataConversionFailed
        }
        try save(data, for: key)
    }

    /// Loads a value from JSON.
    ///
    /// - Parameters:
    ///   - type: The type of the value, where it doesn't follow from the context.
    ///   - key: Its name.
    /// - Returns: The value; nil if there is none.
    /// - Throws: ``KeychainError/unexpectedData`` if the bytes are no such value: they stay; or
    ///   ``KeychainError/loadFailed(status:)``.
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
