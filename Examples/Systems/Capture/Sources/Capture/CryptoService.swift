// CryptoService: encryption of captures with AES-256-GCM.
//   (1) Each encryption uses a new random nonce. Callers can't specify a nonce, so they can't reuse
//       one.
//   (2) Only this type and KeychainService handle the bytes of a key.

import CryptoKit
import Foundation

/// Encrypts and decrypts with AES-256-GCM, and converts keys to bytes and back.
public enum CryptoService {
    /// The size of a key in bytes.
    static let keyByteCount = 32

    /// Generates a random 256-bit key.
    ///
    /// - Returns: The key. It is not stored.
    public static func generateKey() -> SymmetricKey {
        SymmetricKey(size: .bits256)
    }

    /// Encrypts and authenticates data.
    ///
    /// - Parameters:
    ///   - data: The plaintext, which may be empty.
    ///   - key: A 256-bit key.
    /// - Returns: nonce ‖ ciphertext ‖ tag, 28 bytes longer than the plaintext.
    /// - Throws: `CryptoKitError.incorrectKeySize` for a key of another size.
    public static func encrypt(_ data: Data, using key: SymmetricKey) throws -> Data {
        try requireSize(of: key)
        let sealed = try AES.GCM.seal(data, using: key)
        return Data(sealed.nonce) + sealed.ciphertext + sealed.tag
    }

    /// Decrypts the result of ``encrypt(_:using:)``.
    ///
    /// - Parameters:
    ///   - data: nonce ‖ ciphertext ‖ tag, at least 28 bytes.
    ///   - key: The key that the data were encrypted with.
    /// - Returns: The plaintext.
    /// - Throws: `CryptoKitError` if the bytes were altered or truncated, or if the key is wrong.
    ///   No plaintext is returned in that case.
    public static func decrypt(_ data: Data, using key: SymmetricKey) throws -> Data {
        try requireSize(of: key)
        return try AES.GCM.open(AES.GCM.SealedBox(combined: data), using: key)
    }

    /// Returns the bytes of a key. Store these bytes only in the keychain.
    ///
    /// - Parameter key: The key.
    /// - Returns: A copy of its bytes, 32 for a 256-bit key.
    public static func keyToData(_ key: SymmetricKey) -> Data {
        key.withUnsafeBytes { Data($0) }
    }

    /// Creates a key from stored bytes.
    ///
    /// - Parameter data: 32 bytes.
    /// - Returns: The key.
    /// - Throws: ``KeychainError/invalidData`` for any other number of bytes.
    public static func keyFromData(_ data: Data) throws -> SymmetricKey {
        guard data.count == keyByteCount else { throw KeychainError.invalidData }
        return SymmetricKey(data: data)
    }

    private static func requireSize(of key: SymmetricKey) throws {
        guard key.bitCount == 8 * keyByteCount else { throw CryptoKitError.incorrectKeySize }
    }
}
