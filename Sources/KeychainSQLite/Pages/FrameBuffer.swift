// FrameBuffer: frames of the log that are complete and not written yet, one behind the other. A frame is
// 4,120 bytes, so its ends lie within pages of the system's cache, and a write for each frame costs
// about three times as much as one write of all.

@safe final class FrameBuffer {
    /// More than nearly every transaction has.
    static let frameCount = 16

    private static let byteCount = frameCount * LogFormat.frameByteCount

    /// Room for `byteCount` bytes, once there was something to collect.
    private var bytes: UnsafeMutableRawPointer?
    private var count = 0
    /// Where the first byte belongs in the file.
    private var offset: Int64 = 0

    deinit {
        // SAFETY: allocated in `append`; nothing uses it from here on.
        unsafe bytes?.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    /// Copies bytes that follow those that are here in the file.
    ///
    /// - Returns: false if they don't follow, or there is no room for them. An empty buffer takes any
    ///   part of a frame.
    func append(_ new: UnsafeRawBufferPointer, at newOffset: Int64) -> Bool {
        guard isEmpty || newOffset == offset + Int64(count), new.count <= Self.byteCount - count
        else { return false }
        // SAFETY: there is room behind the `count` bytes that are here.
        let bytes = unsafe bytes ?? .allocate(byteCount: Self.byteCount, alignment: 16)
        unsafe self.bytes = bytes
        if isEmpty { offset = newOffset }
        unsafe UnsafeMutableRawBufferPointer(start: bytes + count, count: new.count)
            .copyMemory(from: new)
        count += new.count
        return true
    }

    func removeAll() { count = 0 }

    /// The bytes, and where they belong in the file.
    func withBytes(_ body: (UnsafeRawBufferPointer, Int64) -> Int32) -> Int32 {
        // SAFETY: `count` bytes were copied here.
        unsafe body(UnsafeRawBufferPointer(start: bytes, count: count), offset)
    }
}
