// Encrypting: encryption to public keys, and decryption with private keys.
//
// The formats are those of Apple's SecKey functions:
//   - RSA with OAEP and AES-GCM: wrapped AES key ‖ ciphertext ‖ tag. OAEP wraps the AES key, which
//     has 128 bits, or 256 if the modulus has at least 4096 bits. The initialization vector is
//     zero, which is safe because each AES key is used once. The associated data is the
//     RSAPublicKey (PKCS #1).
//   - ECIES: ephemeral point ‖ ciphertext ‖ tag. The AES key has 128 bits, or 256 for curves above
//     256 bits. It is derived with X9.63, with the ephemeral point as shared information. There is
//     no associated data. Depending on the algorithm, the initialization vector is zero, or the 16
//     bytes after the key in the derivation's output.

import Crypto
import CryptoExtras
package import FoundationEssentials
import KeychainCrypto

/// AES-GCM as these formats use it.
private enum SessionEncryption {
    static let vectorByteCount = 16
    static let tagByteCount = 16

    static func seal(
        _ message: Data, key: [UInt8], vector: [UInt8], authenticating data: Data
    ) throws -> Data {
        defer { MemoryScrubber.eraseContext() }
        let box = try AES.GCM.seal(
            message, using: SymmetricKey(data: key), nonce: AES.GCM.Nonce(data: vector),
            authenticating: data)
        return box.ciphertext + box.tag
    }

    static func open(
        _ sealed: Data, key: [UInt8], vector: [UInt8], authenticating data: Data
    ) throws -> Data {
        defer { MemoryScrubber.eraseContext() }
        let box = try AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: vector), ciphertext: sealed.dropLast(tagByteCount),
            tag: sealed.suffix(tagByteCount))
        return try AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: data)
    }

    /// The size of the AES key for a given RSA modulus.
    static func keyByteCount(rsaSizeInBits: Int) -> Int { rsaSizeInBits >= 4096 ? 32 : 16 }

    static func keyByteCount(_ curve: EllipticCurve) -> Int { curve.sizeInBits > 256 ? 32 : 16 }

    /// The key and initialization vector of ECIES.
    static func derived(
        _ curve: EllipticCurve, secret: [UInt8], ephemeralPoint: Data, _ digest: DigestAlgorithm,
        derivesVector: Bool
    ) -> (key: [UInt8], vector: [UInt8]) {
        let keyCount = keyByteCount(curve)
        let bytes = digest.deriveX963(
            secret: secret, sharedInfo: ephemeralPoint,
            byteCount: keyCount + (derivesVector ? vectorByteCount : 0))
        let vector =
            derivesVector
            ? Array(bytes[keyCount...]) : [UInt8](repeating: 0, count: vectorByteCount)
        return (Array(bytes[..<keyCount]), vector)
    }
}

extension AsymmetricPublicKey {
    /// Encrypts a message.
    ///
    /// - Throws: `parameter` if the algorithm doesn't fit the kind of key, or the message can't be
    ///   encrypted with this key, for example because it is too long.
    package func encrypt(
        _ message: Data, using algorithm: EncryptionAlgorithm
    ) throws(KeyOperationFailure) -> Data {
        switch (key, algorithm) {
        case (.rsa(let key), .rsaRaw):
            guard message.count <= key.blockByteCount,
                let block = key.raw(
                    [UInt8](repeating: 0, count: key.blockByteCount - message.count) + message)
            else { throw .parameter("The number to encrypt isn't below the modulus.") }
            return Data(block)
        case (.rsa(let key), .rsaPKCS1):
            guard message.count <= key.blockByteCount - 11 else {
                throw .parameter("The message is too long for this key.")
            }
            return try key.encryptPKCS1(message)
        case (.rsa(let key), .rsaOAEP(let digest)):
            return try key.encryptOAEP(message, digest)
        case (.rsa(let key), .rsaOAEPWithAESGCM(let digest)):
            let session = [UInt8].random(
                count: SessionEncryption.keyByteCount(rsaSizeInBits: key.sizeInBits))
            let wrapped = try key.encryptOAEP(Data(session), digest)
            let vector = [UInt8](repeating: 0, count: SessionEncryption.vectorByteCount)
            guard
                let sealed = try? SessionEncryption.seal(
                    message, key: session, vector: vector, authenticating: key.pkcs1)
            else { throw .parameter("The message can't be encrypted.") }
            return wrapped + sealed
        case (.elliptic(let key), .ecies(let digest, let derivesVector)):
            guard let (point, secret) = try? key.agreeEphemerally() else {
                throw .parameter("The key can't be used for key agreement.")
            }
            let (session, vector) = SessionEncryption.derived(
                key.curve, secret: secret, ephemeralPoint: point, digest,
                derivesVector: derivesVector)
            guard
                let sealed = try? SessionEncryption.seal(
                    message, key: session, vector: vector, authenticating: Data())
            else { throw .parameter("The message can't be encrypted.") }
            return point + sealed
        default:
            throw .parameter("The algorithm can't be used with a key of this kind.")
        }
    }
}

