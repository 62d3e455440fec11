// PageKey: the key that authenticates the pages of one database file with AES-256-GMAC, which is
// AES-256-GCM with an empty plaintext.
//   (1) The key is derived from the device key and the salt of the file. A page of another file
//       therefore fails authentication.
//   (2) Every tag has a random nonce of 96 bits. The format permits at most 2^32 tags under one
//       key. No code enforces this limit, which is some 300 million commits.
//   (3) Copies of the key in the crypto library's memory are erased, see `MemoryScrubber`.

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

    /// Computes a tag over the data, and writes the tag and its nonce.
    ///
    /// - Parameters:
    ///   - data: The data to authenticate.
    ///   - tag: The first of ``tagByteCount`` writable bytes.
    ///   - nonce: The first of ``nonceByteCount`` writable bytes.
    package func authenticate(
        _ data: UnsafeRawBufferPointer, tagAt tag: UnsafeMutableRawPointer,
        nonceAt nonce: UnsafeMutableRawPointer
    ) {
        defer { MemoryScrubber.eraseContext() }
        // SAFETY: the library reads `data` during the call. The caller guarantees the sizes of both
        // targets, which are those of the copied bytes.
        let random = AES.GCM.Nonce.random()
        let box = key.withSymmetricKey {
            try? unsafe AES.GCM.seal(
                [UInt8](), using: $0, nonce: random, authenticating: data)
        }
        guard let box else {
            // This is reached only with a key of a wrong size, and a derived key has 32 bytes.
            preconditionFailure("authentication failed")
        }
        unsafe UnsafeMutableRawBufferPointer(start: tag, count: Self.tagByteCount)
            .copyBytes(from: box.tag)
        unsafe random.withUnsafeBytes {
            unsafe UnsafeMutableRawBufferPointer(start: nonce, count: Self.nonceByteCount)
                .copyMemory(from: $0)
        }
    }

    /// Checks a tag.
    ///
    /// - Parameters:
    ///   - tag: The tag, ``tagByteCount`` bytes.
    ///   - data: The authenticated data.
    ///   - nonce: The nonce, ``nonceByteCount`` bytes.
    /// - Returns: Whether the tag is valid for the data.
    package func isValid(
        _ tag: UnsafeRawBufferPointer, for data: UnsafeRawBufferPointer,
        nonce: UnsafeRawBufferPointer
    ) -> Bool {
        defer { MemoryScrubber.eraseContext() }
        // SAFETY: the library copies the tag and the nonce, and reads `data` during the call.
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
