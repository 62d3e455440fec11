// Signing: signatures with private keys, and their verification with public keys.

import Crypto
import CryptoExtras
package import FoundationEssentials
import KeychainCrypto

extension AsymmetricPrivateKey {
    /// Signs a message or a digest.
    ///
    /// - Throws: `parameter` if the algorithm doesn't fit the kind of key, or the input can't be
    ///   signed with this key, for example because its size is wrong.
    package func sign(
        _ input: Data, using algorithm: SignatureAlgorithm
    ) throws(KeyOperationFailure) -> Data {
        switch (key, algorithm) {
        case (.rsa(let key), .rsaRaw):
            guard let block = key.paddedWithZeros(input), let signature = key.raw(block) else {
                throw .parameter("The number to sign isn't below the modulus.")
            }
            return Data(signature)
        case (.rsa(let key), .rsaPKCS1v15(let digest, let kind)):
            return try key.signPKCS1v15(input, digest, kind)
        case (.rsa(let key), .rsaPSS(let digest, let kind)):
            return try key.signPSS(input, digest, kind)
        case (.elliptic(let key), .ecdsa(let digest, let kind, let form)):
            let digest = try digest.digest(of: input, kind)
            do {
                return try key.sign(PrecomputedDigest(bytes: digest), as: form)
            } catch {
                throw .parameter("The digest can't be signed with this key.")
            }
        case (.ed25519(let key), .ed25519):
            do {
                return try key.signature(for: input)
            } catch {
                throw .parameter("The message can't be signed with this key.")
            }
        default:
            throw .parameter("The algorithm can't be used with a key of this kind.")
        }
    }
}

extension AsymmetricPublicKey {
    /// Verifies a signature.
    ///
    /// - Throws: `verification` if the signature doesn't match the input and this key; `parameter`
    ///   if the algorithm doesn't fit the kind of key, or the digest has the wrong size or is
    ///   empty.
    package func verify(
        _ signature: Data, of input: Data, using algorithm: SignatureAlgorithm
    ) throws(KeyOperationFailure) {
        let isValid: Bool
        switch (key, algorithm) {
        case (.rsa(let key), .rsaRaw):
            let block = key.raw(Array(signature))
            // The caller may omit leading zeros of the input.
            isValid = block.map { Array($0.drop { $0 == 0 }) } == Array(input.drop { $0 == 0 })
        case (.rsa(let key), .rsaPKCS1v15(let digest, let kind)):
            isValid = try key.isPKCS1v15(signature, of: input, digest, kind)
        case (.rsa(let key), .rsaPSS(let digest, let kind)):
            isValid = try key.isPSS(signature, of: input, digest, kind)
        case (.elliptic(let key), .ecdsa(let digest, let kind, let form)):
            let digest = try digest.digest(of: input, kind)
            isValid = key.verify(signature, of: PrecomputedDigest(bytes: digest), as: form)
        case (.ed25519(let key), .ed25519):
            isValid = key.isValidSignature(signature, for: input)
        default:
            throw .parameter("The algorithm can't be used with a key of this kind.")
        }
        guard isValid else { throw .verification }
    }
}

extension DigestAlgorithm? {
    /// The digest to sign: computed from a message, or passed in and checked for its size. If there
    /// is no hash function (`nil`), the digest is the input itself, of any size except 0.
    func digest(
        of input: Data, _ kind: SignatureInput
    ) throws(KeyOperationFailure) -> [UInt8] {
        switch (self, kind) {
        case (let algorithm?, .message):
            return algorithm.hash(input)
        case (let algorithm?, .digest):
            guard input.count == algorithm.byteCount else {
                throw .parameter("A \(algorithm.rawValue) digest has \(algorithm.byteCount) bytes.")
            }
            return Array(input)
        case (nil, _):
            guard !input.isEmpty else { throw .parameter("The digest is empty.") }
            return Array(input)
        }
    }
}

// MARK: - RSA

extension RSAPrivateKey {
    /// Pads a number with leading zeros to the size of the modulus. Returns `nil` if it has more
    /// bytes than the modulus.
    func paddedWithZeros(_ input: Data) -> [UInt8]? {
        guard input.count <= blockByteCount else { return nil }
        return [UInt8](repeating: 0, count: blockByteCount - input.count) + input
    }