extension AsymmetricPrivateKey {
    /// Decrypts a message that was encrypted to this key's public key.
    ///
    /// - Throws: `parameter` if the algorithm doesn't fit the kind of key, or the ciphertext can't
    ///   be decrypted with this key. Raw RSA and PKCS #1 padding don't detect every change of the
    ///   ciphertext.
    package func decrypt(
        _ ciphertext: Data, using algorithm: EncryptionAlgorithm
    ) throws(KeyOperationFailure) -> Data {
        switch (key, algorithm) {
        case (.rsa(let key), .rsaRaw):
            guard let block = key.paddedWithZeros(ciphertext), let result = key.raw(block) else {
                throw .parameter("The number to decrypt isn't below the modulus.")
            }
            return Data(result)
        case (.rsa(let key), .rsaPKCS1):
            return try key.decryptPKCS1(ciphertext)
        case (.rsa(let key), .rsaOAEP(let digest)):
            return try key.decryptOAEP(ciphertext, digest)
        case (.rsa(let key), .rsaOAEPWithAESGCM(let digest)):
            return try key.decryptHybrid(ciphertext, digest, authenticating: publicKey)
        case (.elliptic(let key), .ecies(let digest, let derivesVector)):
            let sealed = try ECIESCiphertext(ciphertext, curve: key.publicKey.curve)
            guard let secret = try? key.agree(with: sealed.ephemeralPoint) else {
                throw Self.notDecrypted
            }
            return try sealed.open(secret, digest, derivesVector: derivesVector)
        default:
            throw .parameter("The algorithm can't be used with a key of this kind.")
        }
    }

    /// The failure for any defect in the contents of a ciphertext. It is always the same, so that
    /// it doesn't reveal the defect.
    static let notDecrypted = KeyOperationFailure.parameter(
        "The ciphertext was not encrypted to this key, or it was changed.")
}

/// The parts of an ECIES ciphertext.
struct ECIESCiphertext {
    private let curve: EllipticCurve
    /// The sender's ephemeral public key.
    let ephemeralPoint: Data
    private let sealed: Data

    init(_ ciphertext: Data, curve: EllipticCurve) throws(KeyOperationFailure) {
        guard ciphertext.count >= curve.pointByteCount + SessionEncryption.tagByteCount else {
            throw .parameter("The ciphertext is too short.")
        }
        self.curve = curve
        ephemeralPoint = Data(ciphertext.prefix(curve.pointByteCount))
        sealed = Data(ciphertext.dropFirst(curve.pointByteCount))
    }

    /// Decrypts the message, given the x coordinate of the point shared with the ephemeral key.
    func open(
        _ secret: [UInt8], _ digest: DigestAlgorithm, derivesVector: Bool
    ) throws(KeyOperationFailure) -> Data {
        let (session, vector) = SessionEncryption.derived(
            curve, secret: secret, ephemeralPoint: ephemeralPoint, digest,
            derivesVector: derivesVector)
        do {
            return try SessionEncryption.open(
                sealed, key: session, vector: vector, authenticating: Data())
        } catch {
            throw AsymmetricPrivateKey.notDecrypted
        }
    }
}

// MARK: - RSA

