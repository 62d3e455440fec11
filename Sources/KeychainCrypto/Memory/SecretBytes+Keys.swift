// SecretBytes+Keys: creates private keys of the crypto library from secret bytes.
//   (1) The only copy outside locked memory is inside the library's key, and exists as long as that
//       key.

package import Crypto
package import KeychainCore

extension SecretBytes {
    /// The private key with this P-256 scalar; `nil` if the scalar is invalid.
    package var signingKeyP256: P256.Signing.PrivateKey? {
        // SAFETY: the initializer copies the bytes and keeps no pointer.
        unsafe withUnsafeBytes { bytes in
            unsafe try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        }
    }

    /// The X-Wing key with this seed of 32 bytes; `nil` if the seed has another size.
    package var keyXWing: XWingMLKEM768X25519.PrivateKey? {
        // SAFETY: the initializer copies the bytes and keeps no pointer.
        unsafe withUnsafeBytes { bytes in
            unsafe try? XWingMLKEM768X25519.PrivateKey(seedRepresentation: bytes, publicKey: nil)
        }
    }
}
