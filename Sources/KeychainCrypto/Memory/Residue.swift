// Residue: erases what the crypto library leaves behind in freed memory.
//   (1) swift-crypto frees the object that holds an AES key schedule without zeroing it; the
//       schedule begins with the key. Likewise the padded keys of its HMAC.
//   (2) glibc hands a thread the block that it freed last for the same size. So a block taken
//       right after the operation is that object, and is zeroed here.
//   (3) With another allocator this does nothing of use and no harm. The threat model says so.

import Glibc

package enum Residue {
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

    @inline(never)
    private static func eraseStack() {
        // SAFETY: a temporary of this frame, written over its whole size.
        unsafe withUnsafeTemporaryAllocation(byteCount: 32 * 1024, alignment: 16) { buffer in
            if let base = buffer.baseAddress { unsafe explicit_bzero(base, buffer.count) }
        }
    }
}