    fileprivate func signPKCS1v15(
        _ input: Data, _ algorithm: DigestAlgorithm?, _ kind: SignatureInput
    ) throws(KeyOperationFailure) -> Data {
        if kind == .message,
            let signature = try? signInLibrary(input, algorithm, .insecurePKCS1v1_5)
        {
            return signature
        }
        let digest = try algorithm.digest(of: input, kind)
        guard
            let block = RSAEncodings.pkcs1v15(
                digestInfo: (algorithm?.digestInfoPrefix ?? []) + digest,
                blockByteCount: blockByteCount),
            let signature = raw(block)
        else { throw .parameter("The key is too small for this signature.") }
        return Data(signature)
    }

    fileprivate func signPSS(
        _ input: Data, _ algorithm: DigestAlgorithm, _ kind: SignatureInput
    ) throws(KeyOperationFailure) -> Data {
        if kind == .message, let signature = try? signInLibrary(input, algorithm, .PSS) {
            return signature
        }
        let digest = try DigestAlgorithm?(algorithm).digest(of: input, kind)
        guard
            let block = RSAEncodings.pss(
                digest: digest, salt: .random(count: digest.count), sizeInBits: sizeInBits,
                using: algorithm),
            let signature = raw(block)
        else { throw .parameter("The key is too small for this padding.") }
        return Data(signature)
    }

    /// Signs with the library, which supports only the digests that it computes itself.
    ///
    /// - Returns: `nil` if the library doesn't support the digest.
    private func signInLibrary(
        _ message: Data, _ algorithm: DigestAlgorithm?, _ padding: _RSA.Signing.Padding
    ) throws -> Data? {
        switch algorithm {
        case .sha1:
            try key.signature(for: Insecure.SHA1.hash(data: message), padding: padding)
                .rawRepresentation
        case .sha256:
            try key.signature(for: SHA256.hash(data: message), padding: padding).rawRepresentation
        case .sha384:
            try key.signature(for: SHA384.hash(data: message), padding: padding).rawRepresentation
        case .sha512:
            try key.signature(for: SHA512.hash(data: message), padding: padding).rawRepresentation
        case .sha224, nil: nil
        }
    }
}

extension RSAPublicKey {
    fileprivate func isPKCS1v15(
        _ signature: Data, of input: Data, _ algorithm: DigestAlgorithm?, _ kind: SignatureInput
    ) throws(KeyOperationFailure) -> Bool {
        if kind == .message,
            let isValid = isValidInLibrary(signature, input, algorithm, .insecurePKCS1v1_5)
        {
            return isValid
        }
        let digest = try algorithm.digest(of: input, kind)
        guard
            let expected = RSAEncodings.pkcs1v15(
                digestInfo: (algorithm?.digestInfoPrefix ?? []) + digest,
                blockByteCount: blockByteCount)
        else { return false }
        return raw(Array(signature)) == expected
    }

    fileprivate func isPSS(
        _ signature: Data, of input: Data, _ algorithm: DigestAlgorithm, _ kind: SignatureInput
    ) throws(KeyOperationFailure) -> Bool {
        if kind == .message, let isValid = isValidInLibrary(signature, input, algorithm, .PSS) {
            return isValid
        }
        let digest = try DigestAlgorithm?(algorithm).digest(of: input, kind)
        guard let block = raw(Array(signature)) else { return false }
        return RSAEncodings.isPSS(block, of: digest, sizeInBits: sizeInBits, using: algorithm)
    }

    /// - Returns: `nil` if the library doesn't support the digest.
    private func isValidInLibrary(
        _ signature: Data, _ message: Data, _ algorithm: DigestAlgorithm?,
        _ padding: _RSA.Signing.Padding
    ) -> Bool? {
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        return switch algorithm {
        case .sha1:
            key.isValidSignature(
                signature, for: Insecure.SHA1.hash(data: message), padding: padding)
        case .sha256:
            key.isValidSignature(signature, for: SHA256.hash(data: message), padding: padding)
        case .sha384:
            key.isValidSignature(signature, for: SHA384.hash(data: message), padding: padding)
        case .sha512:
            key.isValidSignature(signature, for: SHA512.hash(data: message), padding: padding)
        case .sha224, nil: nil
        }
    }
}
