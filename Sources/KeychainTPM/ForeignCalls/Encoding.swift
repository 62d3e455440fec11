// Encoding: conversion between bytes and the structures of tpm2-tss. It uses the library's own
// functions, so that no structure is assembled field by field here.
//   (1) A structure that contains a secret is in SecretBytes memory or was allocated by the
//       library, never on the stack.
//   (2) Memory that the library allocated for a secret is overwritten before it is freed.
//   (3) The library's internal memory is out of reach: the authorization value of the key that was
//       created or used last may remain in the library's context, or in freed memory that
//       `ChipAccess` doesn't erase. Without the chip and the wrapped key, this value is useless.

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
    /// Decodes a structure. All bytes must be used.
    func structure<Structure>(
        _ bytes: [UInt8], _ decoder: Decoder<Structure>
    ) throws(ResponseFailure) -> Structure {
        // SAFETY: the structure is a C struct, for which zero bytes are a valid value. The decoder
        // reads at most `source.count` bytes and fills the structure.
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

    /// Decodes a structure from secret bytes into secret memory, and calls `body` with it.
    ///
    /// - Returns: The response code that `body` returns.
    func withStructure<Structure>(
        _ secret: SecretBytes, _ decoder: Decoder<Structure>,
        _ body: (UnsafePointer<Structure>) -> UInt32
    ) throws(ResponseFailure) -> UInt32 {
        var offset = 0
        var decoded: UInt32 = 0
        // SAFETY: blocks of secret memory are zeroed, large enough, and aligned to 64 bytes. The
        // decoder reads at most `source.count` bytes. After that, only `body` reads the block,
        // while it is alive.
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

    /// Encodes a structure that the library allocated, and frees it.
    func bytes<Structure>(
        taking structure: UnsafeMutablePointer<Structure>?, _ encoder: Encoder<Structure>
    ) throws(ResponseFailure) -> [UInt8] {
        // SAFETY: the library allocated the structure and no other code has a pointer to it. An
        // encoding is never longer than twice the structure, and the encoder writes at most
        // `target.count` bytes.
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

    /// Encodes a structure that contains a secret, overwrites it and frees it.
    func secretBytes<Structure>(
        taking structure: UnsafeMutablePointer<Structure>?, _ encoder: Encoder<Structure>
    ) throws(ResponseFailure) -> SecretBytes {
        // SAFETY: as in `bytes(taking:_:)`.
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

    /// Used in place of a response code if the library's output, or an object that should exist, is
    /// missing, if the output is malformed, or if a structure doesn't take up all of its bytes.
    static let wrongSize = KEYCHAIN_TSS2_MU_RC_BAD_SIZE
}

#endif
