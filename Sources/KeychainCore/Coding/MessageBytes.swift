// MessageBytes: the bytes of one message.
//   (1) Written bytes are in one block. The block is erased when a larger one replaces it, when the
//       writer is destroyed unfinished, and when the last reference to the finished frame is
//       released.
//   (2) A read past the end throws `param`. No memory is allocated for a stated size before that
//       many bytes are known to be present.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// Appends values to a frame.
@safe
package struct MessageWriter: ~Copyable {
    private var block: UnsafeMutableRawBufferPointer
    private var count = 0

    /// - Parameter capacity: The expected number of bytes.
    package init(capacity: Int = 512) {
        // SAFETY: this value owns the block until it is finished or destroyed.
        unsafe block = .allocate(byteCount: max(capacity, 64), alignment: 16)
    }

    // SAFETY: nothing uses the block after this.
    deinit { unsafe FrameBuffer.release(block) }

    /// Returns the written bytes as a frame.
    package consuming func finished() -> FrameBuffer {
        // SAFETY: `discard` leaves the block to the frame.
        let frame = unsafe FrameBuffer(taking: block, count: count)
        discard self
        return frame
    }

    /// Overwrites a number that was written earlier at `offset`.
    package mutating func replace(_ value: UInt32, at offset: Int) {
        precondition(offset + 4 <= count)
        // SAFETY: the four bytes lie within what was written.
        unsafe block.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt32.self)
    }

    package var byteCount: Int { count }

    package mutating func number(_ value: UInt8) { append(value) }
    package mutating func number(_ value: UInt16) { append(value.bigEndian) }
    package mutating func number(_ value: UInt32) { append(value.bigEndian) }
    package mutating func number(_ value: UInt64) { append(value.bigEndian) }
    package mutating func number(_ value: Int64) { append(value.bigEndian) }

    private mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        let size = MemoryLayout<Number>.size
        makeRoom(for: size)
        // SAFETY: there is room for the number.
        unsafe block.storeBytes(of: number, toByteOffset: count, as: Number.self)
        count += size
    }

    /// Appends bytes, preceded by their count.
    package mutating func sized(_ bytes: UnsafeRawBufferPointer) {
        number(UInt32(clamping: bytes.count))
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe append(bytes)
    }

    /// Appends bytes without a count.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        makeRoom(for: bytes.count)
        // SAFETY: there is room for the bytes.
        unsafe UnsafeMutableRawBufferPointer(rebasing: block[count..<count + bytes.count])
            .copyMemory(from: bytes)
        count += bytes.count
    }

    /// Appends a part of a frame's bytes.
    package mutating func append(_ frame: FrameBuffer, _ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= frame.count)
        // SAFETY: the range lies within the frame.
        unsafe frame.withUnsafeBytes { bytes in
            unsafe append(UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }

    private mutating func makeRoom(for more: Int) {
        guard unsafe count + more > block.count else { return }
        // SAFETY: the new block is larger than what was written. The old block is erased.
        let larger = unsafe UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(2 * block.count, count + more), alignment: 16)
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: block[..<count]))
        unsafe FrameBuffer.release(block)
        unsafe block = larger
    }
}

