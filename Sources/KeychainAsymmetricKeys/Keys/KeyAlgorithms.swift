// KeyAlgorithms: the operations of asymmetric keys and their variants, in types.

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
