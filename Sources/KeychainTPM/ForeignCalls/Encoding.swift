// Encoding: structures of the library from bytes and back, by the library's own functions, so that
// no structure is put together field by field here.
//   (1) A structure that holds a secret lives in memory of SecretBytes, never on the stack.
//   (2) What the library allocated for a secret is overwritten before it is freed.
//   (3) What the library keeps inside is its own: the authorization of the key that was made or used
//       last stays in its context or in what it freed. Without chip and wrapped key it opens nothing.

#if TPM

import CKeychainTSS2
import Glibc
import KeychainCrypto
import KeychainCore

typealias Encoder<Structure> = (
    UnsafePointer<Structure>?, UnsafeMutablePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?
) -> UInt32

typealias Decoder<Structure> = (
    UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Structure>?
) -> UInt32

extension TSSConnection {
    /// The structure that some bytes are. All of them are used.
    func structure<Structure>(
        _ bytes: [UInt8], _ decoder: Decoder<Structure>
    ) throws(ResponseFailure) -> Structure {
        // SAFETY: the structure is one of C, for which all bits zero are a value; the decoder
        // reads no further than the count says, and fills the structure.
        let memory = UnsafeMutablePointer<Structure>.allocate(capacity: 1)
        defer { unsafe memory.deallocate() }
        unsafe memset(memory, 0, MemoryLayout<Structure>.size)
        var offset = 0
        let code = unsafe bytes.withUnsafeBufferPointer { source in
            unsafe decoder(source.baseAddress, source.count, &offset, memory)
        }
        try check(code, .encode)
        guard offset == bytes.count else {
            throw ResponseFailure(code: TSSConnection.wrongSize, command: .encode)
        }
        return unsafe memory.pointee
    }

    /// Calls `body` with the structure that secret bytes are, in secret memory.
    ///
    /// - Returns: What `body` returns: a response code.
    func withStructure<Structure>(
        _ secret: SecretBytes, _ decoder: Decoder<Structure>,
        _ body: (UnsafePointer<Structure>) -> UInt32
    ) throws(ResponseFailure) -> UInt32 {
        var offset = 0
        var decoded: UInt32 = 0
        // SAFETY: blocks of secret memory are zero, large enough, and aligned to 64 bytes; the
        // decoder reads no further than the count says. Nothing reads the block afterwards but
        // `body`, while it is alive.
        let memory = unsafe SecretBytes(byteCount: MemoryLayout<Structure>.size) { target in
            guard let base = target.baseAddress else { return }
            unsafe secret.withUnsafeBytes { source in
                unsafe decoded = decoder(
                    source.baseAddress?.assumingMemoryBound(to: UInt8.self), source.count,
                    &offset, base.assumingMemoryBound(to: Structure.self))
            }
        }
        try check(decoded, .encode)
        guard offset == secret.count else {
            throw ResponseFailure(code: TSSConnection.wrongSize, command: .encode)
        }
        return unsafe memory.withUnsafeBytes { block in
            guard let base = block.baseAddress else { return TSSConnection.wrongSize }
            return unsafe body(base.assumingMemoryBound(to: Structure.self))
        }
    }

    /// The bytes of a structure that the library allocated, which is freed.
    func bytes<Structure>(
        taking structure: UnsafeMutablePointer<Structure>?, _ encoder: Encoder<Structure>
    ) throws(ResponseFailure) -> [UInt8] {
        // SAFETY: the library's, and no other code has it; an encoding is never longer than twice
        // its structure, and the encoder writes no further than the count says.
        guard let structure = unsafe structure else {
            throw ResponseFailure(code: TSSConnection.wrongSize, command: .encode)
        }
        defer { unsafe library.free(structure) }
        var buffer = [UInt8](repeating: 0, count: 2 * MemoryLayout<Structure>.size)
        var count = 0
        let code = unsafe buffer.withUnsafeMutableBufferPointer { target in
            unsafe encoder(structure, target.baseAddress, target.count, &count)
        }
        try check(code, .encode)
        return Array(buffer.prefix(count))
    }

    /// The bytes of a structure with a secret, which is overwritten and freed.
    func secretBytes<Structure>(
        taking structure: UnsafeMutablePointer<Structure>?, _ encoder: Encoder<Structure>
    ) throws(ResponseFailure) -> SecretBytes {
        // SAFETY: as above.
        guard let structure = unsafe structure else {
            throw ResponseFailure(code: TSSConnection.wrongSize, command: .encode)
        }
        defer {
            unsafe explicit_bzero(structure, MemoryLayout<Structure>.size)
            unsafe library.free(structure)
        }
        var count = 0
        var code: UInt32 = 0
        let buffer = unsafe SecretBytes(byteCount: 2 * MemoryLayout<Structure>.size) {
            target in
            unsafe code = encoder(
                structure, target.baseAddress?.assumingMemoryBound(to: UInt8.self),
                target.count, &count)
        }
        try check(code, .encode)
        return buffer.slice(0..<min(count, buffer.count))
    }

    /// In place of a code of the library: what it gave isn't of the size it says.
    static let wrongSize = KEYCHAIN_TSS2_MU_RC_BAD_SIZE
}

#endif
