// SecretBytes+Keys: private keys of the crypto library, made of secret bytes.
//   (1) No copy is made outside locked memory but the library's own, which exists as long as its key.

package import Crypto
package import KeychainCore

extension SecretBytes {
    /// The key of a scalar of P-256. nil: it is none of the curve.
    package var signingKeyP256: P256.Signing.PrivateKey? {
        // SAFETY: the initializer copies the bytes and keeps no pointer.
        unsafe withUnsafeBytes { bytes in
            unsafe try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        }
    }

    /// The X-Wing key of a seed of 32 bytes. nil: it has another size.
    package var keyXWing: XWingMLKEM768X25519.PrivateKey? {
        // SAFETY: the initializer copies the bytes and keeps no pointer.
        unsafe withUnsafeBytes { bytes in
            unsafe try? XWingMLKEM768X25519.PrivateKey(seedRepresentation: bytes, publicKey: nil)
        }
    }
}
