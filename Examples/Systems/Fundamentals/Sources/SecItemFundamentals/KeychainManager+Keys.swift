// KeychainManager+Keys: CryptoKit's keys as generic passwords, in their raw form. The keychain's
// own class for keys takes no symmetric key and no Curve25519 key.

import CryptoKit
import Foundation
import Security

/// A key that has a raw form.
public protocol RawKey: Sendable {
    /// The key of a raw form; an error where the bytes are no such key.
    init(rawForm: Data) throws
    /// The bytes to keep.
    var rawForm: Data { get }
}

extension SymmetricKey: RawKey {
    /// Any number of bytes but zero is a symmetric key.
    public init(rawForm: Data) throws {
        guard !rawForm.isEmpty else { throw CryptoKitError.incorrectKeySize }
        self.init(data: rawForm)
    }

    /// The key's bytes.
    public var rawForm: Data { withUnsafeBytes { Data($0) } }
}

extension P256.Signing.PrivateKey: RawKey {
    /// The key of 32 bytes.
    public init(rawForm: Data) throws { try self.init(rawRepresentation: rawForm) }

    /// 32 bytes.
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
    /// - Returns: The key, or nil if there is no such item.
    /// - Throws: `KeychainError`, or CryptoKit's error where the bytes are no such key; they stay.
    public func load<Key: RawKey>(key type: Key.Type, for account: String) throws -> Key? {
        try load(for: account).map { try Key(rawForm: $0) }
    }
}
