// KeychainValue+Crypto: stores CryptoKit's keys as keychain values.

public import Crypto
public import Foundation

extension SymmetricKey: KeychainValue {
    /// Creates a key from stored bytes.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidData`` if `keychainData`
    ///   is empty. Any other size is accepted: check `bitCount` if only one size is valid.
    public init(keychainData: Data) throws {
        guard !keychainData.isEmpty else { throw KeychainError(.invalidData) }
        self.init(data: keychainData)
    }

    /// A copy of the key's bytes.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidKey`` if the key is empty.
    public var keychainData: Data {
        get throws {
            guard bitCount > 0 else { throw KeychainError(.invalidKey) }
            // SAFETY: the buffer is valid during the call, which copies its bytes.
            return unsafe withUnsafeBytes { unsafe Data($0) }
        }
    }
}

extension KeychainKey where Value == SymmetricKey {
    /// Creates a keychain key whose values are symmetric keys of one size.
    ///
    /// Loading stored bytes of another size fails with ``KeychainError/Code/invalidData``, and the
    /// bytes stay in the keychain. Saving a key of another size fails with
    /// ``KeychainError/Code/invalidKey``, and nothing is stored.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: The display name.
    ///   - accessibility: When the item can be read. If `nil`, the keychain's accessibility
    ///     applies.
    ///   - accessControl: The authentication that opening the secret requires, or `nil` for none.
    ///   - size: The size of each key, a multiple of 8 bits.
    public init(
        _ account: String, label: String? = nil, accessibility: Keychain.Accessibility? = nil,
        accessControl: Keychain.AccessControl? = nil, size: SymmetricKeySize
    ) {
        let bitCount = size.bitCount
        self.init(
            account, label: label, accessibility: accessibility, accessControl: accessControl,
            encode: { key in
                guard key.bitCount == bitCount else { throw KeychainError(.invalidKey) }
                return try key.keychainData
            },
            decode: { data in
                guard data.count * 8 == bitCount else { throw KeychainError(.invalidData) }
                return SymmetricKey(data: data)
            })
    }
}

/// A private key that is stored as its raw bytes.
///
/// CryptoKit's keys have the two members of this protocol, but CryptoKit declares no protocol for
/// them.
public protocol RawPrivateKey: KeychainValue {
    /// Creates a key from its raw bytes.
    init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws
    /// The raw bytes of the key.
    var rawRepresentation: Data { get }
}

extension RawPrivateKey {
    /// Creates a key from stored raw bytes.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidData`` if the bytes are
    ///   not a key of this type.
    public init(keychainData: Data) throws {
        do {
            try self.init(rawRepresentation: keychainData)
        } catch {
            throw KeychainError(.invalidData, underlyingError: error)
        }
    }

    /// The raw bytes of the key.
    public var keychainData: Data { rawRepresentation }
}

extension Curve25519.Signing.PrivateKey: RawPrivateKey {}
extension Curve25519.KeyAgreement.PrivateKey: RawPrivateKey {}
extension P256.Signing.PrivateKey: RawPrivateKey {}
extension P256.KeyAgreement.PrivateKey: RawPrivateKey {}
extension P384.Signing.PrivateKey: RawPrivateKey {}
extension P384.KeyAgreement.PrivateKey: RawPrivateKey {}
extension P521.Signing.PrivateKey: RawPrivateKey {}
extension P521.KeyAgreement.PrivateKey: RawPrivateKey {}

/// A private key of a post-quantum algorithm, which is stored as a seed and a hash of its public
/// key.
///
/// CryptoKit's keys have the initializer and `integrityCheckedRepresentation`, but CryptoKit
/// declares no protocol for them. The seeds of several algorithms have the same length. The hash
/// detects a key of another algorithm, which the seed alone would not.
public protocol IntegrityCheckedPrivateKey: KeychainValue {
    /// Creates a key from its seed and the hash of its public key.
    init<Bytes: DataProtocol>(integrityCheckedRepresentation: Bytes) throws
    /// The seed, and the SHA3-256 hash of the public key.
    var integrityCheckedRepresentation: Data { get }
    /// The length of the representation in bytes.
    static var integrityCheckedByteCount: Int { get }
}

extension IntegrityCheckedPrivateKey {
    /// Creates a key from its stored seed and hash.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidData`` if the bytes have a
    ///   different length, or if the hash does not match the key.
    public init(keychainData: Data) throws {
        guard keychainData.count == Self.integrityCheckedByteCount else {
            throw KeychainError(.invalidData)
        }
        do {
            try self.init(integrityCheckedRepresentation: keychainData)
        } catch {
            throw KeychainError(.invalidData, underlyingError: error)
        }
    }

    /// The seed and the hash of the public key.
    public var keychainData: Data { integrityCheckedRepresentation }
}

@available(macOS 26, iOS 26, watchOS 26, tvOS 26, macCatalyst 26, visionOS 26, *)
extension MLKEM768.PrivateKey: IntegrityCheckedPrivateKey {
    /// The length of a 64-byte seed (d ‖ z in FIPS 203) and a 32-byte hash.
    public static var integrityCheckedByteCount: Int { 96 }
}

@available(macOS 26, iOS 26, watchOS 26, tvOS 26, macCatalyst 26, visionOS 26, *)
extension MLKEM1024.PrivateKey: IntegrityCheckedPrivateKey {
    /// The length of a 64-byte seed (d ‖ z in FIPS 203) and a 32-byte hash.
    public static var integrityCheckedByteCount: Int { 96 }
}

@available(macOS 26, iOS 26, watchOS 26, tvOS 26, macCatalyst 26, visionOS 26, *)
extension MLDSA65.PrivateKey: IntegrityCheckedPrivateKey {
    /// The length of a 32-byte seed (ξ in FIPS 204) and a 32-byte hash.
    public static var integrityCheckedByteCount: Int { 64 }
}

@available(macOS 26, iOS 26, watchOS 26, tvOS 26, macCatalyst 26, visionOS 26, *)
extension MLDSA87.PrivateKey: IntegrityCheckedPrivateKey {
    /// The length of a 32-byte seed (ξ in FIPS 204) and a 32-byte hash.
    public static var integrityCheckedByteCount: Int { 64 }
}

@available(macOS 26, iOS 26, watchOS 26, tvOS 26, macCatalyst 26, visionOS 26, *)
extension XWingMLKEM768X25519.PrivateKey: IntegrityCheckedPrivateKey {
    /// The length of a 32-byte seed and a 32-byte hash.
    public static var integrityCheckedByteCount: Int { 64 }
}
