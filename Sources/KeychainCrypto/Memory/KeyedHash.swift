// KeyedHash: HMAC-SHA-256 (RFC 2104) under a key that stays the same.
//   (1) The two padded keys are in secret memory, and hashed where they stand, anew for each code.
//   (2) The states behind the padded keys are as good as the key, and they lie in ordinary memory.
//       So none is kept, which would save two of four compressions, and each is overwritten in its
//       place before it is freed: hashing a further block replaces it with a one-way result of it.
//
// The library's HMAC is generic. On inputs as short as these it takes longer to call than to
// compute, and a write needs twelve codes.

import KeychainCore
import Crypto

struct KeyedHash: Sendable {
    private let inner: SecretBytes
    private let outer: SecretBytes

    /// - Parameter key: At most as long as a block of the hash, 64 bytes.
    init(key: SecretBytes) {
        precondition(key.count <= SHA256.blockByteCount)
        inner = Self.block(of: key, paddedWith: 0x36)
        outer = Self.block(of: key, paddedWith: 0x5C)
    }

    private static func block(of key: SecretBytes, paddedWith pad: UInt8) -> SecretBytes {
        // SAFETY: the key is not longer than the block, and each buffer is used within its call.
        unsafe SecretBytes(byteCount: SHA256.blockByteCount) { block in
            for index in block.indices { unsafe block[index] = pad }
            unsafe key.withUnsafeBytes { key in
                for index in key.indices { unsafe block[index] ^= key[index] }
            }
        }
    }

    func code(of bytes: [UInt8]) -> SHA256Digest {
        var inner = SHA256()
        var outer = SHA256()
        // SAFETY: each buffer is used within its call.
        unsafe self.inner.withUnsafeBytes { unsafe inner.update(bufferPointer: $0) }
        unsafe bytes.withUnsafeBytes { unsafe inner.update(bufferPointer: $0) }
        unsafe self.outer.withUnsafeBytes { unsafe outer.update(bufferPointer: $0) }
        unsafe inner.finalize().withUnsafeBytes { unsafe outer.update(bufferPointer: $0) }
        let code = outer.finalize()
        unsafe Self.zeros.withUnsafeBytes {
            unsafe inner.update(bufferPointer: $0)
            unsafe outer.update(bufferPointer: $0)
        }
        return code
    }

    private static let zeros = [UInt8](repeating: 0, count: SHA256.blockByteCount)
}

extension SHA256Digest {
    /// All 32 bytes.
    var bytes: [UInt8] {
        // SAFETY: copied within the call.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}
