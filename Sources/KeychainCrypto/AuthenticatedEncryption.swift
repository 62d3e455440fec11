// AuthenticatedEncryption: the one place where something is sealed or opened.
// AES-256-GCM, random 96-bit nonce, 128-bit tag: nonce ‖ ciphertext ‖ tag.

package import KeychainCore
package import FoundationEssentials
import Crypto

package enum AuthenticatedEncryption {
    package static let keyByteCount = 32
    package static let nonceByteCount = 12
    package static let tagByteCount = 16
    /// What sealing adds to a plaintext.
    package static let overheadByteCount = nonceByteCount + tagByteCount

    /// The bytes did not come from ``seal(_:using:authenticating:)`` with this key and
    /// these associated data.
    package struct Inauthentic: Error {}

    /// - Returns: nonce ‖ ciphertext ‖ tag.
    package static func seal(
        _ plaintext: some DataProtocol, using key: SecretBytes, authenticating data: [UInt8]
    ) -> Data {
        defer { Residue.eraseContext() }
        let box = key.withSymmetricKey {
            try? AES.GCM.seal(plaintext, using: $0, authenticating: data)
        }
        guard let combined = box?.combined else {
            // Only a key of a wrong size gets here, and every key is made by this module.
            preconditionFailure("sealing failed")
        }
        return combined
    }

    package static func open(
        _ sealed: Data, using key: SecretBytes, authenticating data: [UInt8]
    ) throws(Inauthentic) -> Data {
        guard sealed.count >= overheadByteCount, key.count == keyByteCount else {
            throw Inauthentic()
        }
        defer { Residue.eraseContext() }
        do {
            return try key.withSymmetricKey {
                try AES.GCM.open(
                    AES.GCM.SealedBox(combined: sealed), using: $0, authenticating: data)
            }
        } catch {
            throw Inauthentic()
        }
    }

    // MARK: Keys

    /// The size of a wrapped 256-bit key.
    package static let wrappedKeyByteCount = keyByteCount + overheadByteCount

    /// Seals a key under another one.
    package static func wrap(
        _ key: SecretBytes, using wrapping: SecretBytes, authenticating data: [UInt8]
    ) -> Data {
        key.sealed(using: wrapping, authenticating: data)
    }

    package static func unwrap(
        _ wrapped: Data, using wrapping: SecretBytes, authenticating data: [UInt8]
    ) throws(Inauthentic) -> SecretBytes {
        guard wrapped.count == wrappedKeyByteCount else { throw Inauthentic() }
        var plaintext = try open(wrapped, using: wrapping, authenticating: data)
        defer { plaintext.resetBytes(in: plaintext.startIndex..<plaintext.endIndex) }
        return SecretBytes(copying: plaintext)
    }
}
