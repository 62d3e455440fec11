// SecretArena: memory for key material and other secrets.
//   (1) Its pages are locked in memory and excluded from core dumps, if the system permits it.
//   (2) A block contains only zeros when it is allocated, and is zeroed again when it is released.
//   (3) The pages from which blocks are taken are never unmapped.

import Synchronization

/// Allocates small blocks of locked memory.
struct SecretArena: ~Copyable, Sendable {
    /// The sizes of blocks, ascending. A larger secret gets its own mapping.
    static let blockByteCounts = [64, 256]
    private static let chunkByteCount = 16 * 1024

    static let shared = SecretArena()

    private struct State {
        /// The addresses of free blocks, for each of the sizes.
        var free: [[UInt]] = blockByteCounts.map { _ in [] }
        var isLocked = true
    }

    private let state = Mutex(State())

    /// Whether all pages so far could be locked. `RLIMIT_MEMLOCK` limits the total size of locked
    /// pages.
    var isLocked: Bool { state.withLock { $0.isLocked } }

    /// - Returns: `byteCount` zeroed bytes at an address that doesn't change.
    func allocate(byteCount: Int) -> UnsafeMutableRawBufferPointer {
        let address = state.withLock { state -> UInt in
            guard let size = Self.size(of: byteCount) else {
                return mapLocked(byteCount: Self.roundedToPages(byteCount), &state.isLocked)
            }
            if let address = state.free[size].popLast() { return address }
            let base = mapLocked(byteCount: Self.chunkByteCount, &state.isLocked)
            let blocks = stride(from: 0, to: Self.chunkByteCount, by: Self.blockByteCounts[size])
            state.free[size] = blocks.dropFirst().reversed().map { base + UInt($0) }
            return base
        }
        // SAFETY: nothing else uses the block or the mapping, which has at least this size.
        return unsafe UnsafeMutableRawBufferPointer(
            start: UnsafeMutableRawPointer(bitPattern: address), count: byteCount)
    }

    /// Zeroes the bytes and releases them.
    func release(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        // SAFETY: the caller passes a block that `allocate` returned, and doesn't use it again.
        unsafe SystemMemory.erase(bytes)
        if let size = Self.size(of: bytes.count) {
            let address = UInt(bitPattern: base)
            state.withLock { $0.free[size].append(address) }
        } else {
            // SAFETY: the mapping starts at this address and has this length.
            unsafe SystemMemory.unmap(
                UnsafeMutableRawBufferPointer(
                    start: base, count: Self.roundedToPages(bytes.count)))
        }
    }

    /// The position of the smallest block size that is sufficient; `nil` if none is.
    private static func size(of byteCount: Int) -> Int? {
        blockByteCounts.firstIndex { byteCount <= $0 }
    }

    private func mapLocked(byteCount: Int, _ isLocked: inout Bool) -> UInt {
        // SAFETY: the pages are new.
        let (pages, isLockedItself) = unsafe SystemMemory.map(byteCount: byteCount)
        if !isLockedItself { isLocked = false }
        return UInt(bitPattern: pages.baseAddress)
    }

    private static func roundedToPages(_ byteCount: Int) -> Int {
        (byteCount + 4095) & ~4095
    }
}