/// Reads values from the front of a message.
@safe
package struct MessageReader {
    // SAFETY: valid only during the closure in which the reader was created.
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var elements: Int

    /// - Parameters:
    ///   - bytes: The message. These bytes must outlive the reader.
    ///   - elementLimit: The maximum number of elements in all lists together. It is needed because
    ///     an empty element takes few bytes in a message and many in memory.
    package init(_ bytes: UnsafeRawBufferPointer, elementLimit: Int = .max) {
        // SAFETY: the caller guarantees that the bytes outlive the reader.
        unsafe self.bytes = unsafe bytes
        elements = elementLimit
    }

    // SAFETY: only the size is read, not the bytes.
    package var remainingCount: Int { unsafe bytes.count - position }

    /// - Throws: `param` if any bytes follow the last value.
    package func requireEnd() throws(KeychainFailure) {
        guard remainingCount == 0 else { throw .unreadable("extra bytes follow its end") }
    }

    /// Reads one value that takes up the rest of the message.
    package mutating func whole<Value: MessageCodable>() throws(KeychainFailure) -> Value {
        let value = try Value(from: &self)
        try requireEnd()
        return value
    }

    /// Reads the remaining bytes and returns a copy of them.
    package mutating func rest() -> FrameBuffer {
        let count = remainingCount
        // SAFETY: both ranges have the same size.
        return unsafe take(count) { source in
            unsafe FrameBuffer(byteCount: count) { unsafe $0.copyMemory(from: source) }
        }
    }

    mutating func countElement() throws(KeychainFailure) {
        elements -= 1
        guard elements >= 0 else { throw .unreadable("its lists are too long") }
    }

    // One method per width: other modules would call a generic method unspecialized.
    package mutating func number() throws(KeychainFailure) -> UInt8 { try load() }
    package mutating func number() throws(KeychainFailure) -> UInt16 {
        UInt16(bigEndian: try load())
    }
    package mutating func number() throws(KeychainFailure) -> UInt32 {
        UInt32(bigEndian: try load())
    }
    package mutating func number() throws(KeychainFailure) -> UInt64 {
        UInt64(bigEndian: try load())
    }
    package mutating func number() throws(KeychainFailure) -> Int64 { Int64(bigEndian: try load()) }

    private mutating func load<Number: FixedWidthInteger & BitwiseCopyable>()
        throws(KeychainFailure) -> Number
    {
        let size = MemoryLayout<Number>.size
        guard size <= remainingCount else { throw .unreadable("it ends early") }
        defer { position += size }
        // SAFETY: the guard has checked that this many bytes are left.
        return unsafe bytes.loadUnaligned(fromByteOffset: position, as: Number.self)
    }

    /// Reads the byte count of the value that follows, and checks that this many bytes are left.
    mutating func sizedCount() throws(KeychainFailure) -> Int {
        let count = Int(try number() as UInt32)
        guard count <= remainingCount else { throw .unreadable("it ends early") }
        return count
    }

    /// Calls `body` with bytes that are preceded by their count.
    mutating func sized<Result>(
        _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(KeychainFailure) -> Result {
        // SAFETY: `sizedCount` has checked the count.
        unsafe take(try sizedCount(), body)
    }

    /// Calls `body` with the next `count` bytes. The caller must have checked that the message has
    /// at least `count` bytes left.
    mutating func take<Result>(
        _ count: Int, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        defer { position += count }
        // SAFETY: the caller has checked the count.
        return unsafe body(UnsafeRawBufferPointer(rebasing: bytes[position..<position + count]))
    }
}

extension FrameBuffer {
    /// Calls `body` with a reader of the bytes.
    package func read<Value>(
        elementLimit: Int = .max, _ body: (inout MessageReader) throws(KeychainFailure) -> Value
    ) throws(KeychainFailure) -> Value {
        // SAFETY: the reader is used only during the call.
        unsafe try withUnsafeBytes { bytes throws(KeychainFailure) in
            var reader = unsafe MessageReader(bytes, elementLimit: elementLimit)
            return try body(&reader)
        }
    }
}

extension MessageCodable {
    /// The bytes of a message that consists of this value.
    package var messageBytes: Data {
        var writer = MessageWriter()
        encode(to: &writer)
        // SAFETY: the bytes are copied within the call.
        return unsafe writer.finished().withUnsafeBytes { unsafe Data($0) }
    }

    /// - Throws: `param` if the bytes aren't exactly a message that consists of a value of this
    ///   type.
    package init(messageBytes: Data) throws(KeychainFailure) {
        // SAFETY: both have the same size.
        let frame = unsafe FrameBuffer(byteCount: messageBytes.count) { target in
            _ = unsafe messageBytes.copyBytes(to: target)
        }
        self = try frame.read { reader throws(KeychainFailure) in try reader.whole() }
    }
}
