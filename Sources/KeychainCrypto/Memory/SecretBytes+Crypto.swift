// SecretBytes+Crypto: secret bytes and the crypto library: they go in without a copy outside locked
// memory, and what the library leaves behind is erased.
//   (1) This project makes no copy of them outside locked memory.
//   (2) `KeyedHash` is HMAC-SHA-256 (RFC 2104) under a key that stays the same. The two padded keys
//       are in secret memory, and hashed where they stand, anew for each code.
//   (3) The states behind the padded keys are as good as the key, and they lie in ordinary memory.
//       So none is kept, which would save two of four compressions, and each is overwritten in its
//       place before it is freed: hashing a further block replaces it with a one-way result of it.
//   (4) swift-crypto frees the object that holds an AES key schedule without zeroing it; the
//       schedule begins with the key. Likewise the padded keys of its HMAC. `MemoryScrubber` erases them:
//       glibc hands a thread the block that it freed last for the same size, so a block taken right
//       after the operation is that object, and is zeroed.
//   (5) With another allocator (4) does nothing of use and no harm. The threat model says so.
//
// The library's HMAC is generic. On inputs as short as these it takes longer to call than to
// compute, and a write needs twelve codes.

package import Crypto
import CryptoExtras
import FoundationEssentials
import Glibc
package import KeychainCore

extension SecretBytes {
    /// The bytes of a key of the crypto library.
    package convenience init(_ key: SymmetricKey) {
        unsafe self.init(byteCount: key.bitCount / 8) { target in
            // SAFETY: both ranges have the same size and do not overlap.
            unsafe key.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        }
    }

    /// What two sides have agreed on.
    package convenience init(_ secret: SharedSecret) {
        // SAFETY: both ranges have the same size and do not overlap.
        unsafe self.init(byteCount: secret.withUnsafeBytes { $0.count }) { target in
            unsafe secret.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
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

    /// HMAC-SHA-256 of the bytes as a message, under a key that is no secret: 32 bytes.
    func authenticationCode(under key: [UInt8]) -> SecretBytes {
        // SAFETY: the buffer is used within the call only.
        unsafe withUnsafeBytes {
            unsafe SecretBytes(
                copying: HMAC<SHA256>.authenticationCode(for: $0, using: SymmetricKey(data: key)),
                byteCount: SHA256.byteCount)
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

extension AES.GCM.Nonce {
    /// Twelve bytes of the system's generator, in one call of it, which the library's own aren't.
    static func random() -> AES.GCM.Nonce {
        // SAFETY: the buffer is of this call alone, and filled before it is read.
        unsafe withUnsafeTemporaryAllocation(
            byteCount: AuthenticatedEncryption.nonceByteCount, alignment: 4
        ) { bytes in
            unsafe SystemMemory.fillRandomly(bytes)
            guard let nonce = try? unsafe AES.GCM.Nonce(data: UnsafeRawBufferPointer(bytes)) else {
                preconditionFailure("a nonce has another size")
            }
            return nonce
        }
    }
}

// MARK: - HMAC

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

    /// A code that is a key itself. Nothing else is left of it.
    func secretCode(of bytes: [UInt8]) -> SecretBytes {
        defer { MemoryScrubber.eraseStack() }
        let code = code(of: bytes)
        // SAFETY: both have the size of a digest.
        return unsafe SecretBytes(byteCount: SHA256.byteCount) { target in
            unsafe code.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        }
    }

    /// They take the place of what is left of the last block, and are too few for another one.
    private static let zeros = [UInt8](repeating: 0, count: SHA256.blockByteCount - 1)
}

extension SHA256Digest {
    /// All 32 bytes.
    var bytes: [UInt8] {
        // SAFETY: copied within the call.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}

// MARK: - Freed memory

package enum MemoryScrubber {
    /// The allocation of swift-crypto's AEAD context: a 16-byte object header and BoringSSL's
    /// EVP_AEAD_CTX. A test looks for the keys, so a change of this size does not go unnoticed.
    private static let contextByteCount = 600

    /// Erases the AEAD context that this thread freed last.
    package static func eraseContext() {
        // SAFETY: malloc'ed here, erased over its whole size, freed at once.
        guard let block = unsafe malloc(contextByteCount) else { return }
        unsafe explicit_bzero(block, contextByteCount)
        unsafe free(block)
    }

    /// Erases this thread's freed blocks of the sizes that key handling uses, and the unused
    /// part of its stack. For the rare moments when keys come and go.
    package static func eraseFreedMemory() {
        for byteCount in stride(from: 24, through: 1032, by: 16) {
            erase(byteCount: byteCount, blocks: 8)
        }
        eraseStack()
    }

    private static func erase(byteCount: Int, blocks: Int) {
        var taken = unsafe [UnsafeMutableRawPointer]()
        // One block at a time would be the same one again and again.
        unsafe taken.reserveCapacity(blocks)
        for _ in 0..<blocks {
            // SAFETY: malloc'ed here, erased over its whole size, freed below.
            guard let block = unsafe malloc(byteCount) else { break }
            unsafe explicit_bzero(block, byteCount)
            unsafe taken.append(block)
        }
        while let block = unsafe taken.popLast() { unsafe free(block) }
    }

    /// Erases the unused part of this thread's stack.
    @inline(never)
    static func eraseStack() {
        // SAFETY: a temporary of this frame, written over its whole size.
        unsafe withUnsafeTemporaryAllocation(byteCount: 32 * 1024, alignment: 16) { buffer in
            if let base = buffer.baseAddress { unsafe explicit_bzero(base, buffer.count) }
        }
    }
}

// MARK: - Sixteen bytes

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
