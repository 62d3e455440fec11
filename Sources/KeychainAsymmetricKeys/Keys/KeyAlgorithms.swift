// KeyAlgorithms: which asymmetric keys there are, how big each is, and their operations with all
// variants, in types.

/// A curve of NIST over a prime field.
package enum EllipticCurve: Int, CaseIterable, Hashable, Sendable {
    case p256 = 256
    case p384 = 384
    case p521 = 521

    package var sizeInBits: Int { rawValue }

    /// The size of a coordinate, and of a private scalar.
    package var coordinateByteCount: Int { (rawValue + 7) / 8 }

    /// The size of a point as 04 ‖ X ‖ Y.
    package var pointByteCount: Int { 1 + 2 * coordinateByteCount }

    /// The curve whose point, or point and private scalar, has this many bytes.
    init?(byteCount: Int, isPrivate: Bool) {
        let match = Self.allCases.first { curve in
            byteCount == curve.pointByteCount + (isPrivate ? curve.coordinateByteCount : 0)
        }
        guard let match else { return nil }
        self = match
    }
}

/// The algorithm that a key belongs to.
package enum KeyKind: Hashable, Sendable {
    case rsa
    case elliptic
    case ed25519
    case x25519
}

/// What a key is, without its bytes.
package enum KeyShape: Hashable, Sendable {
    /// Bits of the modulus, 1024 and up.
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

    /// The size of an RSA block, or of a coordinate.
    package var blockByteCount: Int { (sizeInBits + 7) / 8 }
}

/// Why a key can't be made or an operation wasn't carried out. No case holds bytes.
package enum KeyOperationFailure: Error, Hashable, Sendable {
    /// Bytes, sizes or the key don't fit the operation.
    case parameter(String)
    /// There is such an algorithm, and the crypto library can't do it.
    case unsupported(String)
    /// The signature doesn't belong to these data and this key.
    case verification
}

// MARK: - Operations

/// What is handed in to be signed.
package enum SignatureInput: Hashable, Sendable {
    case message
    /// The digest of the message, of the size of its hash function.
    case digest
}

/// How an ECDSA signature is written.
package enum ECDSAForm: Hashable, Sendable {
    /// The DER of the two numbers.
    case x962
    /// The two numbers in a row, each of the curve's size.
    case rfc4754
}

package enum SignatureAlgorithm: Hashable, Sendable {
    /// The number itself: the caller has padded it.
    case rsaRaw
    /// Without a hash function: the caller made the DigestInfo.
    case rsaPKCS1v15(DigestAlgorithm?, SignatureInput)
    /// The salt is as long as the digest, and the mask has the same hash function.
    case rsaPSS(DigestAlgorithm, SignatureInput)
    /// Without a hash function: a digest of any size.
    case ecdsa(DigestAlgorithm?, SignatureInput, ECDSAForm)
    case ed25519
}

package enum EncryptionAlgorithm: Hashable, Sendable {
    /// The number itself: the caller has padded it.
    case rsaRaw
    case rsaPKCS1
    case rsaOAEP(DigestAlgorithm)
    /// A random AES key by OAEP, the message by that key.
    case rsaOAEPWithAESGCM(DigestAlgorithm)
    /// With the initialization vector from the key derivation, or zero.
    case ecies(DigestAlgorithm, derivesInitializationVector: Bool)
}

/// With or without cofactor is the same here: the cofactor of every curve is 1, and X25519 has
/// its own in the scalar.
package enum KeyExchangeAlgorithm: Hashable, Sendable {
    /// The shared point's x coordinate.
    case ecdh
    case ecdhX963(DigestAlgorithm)
}
