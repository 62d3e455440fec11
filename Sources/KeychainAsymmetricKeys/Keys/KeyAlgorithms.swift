// KeyAlgorithms: types for the kinds and sizes of asymmetric keys, and for the variants of their
// operations.

/// A NIST curve over a prime field.
package enum EllipticCurve: Int, CaseIterable, Hashable, Sendable {
    case p256 = 256
    case p384 = 384
    case p521 = 521

    package var sizeInBits: Int { rawValue }

    /// The size of a coordinate, and of a private scalar.
    package var coordinateByteCount: Int { (rawValue + 7) / 8 }

    /// The size of a point as 04 ‖ X ‖ Y.
    package var pointByteCount: Int { 1 + 2 * coordinateByteCount }

    /// The curve whose point (or point and private scalar, for a private key) has this many bytes.
    init?(byteCount: Int, isPrivate: Bool) {
        let match = Self.allCases.first { curve in
            byteCount == curve.pointByteCount + (isPrivate ? curve.coordinateByteCount : 0)
        }
        guard let match else { return nil }
        self = match
    }
}

/// The algorithm of a key.
package enum KeyKind: Hashable, Sendable {
    case rsa
    case elliptic
    case ed25519
    case x25519
}

/// The algorithm and size of a key, without its bytes.
package enum KeyShape: Hashable, Sendable {
    /// The size of the modulus in bits, at least 1024.
    case rsa(sizeInBits: Int)
    case elliptic(EllipticCurve)
    case ed25519
    case x25519

    package var kind: KeyKind {
        switch self {
        case .rsa: .rsa
        case .elliptic: .elliptic
        case .ed25519: .ed25519
        case .x25519: .x25519
        }
    }

    package var sizeInBits: Int {
        switch self {
        case .rsa(let size): size
        case .elliptic(let curve): curve.sizeInBits
        case .ed25519, .x25519: 256
        }
    }

    /// The size in bytes of an RSA block, or of a coordinate.
    package var blockByteCount: Int { (sizeInBits + 7) / 8 }
}

/// The reason why a key can't be created or an operation failed. No case contains bytes of a key or
/// message.
package enum KeyOperationFailure: Error, Hashable, Sendable {
    /// The bytes, a size or the key doesn't fit the operation.
    case parameter(String)
    /// The algorithm exists, but the crypto library doesn't support it.
    case unsupported(String)
    /// The crypto library could not generate a key.
    case generation
    /// The signature doesn't match the data and the key.
    case verification
}

// MARK: - Operations

/// The form in which the data to sign is passed.
package enum SignatureInput: Hashable, Sendable {
    case message
    /// The digest of the message. If the algorithm has a hash function, the digest must have that
    /// function's size.
    case digest
}

/// The encoding of an ECDSA signature.
package enum ECDSAForm: Hashable, Sendable {
    /// A DER SEQUENCE of r and s.
    case x962
    /// r ‖ s, both padded to the curve's size.
    case rfc4754
}

package enum SignatureAlgorithm: Hashable, Sendable {
    /// RSA without padding. The input is a number that the caller has already padded.
    case rsaRaw
    /// Without a hash function, the caller passes the DigestInfo.
    case rsaPKCS1v15(DigestAlgorithm?, SignatureInput)
    /// The salt is as long as the digest, and MGF1 uses the same hash function.
    case rsaPSS(DigestAlgorithm, SignatureInput)
    /// Without a hash function, the caller passes a digest of any size.
    case ecdsa(DigestAlgorithm?, SignatureInput, ECDSAForm)
    case ed25519
}

package enum EncryptionAlgorithm: Hashable, Sendable {
    /// RSA without padding. The input is a number that the caller has already padded.
    case rsaRaw
    case rsaPKCS1
    case rsaOAEP(DigestAlgorithm)
    /// OAEP wraps a random AES key, and AES-GCM encrypts the message with that key.
    case rsaOAEPWithAESGCM(DigestAlgorithm)
    /// The initialization vector comes from the key derivation, or is zero.
    case ecies(DigestAlgorithm, derivesInitializationVector: Bool)
}

/// A key exchange. Variants with and without cofactor are the same here: the cofactor of every
/// supported NIST curve is 1, and X25519 includes its cofactor in the scalar.
package enum KeyExchangeAlgorithm: Hashable, Sendable {
    /// The x coordinate of the shared point.
    case ecdh
    case ecdhX963(DigestAlgorithm)
}
