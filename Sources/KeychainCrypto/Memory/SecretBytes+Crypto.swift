// SecretBytes+Crypto: passes secret bytes to the crypto library, and erases what the library leaves
// behind in ordinary memory.
//   (1) This file itself copies secret bytes only into secret memory. The library has copies in
//       ordinary memory: each `SymmetricKey`, which the library zeroes, its hash states, the
//       objects that it frees, and the digests that it returns.
//   (2) `KeyedHash` is HMAC-SHA-256 (RFC 2104) under a fixed key. The two padded keys are in secret
//       memory. Each HMAC hashes both padded keys again, without another copy of them.
//   (3) The hash states after the padded keys are equivalent to the key, and they are in ordinary
//       memory. They are therefore not cached, although that would save two of four compressions.
//       Each is overwritten in place before it is freed: hashing a further block replaces it with a
//       one-way result.
//   (4) swift-crypto frees the object with an AES key schedule, which starts with the key, without
//       zeroing it. It frees the padded keys of its HMAC in the same way. `MemoryScrubber` erases
//       these freed objects: if a thread allocates a block, glibc returns the block of this size
//       that the thread freed last. A block allocated right after the operation is therefore the
//       freed object. It is zeroed and freed again.
//   (5) With another allocator, (4) has no effect and does no harm. The threat model says that (4)
//       depends on glibc.
//
// `KeyedHash` replaces the library's HMAC because the library's is generic code: for the short
// inputs of this project, calling it takes longer than the hashing, and a write needs twelve HMACs.

package import Crypto
import CryptoExtras
import FoundationEssentials
import Glibc
package import KeychainCore

extension SecretBytes {
    /// Copies the bytes of a key of the crypto library.
    package convenience init(_ key: SymmetricKey) {
        unsafe self.init(byteCount: key.bitCount / 8) { target in
            // SAFETY: both ranges have the same size and do not overlap.
            unsafe key.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        }
    }

    /// Copies the bytes of a shared secret.
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

    /// SHA-256 of the bytes, 32 bytes.
    package var sha256: [UInt8] {
        // SAFETY: the buffer is used only during the call.
        unsafe withUnsafeBytes { unsafe Array(SHA256.hash(data: $0)) }
    }

    /// SHA-256 of the bytes, 32 bytes, in secret memory.
    package var digest: SecretBytes {
        // SAFETY: the buffer is used only during the call.
        unsafe withUnsafeBytes {
            unsafe SecretBytes(
                copying: SHA256.hash(data: $0), byteCount: SHA256.byteCount)
        }
    }

    /// HMAC-SHA-256 of the bytes as a message, under a key that is not secret: 32 bytes.
    func authenticationCode(under key: [UInt8]) -> SecretBytes {
        // SAFETY: the buffer is used only during the call.
        unsafe withUnsafeBytes {
            unsafe SecretBytes(
                copying: HMAC<SHA256>.authenticationCode(for: $0, using: SymmetricKey(data: key)),
                byteCount: SHA256.byteCount)
        }
    }

    /// Derives a key with scrypt (RFC 7914) from the bytes as a password.
    func scrypt(salt: [UInt8], cost: PasscodeCost) throws -> SecretBytes {
        // SAFETY: the buffer is used only during the call.
        try unsafe withUnsafeBytes { bytes in
            SecretBytes(
                try unsafe KDF.Scrypt.deriveKey(
                    from: bytes, salt: salt, outputByteCount: 32, rounds: 1 << Int(cost.logN),
                    blockSize: Int(cost.blockSize), parallelism: Int(cost.parallelism),
                    maxMemory: cost.memoryByteCount + (32 << 20)))
        }
    }

    /// Seals the bytes as a plaintext: nonce ‖ ciphertext ‖ tag.
    func sealed(using key: SecretBytes, authenticating data: [UInt8]) -> Data {
        // SAFETY: the buffer is used only during the call.
        unsafe withUnsafeBytes { bytes in
            unsafe AuthenticatedEncryption.seal(bytes, using: key, authenticating: data)
        }
    }
}

