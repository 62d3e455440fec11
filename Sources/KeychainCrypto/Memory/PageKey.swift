// PageKey: the key that authenticates the pages of one database file (AES-256-GMAC, which is AES-256-GCM
// of no plaintext).
//   (1) It follows from the device key and the salt of the file, so that a page of another file fails.
//   (2) Every tag has a random nonce of 96 bits. The bound of 2^32 tags under one key is the format's.
//   (3) What the crypto library leaves of the key is erased, see `MemoryScrubber`.

import Crypto
import FoundationEssentials
package import KeychainCore

package struct PageKey: Sendable {
    package static let saltByteCount = 16
    package static let tagByteCount = AuthenticatedEncryption.tagByteCount
    package static let nonceByteCount = AuthenticatedEncryption.nonceByteCount

    private let key: SecretBytes

    package init(deviceKey: SecretBytes, salt: [UInt8]) {
        defer { MemoryScrubber.eraseFreedMemory() }
        key = KeyDerivation.derive(.pages, from: deviceKey, salt: salt)
    }

    /// Writes the tag over some bytes, and the nonce that it was made with.
    ///
    /// - Parameters:
    ///   - data: What is authenticated.
    ///   - tag: The first of ``tagByteCount`` writable bytes.
    ///   - nonce: The first of ``nonceByteCount`` writable bytes.
    package func authenticate(
        _ data: UnsafeRawBufferPointer, tagAt tag: UnsafeMutableRawPointer,
        nonceAt nonce: UnsafeMutableRawPointer
    ) {
        defer { MemoryScrubber.eraseContext() }
        // SAFETY: the library reads `data` within the call. The caller vouches for the sizes of both
        // targets, which are those of what is copied.
        let random = AES.GCM.Nonce.random()
        let box = key.withSymmetricKey {
            try? unsafe AES.GCM.seal(
                [UInt8](), using: $0, nonce: random, authenticating: data)
        }
        guard let box else {
            // Only a key of a wrong size gets here, and every key is made by this module.
            preconditionFailure("authentication failed")
        }
        unsafe UnsafeMutableRawBufferPointer(start: tag, count: Self.tagByteCount)
            .copyBytes(from: box.tag)
        unsafe random.withUnsafeBytes {
            unsafe UnsafeMutableRawBufferPointer(start: nonce, count: Self.nonceByteCount)
                .copyMemory(from: $0)
        }
    }

    /// Whether a tag is the one over some bytes.
    ///
    /// - Parameters:
    ///   - tag: ``tagByteCount`` bytes.
    ///   - data: What was authenticated.
    ///   - nonce: ``nonceByteCount`` bytes.
    /// - Returns: Whether it is.
    package func isValid(
        _ tag: UnsafeRawBufferPointer, for data: UnsafeRawBufferPointer,
        nonce: UnsafeRawBufferPointer
    ) -> Bool {
        defer { MemoryScrubber.eraseContext() }
        // SAFETY: the library copies tag and nonce, and reads `data` within the call.
        return key.withSymmetricKey { key in
            do {
                let box = try unsafe AES.GCM.SealedBox(
                    nonce: AES.GCM.Nonce(data: nonce), ciphertext: [UInt8](), tag: tag)
                _ = try unsafe AES.GCM.open(box, using: key, authenticating: data)
                return true
            } catch {
                return false
            }
        }
    }
}
