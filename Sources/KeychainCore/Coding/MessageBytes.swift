// MessageBytes: the bytes of one message.
//   (1) What is written is in one block that is erased when it becomes too small, and when the last
//       reference to the finished frame is gone.
//   (2) A read past the end is `param`. Nothing is set aside for a size before so many bytes are
//       there.

/// Appends values to a frame.
@safe
package struct MessageWriter: ~Copyable {
    private var block: UnsafeMutableRawBufferPointer
    private var count = 0

    /// - Parameter capacity: About how many bytes there will be.
    package init(capacity: Int = 512) {
        // SAFETY: the block is this value's until it is finished or gone.
        unsafe block = .allocate(byteCount: max(capacity, 64), alignment: 16)
    }

    // SAFETY: nothing uses the block after this.
    deinit { unsafe FrameBuffer.release(block) }

    /// What was written.
    package consuming func finished() -> FrameBuffer {
        // SAFETY: `discard` leaves the block to the frame.
        let frame = unsafe FrameBuffer(taking: block, count: count)
        discard self
        return frame
    }

    /// Writes a number over one that was written at an offset.
    package mutating func replace(_ value: UInt32, at offset: Int) {
        precondition(offset + 4 <= count)
        // SAFETY: the place lies within what was written.
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

    /// Bytes with their number before them.
    package mutating func sized(_ bytes: UnsafeRawBufferPointer) {
        number(UInt32(clamping: bytes.count))
        // SAFETY: the caller vouches for the bytes.
        unsafe append(bytes)
    }

    /// Bytes as they are.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        makeRoom(for: bytes.count)
        // SAFETY: there is room for the bytes.
        unsafe UnsafeMutableRawBufferPointer(rebasing: block[count..<count + bytes.count])
            .copyMemory(from: bytes)
        count += bytes.count
    }

    /// A part of a frame's bytes.
    package mutating func append(_ frame: FrameBuffer, _ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= frame.count)
        // SAFETY: the range lies within the frame.
        unsafe frame.withUnsafeBytes { bytes in
            unsafe append(UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }

    private mutating func makeRoom(for more: Int) {
        guard unsafe count + more > block.count else { return }
        // SAFETY: the new block is larger than what was written, which is erased in the old one.
        let larger = unsafe UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(2 * block.count, count + more), alignment: 16)
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: block[..<count]))
        unsafe FrameBuffer.release(block)
        unsafe block = larger
    }
}

/// Takes values off the front of a message.
@safe
package struct MessageReader {
    // SAFETY: valid as long as the closure runs in which the reader was made.
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var elements: Int

    /// - Parameters:
    ///   - bytes: The message. It outlives the reader.
    ///   - elementLimit: The most elements of all lists together. An empty element has few bytes in
    ///     a message and many in memory.
    package init(_ bytes: UnsafeRawBufferPointer, elementLimit: Int = .max) {
        // SAFETY: the caller vouches for it.
        unsafe self.bytes = unsafe bytes
        elements = elementLimit
    }

    // SAFETY: the size is read, whatever the bytes are.
    package var remainingCount: Int { unsafe bytes.count - position }

    /// - Throws: `param` where something comes after the last value.
    package func requireEnd() throws(KeychainFailure) {
        guard remainingCount == 0 else { throw .unreadable("something follows its end") }
    }

    /// The value that all the rest of the message is.
    package mutating func whole<Value: MessageCodable>() throws(KeychainFailure) -> Value {
        let value = try Value(from: &self)
        try requireEnd()
        return value
    }

    /// A copy of all that is left.
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

    // One method a width: other modules would call a generic one unspecialized.
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
        // SAFETY: so many bytes are there.
        return unsafe bytes.loadUnaligned(fromByteOffset: position, as: Number.self)
    }

    /// The number of bytes that follow, which are there.
    mutating func sizedCount() throws(KeychainFailure) -> Int {
        let count = Int(try number() as UInt32)
        guard count <= remainingCount else { throw .unreadable("it ends early") }
        return count
    }

    /// Bytes with their number before them.
    mutating func sized<Result>(
        _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(KeychainFailure) -> Result {
        // SAFETY: `sizedCount` has checked the count.
        unsafe take(try sizedCount(), body)
    }

    /// So many bytes, which are there.
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
        // SAFETY: the reader is used within the call only.
        unsafe try withUnsafeBytes { bytes throws(KeychainFailure) in
            var reader = unsafe MessageReader(bytes, elementLimit: elementLimit)
            return try body(&reader)
        }
    }
}
