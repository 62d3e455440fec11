// KeyedHash: HMAC-SHA-256 (RFC 2104) under a key that stays the same.
//   (1) The two states behind the padded key are made once, which saves two of four compressions.
//   (2) The padded keys are in secret memory, and hashed where they stand.
//
// The library's HMAC is generic. On inputs as short as these it takes longer to call than to
// compute, and a write needs twelve codes.

import Crypto

struct KeyedHash: Sendable {
    private let inner: SHA256
    private let outer: SHA256

    /// - Parameter key: At most as long as a block of the hash, 64 bytes.
    init(key: SecretBytes) {
        precondition(key.count <= SHA256.blockByteCount)
        inner = Self.state(behind: key, paddedWith: 0x36)
        outer = Self.state(behind: key, paddedWith: 0x5C)
        Residue.eraseFreedMemory()
    }

    private static func state(behind key: SecretBytes, paddedWith pad: UInt8) -> SHA256 {
        // SAFETY: the key is not longer than the block, and each buffer is used within its call.
        let block = unsafe SecretBytes(byteCount: SHA256.blockByteCount) { block in
            for index in block.indices { unsafe block[index] = pad }
            unsafe key.withUnsafeBytes { key in
                for index in key.indices { unsafe block[index] ^= key[index] }
            }
        }
        var state = SHA256()
        unsafe block.withUnsafeBytes { unsafe state.update(bufferPointer: $0) }
        return state
    }

    func code(of bytes: [UInt8]) -> SHA256Digest {
        var inner = inner
        var outer = outer
        // SAFETY: each buffer is used within its call.
        unsafe bytes.withUnsafeBytes { unsafe inner.update(bufferPointer: $0) }
        unsafe inner.finalize().withUnsafeBytes { unsafe outer.update(bufferPointer: $0) }
        return outer.finalize()
    }
}

extension SHA256Digest {
    /// All 32 bytes.
    var bytes: [UInt8] {
        // SAFETY: copied within the call.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}
