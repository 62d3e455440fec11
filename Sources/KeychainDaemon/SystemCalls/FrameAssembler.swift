// FrameAssembler: assembles messages from the bytes of a connection, as they arrive.
//   (1) The size of a message is checked before memory is allocated for it. Memory grows with the
//       bytes received, not with the size announced.
//   (2) All buffers are erased when they are released.

import Glibc
import KeychainCore
import KeychainWire

struct FrameAssembler {
    /// The maximum size of a message in bytes. A new value doesn't apply to a message whose header
    /// is complete.
    var limit: Int
    private var header: [UInt8] = []
    /// The size of the current message, once its header is complete.
    private var expected: Int?
    private var pieces: [FrameBuffer] = []
    private var pieceByteCount = 0

    /// The number of bytes of the incomplete message that are held.
    var heldByteCount: Int { pieceByteCount }

    /// - Parameter limit: The maximum size of a message in bytes.
    init(limit: Int = WireLimits.messageByteCount) {
        self.limit = limit
    }

    /// Takes the next bytes.
    /// - Returns: The messages that are complete now, in order.
    /// - Throws: `param` for an invalid size. The assembler must not be used afterwards.
    mutating func take(_ bytes: RawSpan) throws(KeychainFailure) -> [FrameBuffer] {
        var messages: [FrameBuffer] = []
        var position = 0
        while position < bytes.byteCount {
            guard let expected else {
                let count = min(FrameHeader.byteCount - header.count, bytes.byteCount - position)
                for index in position..<position + count {
                    header.append(bytes.unsafeByte(at: index))
                }
                position += count
                expected = try FrameHeader.messageByteCount(of: header, limit: limit)
                continue
            }
            let count = min(expected - pieceByteCount, bytes.byteCount - position)
            pieces.append(Self.copy(bytes, position..<position + count))
            pieceByteCount += count
            position += count
            if pieceByteCount == expected {
                messages.append(message())
                header = []
                self.expected = nil
                pieces = []
                pieceByteCount = 0
            }
        }
        return messages
    }

    private func message() -> FrameBuffer {
        pieces.count == 1 ? pieces[0] : FrameBuffer(joining: pieces)
    }

    private static func copy(_ bytes: RawSpan, _ range: Range<Int>) -> FrameBuffer {
        // SAFETY: the range lies within the bytes, and the block has its size.
        unsafe FrameBuffer(byteCount: range.count) { target in
            unsafe bytes.withUnsafeBytes { source in
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[range]))
            }
        }
    }
}

extension RawSpan {
    /// The byte at an offset, which the caller has checked.
    fileprivate func unsafeByte(at offset: Int) -> UInt8 {
        // SAFETY: the offset is below the count; every bit pattern is a number.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}
