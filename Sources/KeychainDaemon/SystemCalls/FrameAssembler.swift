// FrameAssembler: messages out of the bytes of a connection, as they come.
//   (1) A size is checked before anything is set aside for it, and memory grows with what has
//       come, not with what was announced.
//   (2) All that is kept is in buffers that are erased when they are no longer used.

import Glibc
import KeychainCore
import KeychainWire

struct FrameAssembler {
    /// The largest message, in bytes; of the next one whose header isn't whole.
    var limit: Int
    private var header: [UInt8] = []
    /// Of the message under way, once its header is whole.
    private var expected: Int?
    private var pieces: [FrameBuffer] = []
    private var pieceByteCount = 0

    /// How many bytes of a message that isn't whole are kept.
    var heldByteCount: Int { pieceByteCount }

    /// - Parameter limit: The largest message, in bytes.
    init(limit: Int = WireLimits.messageByteCount) {
        self.limit = limit
    }

    /// Takes the next bytes.
    /// - Returns: The messages that are whole now, in their order.
    /// - Throws: `param` for a size that no message has. Nothing is to be taken after that.
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
