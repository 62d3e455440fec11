// CryptoService: encryption of captures with AES-256-GCM.
//   (1) A nonce is random and chosen here, so that no caller can use one twice.
//   (2) This type and KeychainService are the only ones that handle the bytes of a key.

import CryptoKit
import Foundation

/// Encrypts and decrypts with AES-256-GCM, and turns keys into bytes and back.
public enum CryptoService {
    /// The size of a key in bytes.
    static let keyByteCount = 32

    /// Makes a random key of 256 bits.
    ///
    /// - Returns: The key. It is stored nowhere.
    public static func generateKey() -> SymmetricKey {
        SymmetricKey(size: .bits256)
    }

    /// Encrypts and authenticates data.
    ///
    /// - Parameters:
    ///   - data: The plaintext, 0 bytes and up.
    ///   - key: A key of 256 bits.
    /// - Returns: nonce ‖ ciphertext ‖ tag, 28 bytes more than the plaintext.
    /// - Throws: `CryptoKitError.incorrectKeySize` for a key of another size.
    public static func encrypt(_ data: Data, using key: SymmetricKey) throws -> Data {
        try requireSize(of: key)
        let sealed = try AES.GCM.seal(data, using: key)
        return Data(sealed.nonce) + sealed.ciphertext + sealed.tag
    }

    /// Decrypts what ``encrypt(_:using:)`` returned.
    ///
    /// - Parameters:
    ///   - data: nonce ‖ ciphertext ‖ tag, 28 bytes and up.
    ///   - key: The key that encrypted.
    /// - Returns: The plaintext.
    /// - Throws: `CryptoKitError`: the bytes were altered or cut off, or the key is another one.
    ///   Nothing of the plaintext comes out.
    public static func decrypt(_ data: Data, using key: SymmetricKey) throws -> Data {
        try requireSize(of: key)
        return try AES.GCM.open(AES.GCM.SealedBox(combined: data), using: key)
    }

    /// The bytes of a key, to be stored in the keychain and nowhere else.
    ///
    /// - Parameter key: The key.
    /// - Returns: A copy of its bytes, 32 for a key of 256 bits.
    public static func keyToData(_ key: SymmetricKey) -> Data {
        key.withUnsafeBytes { Data($0) }
    }

    /// The key of stored bytes.
    ///
    /// - Parameter data: 32 bytes.
    /// - Returns: The key, ready for use.
    /// - Throws: ``KeychainError/invalidData`` for any other number of bytes.
    public static func keyFromData(_ data: Data) throws -> SymmetricKey {
        guard data.count == keyByteCount else { throw KeychainError.invalidData }
        return SymmetricKey(data: data)
    }

    private static func requireSize(of key: SymmetricKey) throws {
        guard key.bitCount == 8 * keyByteCount else { throw CryptoKitError.incorrectKeySize }
    }
}
