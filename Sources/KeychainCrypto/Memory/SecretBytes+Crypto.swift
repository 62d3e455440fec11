// SecretBytes+Crypto: secret bytes as input of the crypto library, without a copy outside
// locked memory that this project makes.

package import Crypto
import CryptoExtras
import FoundationEssentials
package import KeychainCore

extension SecretBytes {
    /// The bytes of a key of the crypto library.
    package convenience init(_ key: SymmetricKey) {
        unsafe self.init(byteCount: key.bitCount / 8) { target in
            // SAFETY: both ranges have the same size and do not overlap.
            unsafe key.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        }
    }

    /// Calls `body` with the bytes as a key of the crypto library, which zeroes its copy.
    package func withSymmetricKey<Result>(
        _ body: (SymmetricKey) throws -> Result
    ) rethrows -> Result {
        // SAFETY: the initializer copies the bytes and keeps no pointer.
        let key = unsafe withUnsafeBytes { unsafe SymmetricKey(data: $0) }
        return try body(key)
    }

    /// SHA-256 of the bytes: 32 bytes.
    package var sha256: [UInt8] {
        // SAFETY: the buffer is used within the call only.
        unsafe withUnsafeBytes { unsafe Array(SHA256.hash(data: $0)) }
    }

    /// SHA-256 of bytes that are not to be known by it: 32 bytes.
    package var digest: SecretBytes {
        // SAFETY: the buffer is used within the call only.
        unsafe withUnsafeBytes {
            unsafe SecretBytes(
                copying: SHA256.hash(data: $0), byteCount: SHA256.byteCount)
        }
    }

    /// scrypt (RFC 7914) of the bytes as a password.
    func scrypt(salt: [UInt8], cost: PasscodeCost) throws -> SecretBytes {
        // SAFETY: the buffer is used within the call only.
        try unsafe withUnsafeBytes { bytes in
            SecretBytes(
                try unsafe KDF.Scrypt.deriveKey(
                    from: bytes, salt: salt, outputByteCount: 32, rounds: 1 << Int(cost.logN),
                    blockSize: Int(cost.blockSize), parallelism: Int(cost.parallelism),
                    maxMemory: cost.memoryByteCount + (32 << 20)))
        }
    }

    /// The bytes sealed as a plaintext: nonce ‖ ciphertext ‖ tag.
    func sealed(using key: SecretBytes, authenticating data: [UInt8]) -> Data {
        // SAFETY: the buffer is used within the call only.
        unsafe withUnsafeBytes { bytes in
            unsafe AuthenticatedEncryption.seal(bytes, using: key, authenticating: data)
        }
    }
}