extension RSAPublicKey {
    fileprivate func encryptPKCS1(_ message: Data) throws(KeyOperationFailure) -> Data {
        // The library supports only keys whose size is a multiple of 8 bits.
        if let block = try? encrypt(message, padding: ._WEAK_AND_INSECURE_PKCS_V1_5) {
            return block
        }
        guard
            let encoded = RSAEncodings.pkcs1(
                message: Array(message), blockByteCount: blockByteCount),
            let block = raw(encoded)
        else { throw .parameter("The message can't be encrypted with this key.") }
        return Data(block)
    }

    fileprivate func encryptOAEP(
        _ message: Data, _ digest: DigestAlgorithm
    ) throws(KeyOperationFailure) -> Data {
        guard message.count <= blockByteCount - 2 * digest.byteCount - 2 else {
            throw .parameter("The message is too long for this key.")
        }
        if let padding = digest.libraryOAEP, let block = try? encrypt(message, padding: padding) {
            return block
        }
        guard
            let encoded = RSAEncodings.oaep(
                message: Array(message), seed: .random(count: digest.byteCount),
                blockByteCount: blockByteCount, using: digest),
            let block = raw(encoded)
        else { throw .parameter("The message is too long for this key.") }
        return Data(block)
    }
}

extension RSAPrivateKey {
    fileprivate func decryptPKCS1(_ ciphertext: Data) throws(KeyOperationFailure) -> Data {
        guard ciphertext.count == blockByteCount else {
            throw .parameter("The size of the ciphertext doesn't match the size of the key.")
        }
        if sizeInBits % 8 == 0 {
            do {
                return try decrypt(ciphertext, padding: ._WEAK_AND_INSECURE_PKCS_V1_5)
            } catch {
                throw AsymmetricPrivateKey.notDecrypted
            }
        }
        guard let block = raw(Array(ciphertext)), let message = RSAEncodings.decodePKCS1(block)
        else { throw AsymmetricPrivateKey.notDecrypted }
        return Data(message)
    }

    fileprivate func decryptOAEP(
        _ ciphertext: Data, _ digest: DigestAlgorithm
    ) throws(KeyOperationFailure) -> Data {
        guard ciphertext.count == blockByteCount else {
            throw .parameter("The size of the ciphertext doesn't match the size of the key.")
        }
        if let padding = digest.libraryOAEP, sizeInBits % 8 == 0 {
            do {
                return try decrypt(ciphertext, padding: padding)
            } catch {
                throw AsymmetricPrivateKey.notDecrypted
            }
        }
        guard let block = raw(Array(ciphertext)),
            let message = RSAEncodings.decodeOAEP(block, using: digest)
        else { throw AsymmetricPrivateKey.notDecrypted }
        return Data(message)
    }

    fileprivate func decryptHybrid(
        _ ciphertext: Data, _ digest: DigestAlgorithm, authenticating key: AsymmetricPublicKey
    ) throws(KeyOperationFailure) -> Data {
        guard ciphertext.count >= blockByteCount + SessionEncryption.tagByteCount else {
            throw .parameter("The ciphertext is too short.")
        }
        let session = try decryptOAEP(Data(ciphertext.prefix(blockByteCount)), digest)
        guard session.count == SessionEncryption.keyByteCount(rsaSizeInBits: sizeInBits) else {
            throw AsymmetricPrivateKey.notDecrypted
        }
        do {
            return try SessionEncryption.open(
                Data(ciphertext.dropFirst(blockByteCount)), key: Array(session),
                vector: [UInt8](repeating: 0, count: SessionEncryption.vectorByteCount),
                authenticating: key.externalRepresentation)
        } catch {
            throw AsymmetricPrivateKey.notDecrypted
        }
    }
}

extension DigestAlgorithm {
    /// The library's OAEP padding with this hash function, or `nil` if the library has none.
    fileprivate var libraryOAEP: _RSA.Encryption.Padding? {
        switch self {
        case .sha1: .PKCS1_OAEP
        case .sha256: .PKCS1_OAEP_SHA256
        case .sha224, .sha384, .sha512: nil
        }
    }
}