extension AES.GCM.Nonce {
    /// Creates a nonce with one call of the system's random number generator. The library's own
    /// nonces take several.
    static func random() -> AES.GCM.Nonce {
        // SAFETY: the buffer is private to this call, and filled before it is read.
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
        // SAFETY: the key is not longer than the block, and each buffer is used only during its
        // call.
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
        // SAFETY: each buffer is used only during its call.
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

    /// A code that is used as a key. Copies of the code in the unused part of the stack are erased.
    func secretCode(of bytes: [UInt8]) -> SecretBytes {
        defer { MemoryScrubber.eraseStack() }
        return copiedCode(of: bytes)
    }

    /// Isn't inlined, so that the code in its stack frame is in the part of the stack that
    /// `eraseStack` erases afterwards.
    @inline(never)
    private func copiedCode(of bytes: [UInt8]) -> SecretBytes {
        let code = code(of: bytes)
        // SAFETY: both have the size of a digest.
        return unsafe SecretBytes(byteCount: SHA256.byteCount) { target in
            unsafe code.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        }
    }

    /// A block of zeros. After it, at least one further block has been hashed, which has overwritten
    /// the state and the bytes of the last block.
    private static let zeros = [UInt8](repeating: 0, count: SHA256.blockByteCount)
}

extension SHA256Digest {
    /// All 32 bytes.
    var bytes: [UInt8] {
        // SAFETY: the bytes are copied during the call.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}

// MARK: - Freed memory

package enum MemoryScrubber {
    /// The allocation size of swift-crypto's AEAD context: a 16-byte object header and BoringSSL's
    /// EVP_AEAD_CTX. A test searches memory for the keys and would detect a change of this size.
    private static let contextByteCount = 600

    /// Erases the AEAD context that this thread freed last.
    package static func eraseContext() {
        // SAFETY: the block is allocated here, erased over its whole size, and freed at once.
        guard let block = unsafe malloc(contextByteCount) else { return }
        unsafe explicit_bzero(block, contextByteCount)
        unsafe free(block)
    }

    /// Erases, of each size that key handling uses, up to eight blocks that this thread freed last.
    /// Also erases 32 KiB of the unused part of the thread's stack. Called where keys are created,
    /// opened or discarded, and after requests to a TPM.
    package static func eraseFreedMemory() {
        for byteCount in stride(from: 24, through: 1032, by: 16) {
            erase(byteCount: byteCount, blocks: 8)
        }
        eraseStack()
    }

    private static func erase(byteCount: Int, blocks: Int) {
        var taken = unsafe [UnsafeMutableRawPointer]()
        // All blocks are allocated before any is freed, because otherwise each allocation would
        // return the same block.
        unsafe taken.reserveCapacity(blocks)
        for _ in 0..<blocks {
            // SAFETY: the block is allocated here, erased over its whole size, and freed below.
            guard let block = unsafe malloc(byteCount) else { break }
            unsafe explicit_bzero(block, byteCount)
            unsafe taken.append(block)
        }
        while let block = unsafe taken.popLast() { unsafe free(block) }
    }

    /// Erases 32 KiB of the unused part of this thread's stack.
    @inline(never)
    static func eraseStack() {
        // SAFETY: the buffer is a temporary of this frame, written over its whole size.
        unsafe withUnsafeTemporaryAllocation(byteCount: 32 * 1024, alignment: 16) { buffer in
            if let base = buffer.baseAddress { unsafe explicit_bzero(base, buffer.count) }
        }
    }
}

// MARK: - Sixteen bytes

extension Bytes16 {
    /// - Returns: `nil` unless the buffer has exactly 16 bytes.
    package init?(loading bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        // SAFETY: both loads lie within the 16 bytes.
        self.init(
            high: UInt64(bigEndian: unsafe bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// The first 16 bytes of a 32-byte code.
    init(prefixOf code: SHA256Digest) {
        // SAFETY: a SHA-256 digest has 32 bytes.
        self = unsafe code.withUnsafeBytes { bytes in
            Bytes16(
                high: UInt64(bigEndian: unsafe bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(
                    bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}
