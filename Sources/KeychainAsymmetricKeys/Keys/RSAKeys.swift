// RSAKeys: RSA keys with the operations of the crypto library, and the bare operation that the
// other variants of RFC 8017 are built on.
//   (1) The private operation is the library's, with blinding and a check of its result.
//   (2) The public operation is RSAPublicOperation: the library has none without padding.

import Crypto
import CryptoExtras
import FoundationEssentials

/// A public RSA key of 1024 bits and up.
struct RSAPublicKey: Sendable {
    let key: _RSA.Signing.PublicKey
    let operation: RSAPublicOperation

    init(_ key: _RSA.Signing.PublicKey) throws {
        let numbers = try key.getKeyPrimitives()
        guard
            let operation = RSAPublicOperation(
                modulus: Array(numbers.modulus), exponent: Array(numbers.publicExponent))
        else { throw KeyOperationFailure.parameter("The numbers of the RSA key make no key.") }
        self.key = key
        self.operation = operation
    }

    /// A key from a SubjectPublicKeyInfo or an RSAPublicKey (PKCS #1).
    init(der: Data) throws {
        try self.init(_RSA.Signing.PublicKey(unsafeDERRepresentation: der))
    }

    var sizeInBits: Int { key.keySizeInBits }
    var blockByteCount: Int { (sizeInBits + 7) / 8 }
    var pkcs1: Data { key.pkcs1DERRepresentation }
    var subjectPublicKeyInfo: Data { key.derRepresentation }

    /// - Returns: nil if the block has another size than the modulus or isn't below it.
    func raw(_ block: [UInt8]) -> [UInt8]? { operation.apply(to: block) }

    /// The library's encryption, where it has the padding. It wants whole bytes of modulus.
    func encrypt(_ message: Data, padding: _RSA.Encryption.Padding) throws -> Data {
        try _RSA.Encryption.PublicKey(unsafeDERRepresentation: pkcs1)
            .encrypt(message, padding: padding)
    }
}

/// A private RSA key of 1024 bits and up.
struct RSAPrivateKey: Sendable {
    let key: _RSA.Signing.PrivateKey
    /// The same key, for the bare private operation.
    private let bare: _RSA.BlindSigning.PrivateKey<SHA384>

    init(_ key: _RSA.Signing.PrivateKey) throws {
        self.key = key
        var bytes = key.derRepresentation
        defer { bytes.resetBytes(in: bytes.startIndex..<bytes.endIndex) }
        bare = try _RSA.BlindSigning.PrivateKey<SHA384>(unsafeDERRepresentation: bytes)
    }

    /// A new key of 1024 to 8192 bits, a multiple of 128.
    init(randomOf sizeInBits: Int) throws {
        try self.init(
            _RSA.Signing.PrivateKey(unsafeKeySize: _RSA.Signing.KeySize(bitCount: sizeInBits)))
    }

    /// A key from PKCS #8 or an RSAPrivateKey (PKCS #1).
    init(der: Data) throws {
        try self.init(_RSA.Signing.PrivateKey(unsafeDERRepresentation: der))
    }

    var sizeInBits: Int { key.keySizeInBits }
    var blockByteCount: Int { (sizeInBits + 7) / 8 }
    var pkcs1: Data { key.derRepresentation }
    var pkcs8: Data { key.pkcs8DERRepresentation }

    func publicKey() throws -> RSAPublicKey { try RSAPublicKey(key.publicKey) }

    /// - Returns: nil if the block has another size than the modulus or isn't below it.
    func raw(_ block: [UInt8]) -> [UInt8]? {
        guard block.count == blockByteCount else { return nil }
        // A blind signature is the bare operation on what it is given.
        return (try? bare.blindSignature(for: block)).map { Array($0.rawRepresentation) }
    }

    /// The library's decryption, where it has the padding. It wants whole bytes of modulus.
    func decrypt(_ block: Data, padding: _RSA.Encryption.Padding) throws -> Data {
        var bytes = pkcs1
        defer { bytes.resetBytes(in: bytes.startIndex..<bytes.endIndex) }
        return try _RSA.Encryption.PrivateKey(unsafeDERRepresentation: bytes)
            .decrypt(block, padding: padding)
    }
}
