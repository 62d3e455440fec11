// KeychainService+Values: the values that the capture app stores, each with its own type.

import CryptoKit
import Foundation
import Security

extension KeychainService {
    // MARK: Symmetric keys

    /// Saves a 256-bit key, replacing an existing one.
    ///
    /// Data that were encrypted with the replaced key can no longer be decrypted.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - keyName: The name under which the item is stored.
    /// - Throws: ``KeychainError/invalidData`` for a key of another size, in which case nothing is
    ///   stored; otherwise the errors of ``save(_:forKey:)``.
    public func saveSymmetricKey(_ key: SymmetricKey, forKey keyName: String) throws {
        try logger.log("save", keyName) { try write(try bytes(of: key), forKey: keyName) }
    }

    /// Saves a 256-bit key with an accessibility, replacing an existing one.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - keyName: The name under which the item is stored.
    ///   - accessibility: The new accessibility of the item, such as
    ///     `kSecAttrAccessibleWhenUnlockedThisDeviceOnly`.
    /// - Throws: The errors of ``saveSymmetricKey(_:forKey:)``.
    public func saveSymmetricKey(
        _ key: SymmetricKey, forKey keyName: String, accessibility: CFString
    ) throws {
        try logger.log("save", keyName) {
            try write(try bytes(of: key), forKey: keyName, accessibility: accessibility)
        }
    }

    /// Loads a 256-bit key.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: The key, or `nil` if the item does not exist.
    /// - Throws: ``KeychainError/invalidData`` if the stored data are not 32 bytes, in which case
    ///   they are kept; otherwise the errors of ``load(forKey:)``.
    public func loadSymmetricKey(forKey key: String) throws -> SymmetricKey? {
        try logger.log("load", key) { try read(forKey: key).map(CryptoService.keyFromData) }
    }

    /// Loads a 256-bit key or, if none exists, generates and adds one. All processes that do this
    /// concurrently receive the same key.
    func loadOrMakeSymmetricKey(forKey key: String) throws -> SymmetricKey {
        try logger.log("load or add", key) {
            let data = try read(forKey: key) {
                CryptoService.keyToData(CryptoService.generateKey())
            }
            return try CryptoService.keyFromData(data)
        }
    }

    private func bytes(of key: SymmetricKey) throws -> Data {
        let data = CryptoService.keyToData(key)
        guard data.count == CryptoService.keyByteCount else { throw KeychainError.invalidData }
        return data
    }

    // MARK: Device state

    /// Saves the state of this device as JSON, replacing an existing one.
    ///
    /// - Parameter state: The state. Its date is stored with a precision of one second.
    /// - Throws: ``KeychainError/encodingFailed``, in which case nothing is stored; otherwise the
    ///   errors of ``save(_:forKey:)``.
    public func saveDeviceState(_ state: DeviceState) throws {
        try save(state, asJSONForKey: Account.deviceState)
    }

    /// Loads the state of this device.
    ///
    /// - Returns: The state, or `nil` if there is none.
    /// - Throws: ``KeychainError/decodingFailed`` if the stored bytes are not a state, in which
    ///   case they are kept; otherwise the errors of ``load(forKey:)``.
    public func loadDeviceState() throws -> DeviceState? {
        try logger.log("load", Account.deviceState) {
            try read(forKey: Account.deviceState).map { try decode(DeviceState.self, from: $0) }
        }
    }

    /// Loads the state of this device or, if none exists, creates and adds one. All processes that
    /// do this concurrently receive the same state.
    func loadDeviceState(orAdd makeState: () throws -> DeviceState) throws -> DeviceState {
        try logger.log("load or add", Account.deviceState) {
            let data = try read(forKey: Account.deviceState) { try encode(try makeState()) }
            return try decode(DeviceState.self, from: data)
        }
    }

    // MARK: Identifiers

    /// Saves the identifier of this device as text.
    ///
    /// - Parameter identifier: The identifier.
    /// - Throws: The errors of ``save(_:forKey:)``.
    public func saveDeviceId(_ identifier: String) throws {
        try save(Data(identifier.utf8), forKey: Account.deviceId)
    }

    /// Saves the identifier of this device as the text of a UUID.
    ///
    /// - Parameter identifier: The identifier.
    /// - Throws: The errors of ``save(_:forKey:)``.
    public func saveDeviceId(_ identifier: UUID) throws {
        try saveDeviceId(identifier.uuidString)
    }

    /// Loads the identifier of this device.
    ///
    /// - Returns: The identifier, or `nil` if there is none.
    /// - Throws: ``KeychainError/invalidData`` if the stored bytes are not UTF-8, in which case
    ///   they are kept; otherwise the errors of ``load(forKey:)``.
    public func loadDeviceId() throws -> String? {
        try logger.log("load", Account.deviceId) {
            try read(forKey: Account.deviceId).map(text)
        }
    }

    /// Loads the identifier of this device or, if none exists, creates and adds one. All processes
    /// that do this concurrently receive the same identifier.
    func loadOrMakeDeviceId() throws -> String {
        try logger.log("load or add", Account.deviceId) {
            try text(of: try read(forKey: Account.deviceId) { Data(UUID().uuidString.utf8) })
        }
    }

    /// Saves the identifier of the key that attests this device, as text.
    ///
    /// - Parameter identifier: The identifier.
    /// - Throws: The errors of ``save(_:forKey:)``.
    public func saveAttestationKeyId(_ identifier: String) throws {
        try save(Data(identifier.utf8), forKey: Account.attestationKeyId)
    }

    /// Loads the identifier of the key that attests this device.
    ///
    /// - Returns: The identifier, or `nil` if there is none.
    /// - Throws: The errors of ``loadDeviceId()``.
    public func loadAttestationKeyId() throws -> String? {
        try logger.log("load", Account.attestationKeyId) {
            try read(forKey: Account.attestationKeyId).map(text)
        }
    }

    // MARK: Bytes

    /// Returns the bytes of an item or, if the item does not exist, creates and adds the bytes.
    private func read(forKey key: String, orAdd makeData: () throws -> Data) throws -> Data {
        if let data = try read(forKey: key) { return data }
        let made = try makeData()
        do {
            try insert(made, forKey: key, accessibility: Self.defaultAccessibility)
            return made
        } catch KeychainError.duplicateItem {
            // Another process added the item first, so this process uses that item.
            guard let data = try read(forKey: key) else { throw KeychainError.itemNotFound }
            return data
        }
    }

    func save(_ value: some Encodable, asJSONForKey key: String) throws {
        try logger.log("save", key) { try write(try encode(value), forKey: key) }
    }

    private func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = .sortedKeys
        do {
            return try encoder.encode(value)
        } catch {
            throw KeychainError.encodingFailed
        }
    }

    private func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw KeychainError.decodingFailed
        }
    }

    private func text(of data: Data) throws -> String {
        guard let text = String(data: data, encoding: .utf8) else {
            throw KeychainError.invalidData
        }
        return text
    }
}
