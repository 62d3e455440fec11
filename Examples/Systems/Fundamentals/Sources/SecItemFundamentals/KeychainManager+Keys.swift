// KeychainManager+Keys: stores CryptoKit's keys as generic passwords, in their raw form. Items of
// class key can't contain a symmetric key or a Curve25519 key.

import CryptoKit
import Foundation
import Security

/// A key that can be converted to bytes and back.
public protocol RawKey: Sendable {
    /// Creates a key from its bytes, or throws an error if the bytes are not a key of this type.
    init(rawForm: Data) throws
    /// The bytes to store.
    var rawForm: Data { get }
}

extension SymmetricKey: RawKey {
    /// Creates a key from any bytes. Throws an error if there are no bytes.
    public init(rawForm: Data) throws {
        guard !rawForm.isEmpty else { throw CryptoKitError.incorrectKeySize }
        self.init(data: rawForm)
    }

    /// The key's bytes.
    public var rawForm: Data { withUnsafeBytes { Data($0) } }
}

extension P256.Signing.PrivateKey: RawKey {
    /// Creates a key from 32 bytes.
    public init(rawForm: Data) throws { try self.init(rawRepresentation: rawForm) }

    /// The 32 bytes of the key.
    public var rawForm: Data { rawRepresentation }
}

extension KeychainManager {
    /// Saves a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - account: The account.
    ///   - accessibility: One of the values of `kSecAttrAccessible`.
    /// - Throws: `KeychainError`.
    public func save<Key: RawKey>(
        key: Key, for account: String,
        accessibility: CFTypeRef = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
    ) throws {
        try save(key.rawForm, for: account, accessibility: accessibility)
    }

    /// Loads a key.
    ///
    /// - Parameters:
    ///   - type: The type of key.
    ///   - account: The account.
    /// - Returns: The key, or `nil` if the item does not exist.
    /// - Throws: `KeychainError`, or CryptoKit's error if the stored bytes are not a key of this
    ///   type. The stored bytes are kept.
    public func load<Key: RawKey>(key type: Key.Type, for account: String) throws -> Key? {
        try load(for: account).map { try Key(rawForm: $0) }
    }
}
