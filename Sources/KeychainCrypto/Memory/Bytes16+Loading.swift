// Bytes16+Loading: sixteen bytes out of memory in two loads. Rows hold five of them, and reading
// them byte by byte took longer than opening the row.

import Crypto
package import KeychainCore

extension Bytes16 {
    /// - Returns: nil unless the buffer holds exactly 16 bytes.
    package init?(loading bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        // SAFETY: both loads lie within the 16 bytes.
        self.init(
            high: UInt64(bigEndian: unsafe bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// The first 16 bytes of a code of 32.
    init(prefixOf code: SHA256Digest) {
        // SAFETY: a digest of SHA-256 has 32 bytes.
        self = unsafe code.withUnsafeBytes { bytes in
            Bytes16(
                high: UInt64(bigEndian: unsafe bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(
                    bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}
