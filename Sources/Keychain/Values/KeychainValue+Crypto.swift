// The keys of CryptoKit as keychain values.

public import Crypto
public import Foundation

extension SymmetricKey: KeychainValue {
    /// A key of stored bytes.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidData`` if there are
    ///   none. Any other size is a key: check `bitCount` where only one size will do.
    public init(keychainData: Data) throws {
        guard !keychainData.isEmpty else { throw KeychainError(.invalidData) }
        self.init(data: keychainData)
    }

    /// The bytes of the key, in a copy.
    public var keychainData: Data {
        // SAFETY: the buffer is valid during the call, and its bytes are copied in it.
        unsafe withUnsafeBytes { unsafe Data($0) }
    }
}

extension KeychainKey where Value == SymmetricKey {
    /// A key whose values are symmetric keys of one size.
    ///
    /// Stored bytes of another size are ``KeychainError/Code/invalidData`` when they are loaded,
    /// and stay; saving a key of another size is ``KeychainError/Code/invalidKey``, and stores
    /// nothing.
    ///
    /// - Parameters:
    ///   - account: The account of the item.
    ///   - label: A name for people.
    ///   - accessibility: When the item can be read. nil: as the keychain says.
    ///   - accessControl: What has to be shown beside. nil: nothing.
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
                return key.keychainData
            },
            decode: { data in
                guard data.count * 8 == bitCount else { throw KeychainError(.invalidData) }
                return SymmetricKey(data: data)
            })
    }
}

/// A private key that is its raw bytes.
///
/// CryptoKit's keys have these two members, and no protocol that says so.
public protocol RawPrivateKey: KeychainValue {
    /// A key of its raw bytes.
    init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws
    /// The raw bytes of the key.
    var rawRepresentation: Data { get }
}

extension RawPrivateKey {
    /// A key of stored raw bytes.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidData`` if they are no
    ///   key of this kind.
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

/// A private key of a post-quantum algorithm: a seed and a hash of its public key.
///
/// CryptoKit's keys have these two members, and no protocol that says so. The seeds of several
/// algorithms have one length: the hash is what tells a key of another algorithm, which the seed
/// alone would not.
public protocol IntegrityCheckedPrivateKey: KeychainValue {
    /// A key of its seed and the hash of its public key.
    init<Bytes: DataProtocol>(integrityCheckedRepresentation: Bytes) throws
    /// The seed, and the SHA3-256 hash of the public key.
    var integrityCheckedRepresentation: Data { get }
    /// How long the representation is.
    static var integrityCheckedByteCount: Int { get }
}

extension IntegrityCheckedPrivateKey {
    /// A key of its stored seed and hash.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidData`` if the bytes have
    ///   another length, or the hash is that of another key.
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
    /// A seed of 64 bytes (d ‖ z of FIPS 203) and a hash of 32.
    public static var integrityCheckedByteCount: Int { 96 }
}

@available(macOS 26, iOS 26, watchOS 26, tvOS 26, macCatalyst 26, visionOS 26, *)
extension MLKEM1024.PrivateKey: IntegrityCheckedPrivateKey {
    /// A seed of 64 bytes (d ‖ z of FIPS 203) and a hash of 32.
    public static var integrityCheckedByteCount: Int { 96 }
}

@available(macOS 26, iOS 26, watchOS 26, tvOS 26, macCatalyst 26, visionOS 26, *)
extension MLDSA65.PrivateKey: IntegrityCheckedPrivateKey {
    /// A seed of 32 bytes (ξ of FIPS 204) and a hash of 32.
    public static var integrityCheckedByteCount: Int { 64 }
}

@available(macOS 26, iOS 26, watchOS 26, tvOS 26, macCatalyst 26, visionOS 26, *)
extension MLDSA87.PrivateKey: IntegrityCheckedPrivateKey {
    /// A seed of 32 bytes (ξ of FIPS 204) and a hash of 32.
    public static var integrityCheckedByteCount: Int { 64 }
}

@available(macOS 26, iOS 26, watchOS 26, tvOS 26, macCatalyst 26, visionOS 26, *)
extension XWingMLKEM768X25519.PrivateKey: IntegrityCheckedPrivateKey {
    /// A seed of 32 bytes and a hash of 32.
    public static var integrityCheckedByteCount: Int { 64 }
}
