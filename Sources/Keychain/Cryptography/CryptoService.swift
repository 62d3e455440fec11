// CryptoService: encryption of a program's own data with keys that it keeps in a keychain.
//   (1) AES-256-GCM in combined form: nonce (12 bytes) ‖ ciphertext ‖ tag (16 bytes).
//   (2) A nonce is random and chosen here; no caller can have one used twice.
//   (3) No error holds plaintext, ciphertext or key.

public import Crypto
public import Foundation

/// Encrypts and decrypts data with AES-256-GCM.
///
/// The result of an encryption is everything that decryption needs but the key and the associated
/// data, as `AES.GCM.SealedBox` has it in `combined`: a nonce of 12 bytes, the ciphertext, which
/// is as long as the plaintext, and a tag of 16 bytes.
///
/// ```swift
/// extension KeychainKey where Value == SymmetricKey {
///     static var files: Self { Self("files.key", size: .bits256) }
/// }
///
/// let crypto = CryptoService()
/// let key = try keychain.load(.files, orAdd: { crypto.generateKey() })
/// let sealed = try crypto.encrypt(photo, using: key, authenticating: Data(name.utf8))
/// ```
///
/// One key may encrypt 2³² messages; beyond, two random nonces could be equal, which would betray
/// both messages. The limit is that of NIST SP 800-38D, section 8.3.
public struct CryptoService: Sendable {
    /// The size of a key in bytes.
    public static let keyByteCount = 32
    /// The size of a nonce in bytes.
    public static let nonceByteCount = 12
    /// The size of a tag in bytes.
    public static let tagByteCount = 16

    /// A service. It holds nothing; any number may be made and used from any thread.
    public init() {}

    /// Makes a random key of 256 bits.
    public func generateKey() -> SymmetricKey {
        SymmetricKey(size: .bits256)
    }

    /// Encrypts and authenticates data.
    ///
    /// - Parameters:
    ///   - plaintext: The data, 0 bytes and up.
    ///   - key: A key of 256 bits.
    ///   - associatedData: Data that are authenticated and not stored, 0 bytes and up. Decryption
    ///     succeeds with the same ones only.
    /// - Returns: nonce ‖ ciphertext ‖ tag: 28 bytes more than the plaintext. Two encryptions of
    ///   the same data differ.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidKey`` if the key has
    ///   another size.
    ///
    /// The corresponding call is CryptoKit's `AES.GCM.seal`.
    public func encrypt(
        _ plaintext: some DataProtocol, using key: SymmetricKey,
        authenticating associatedData: some DataProtocol = Data()
    ) throws -> Data {
        try encrypt(
            plaintext, using: key, nonce: AES.GCM.Nonce(), authenticating: associatedData)
    }

    /// Decrypts data that ``encrypt(_:using:authenticating:)`` gave.
    ///
    /// When it throws, nothing of the plaintext comes out.
    ///
    /// - Parameters:
    ///   - combined: nonce ‖ ciphertext ‖ tag, 28 bytes and up.
    ///   - key: The key of the encryption.
    ///   - associatedData: The associated data of the encryption.
    /// - Returns: The plaintext.
    /// - Throws: ``KeychainError``, with code
    ///   - ``KeychainError/Code/invalidKey`` if the key has not 256 bits;
    ///   - ``KeychainError/Code/invalidData`` if there are fewer than 28 bytes, so that they can't
    ///     be the result of an encryption;
    ///   - ``KeychainError/Code/decryptionFailed`` if the bytes were altered or cut off, or if key
    ///     or associated data are not those of the encryption. Which of these can't be told.
    ///
    /// The corresponding call is CryptoKit's `AES.GCM.open`.
    public func decrypt(
        _ combined: some DataProtocol, using key: SymmetricKey,
        authenticating associatedData: some DataProtocol = Data()
    ) throws -> Data {
        try Self.requireSize(of: key, .decrypt)
        guard combined.count >= Self.nonceByteCount + Self.tagByteCount else {
            throw KeychainError(.invalidData, operation: .decrypt)
        }
        do {
            return try AES.GCM.open(
                AES.GCM.SealedBox(combined: combined), using: key, authenticating: associatedData)
        } catch {
            throw KeychainError(.decryptionFailed, operation: .decrypt, underlyingError: error)
        }
    }

    /// The 32 bytes of a key, to be kept or sent by other means than a keychain.
    ///
    /// A keychain stores a `SymmetricKey` as it is. The bytes are a copy that nothing erases.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidKey`` if the key has
    ///   another size.
    public func keyToData(_ key: SymmetricKey) throws -> Data {
        try Self.requireSize(of: key, nil)
        return key.keychainData
    }

    /// A key of its 32 bytes.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidData`` if there are more
    ///   or fewer.
    public func keyFromData(_ data: Data) throws -> SymmetricKey {
        guard data.count == Self.keyByteCount else { throw KeychainError(.invalidData) }
        return SymmetricKey(data: data)
    }

    /// Encrypts with a nonce that is given. One nonce must never be used twice with one key.
    func encrypt(
        _ plaintext: some DataProtocol, using key: SymmetricKey, nonce: AES.GCM.Nonce,
        authenticating associatedData: some DataProtocol
    ) throws -> Data {
        try Self.requireSize(of: key, .encrypt)
        let sealed: AES.GCM.SealedBox
        do {
            sealed = try AES.GCM.seal(
                plaintext, using: key, nonce: nonce, authenticating: associatedData)
        } catch {
            throw KeychainError(.encodingFailed, operation: .encrypt, underlyingError: error)
        }
        // Without a value only for nonces of other sizes.
        guard let combined = sealed.combined else {
            throw KeychainError(.encodingFailed, operation: .encrypt)
        }
        return combined
    }

    private static func requireSize(
        of key: SymmetricKey, _ operation: KeychainError.Operation?
    ) throws(KeychainError) {
        guard key.bitCount == 8 * keyByteCount else {
            throw KeychainError(.invalidKey, operation: operation)
        }
    }
}
