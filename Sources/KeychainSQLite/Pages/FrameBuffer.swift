// FrameBuffer: consecutive frames of the log that are complete and not written yet. A frame has
// 4,120 bytes, so its ends aren't aligned with the pages of the system's cache: writing each frame
// by itself costs about three times as much as writing all in one call.

@safe final class FrameBuffer {
    /// Nearly every transaction has fewer frames.
    static let frameCount = 16

    private static let byteCount = frameCount * LogFormat.frameByteCount

    /// Room for `byteCount` bytes; `nil` until the first bytes are collected.
    private var bytes: UnsafeMutableRawPointer?
    private var count = 0
    /// The offset of the first byte in the file.
    private var offset: Int64 = 0

    deinit {
        // SAFETY: allocated in `append`; nothing uses it from here on.
        unsafe bytes?.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    /// Collects bytes that directly follow the collected ones in the file.
    ///
    /// - Returns: `false` if `new` doesn't directly follow the collected bytes, or there is no room
    ///   for it. For an empty buffer, `new` can begin anywhere in a frame.
    func append(_ new: UnsafeRawBufferPointer, at newOffset: Int64) -> Bool {
        guard isEmpty || newOffset == offset + Int64(count), new.count <= Self.byteCount - count
        else { return false }
        // SAFETY: there is room after the `count` collected bytes.
        let bytes = unsafe bytes ?? .allocate(byteCount: Self.byteCount, alignment: 16)
        unsafe self.bytes = bytes
        if isEmpty { offset = newOffset }
        unsafe UnsafeMutableRawBufferPointer(start: bytes + count, count: new.count)
            .copyMemory(from: new)
        count += new.count
        return true
    }

    func removeAll() { count = 0 }

    /// Calls `body` with the bytes and their offset in the file.
    func withBytes(_ body: (UnsafeRawBufferPointer, Int64) -> Int32) -> Int32 {
        // SAFETY: `count` bytes were copied here.
        unsafe body(UnsafeRawBufferPointer(start: bytes, count: count), offset)
    }
}
