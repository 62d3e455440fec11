// Message+Frames: messages of the protocol to frames, and back.
//   (1) What is encoded goes straight into the frame, which is erased when it is no longer used.

import KeychainModel
import SwiftProtobuf

extension Message {
    /// The message with its size before it.
    /// - Throws: `param` for a message above the limit.
    func frame(limit: Int = WireLimits.messageByteCount) throws(KeychainFailure) -> FrameBuffer {
        let encoded: EncodedMessage
        do {
            encoded = try serializedBytes()
        } catch {
            throw .param("This is too large for the keychain service.")
        }
        guard encoded.count <= limit, let size = UInt32(exactly: encoded.count) else {
            throw .param(
                "This is too large for the keychain service, which takes \(limit) bytes at once.")
        }
        encoded.write(size: size)
        return encoded.frame
    }

    /// - Throws: `param` for bytes that are no such message.
    init(message: RawSpan) throws(KeychainFailure) {
        var options = BinaryDecodingOptions()
        options.messageDepthLimit = WireLimits.messageDepth
        options.discardUnknownFields = true
        do {
            try self.init(serializedBytes: message, options: options)
        } catch {
            throw .param("A message of the keychain service can't be read.")
        }
    }
}

/// A frame whose message SwiftProtobuf writes.
private struct EncodedMessage: SwiftProtobufContiguousBytes {
    let frame: FrameBuffer

    /// The size of the message.
    var count: Int { frame.count - FrameHeader.byteCount }

    init(repeating byte: UInt8, count: Int) {
        // SAFETY: the region is the whole block of the frame.
        unsafe frame = FrameBuffer(byteCount: FrameHeader.byteCount + count) { block in
            guard byte != 0 else { return }
            unsafe _ = block.initializeMemory(as: UInt8.self, repeating: byte)
        }
    }

    init(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        self.init(repeating: 0, count: bytes.count)
        // SAFETY: the region has the size of the array.
        unsafe withUnsafeMutableBytes { unsafe $0.copyBytes(from: bytes) }
    }

    func withUnsafeBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        // SAFETY: the frame begins with the bytes of its header.
        unsafe try frame.withUnsafeMutableBytes { block in
            unsafe try body(
                UnsafeRawBufferPointer(rebasing: block[FrameHeader.byteCount...]))
        }
    }

    func withUnsafeMutableBytes<Result>(
        _ body: (UnsafeMutableRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        // SAFETY: the frame begins with the bytes of its header, and no other code has it yet.
        unsafe try frame.withUnsafeMutableBytes { block in
            unsafe try body(
                UnsafeMutableRawBufferPointer(rebasing: block[FrameHeader.byteCount...]))
        }
    }

    /// Writes the header.
    func write(size: UInt32) {
        // SAFETY: the block has at least the bytes of the header.
        unsafe frame.withUnsafeMutableBytes { block in
            unsafe block.storeBytes(of: size.bigEndian, as: UInt32.self)
        }
    }
}
