// SecretArena: memory that contains only key material.
//   (1) Its pages are locked in memory and excluded from core dumps, if the system permits it.
//   (2) A block is zero when it is allocated and is zeroed again when it is released.
//   (3) The pages from which blocks are taken are never unmapped.

import Synchronization

/// Allocates small blocks of locked memory.
struct SecretArena: ~Copyable, Sendable {
    /// The size of a block. A larger secret gets its own mapping.
    static let blockByteCount = 64
    private static let chunkByteCount = 16 * 1024

    static let shared = SecretArena()

    private struct State {
        var free: [UInt] = []
        var isLocked = true
    }

    private let state = Mutex(State())

    /// Whether all pages so far could be locked. The limit is `RLIMIT_MEMLOCK`.
    var isLocked: Bool { state.withLock { $0.isLocked } }

    /// - Returns: `byteCount` zeroed bytes at an address that doesn't change.
    func allocate(byteCount: Int) -> UnsafeMutableRawBufferPointer {
        if byteCount > Self.blockByteCount {
            // SAFETY: the mapping is at least byteCount long.
            let mapping = unsafe map(byteCount: Self.roundedToPages(byteCount))
            return unsafe UnsafeMutableRawBufferPointer(rebasing: mapping[..<byteCount])
        }
        let address = state.withLock { state -> UInt in
            if let address = state.free.popLast() { return address }
            let chunk = unsafe mapLocked(byteCount: Self.chunkByteCount, &state.isLocked)
            let base = UInt(bitPattern: chunk.baseAddress)
            state.free = stride(from: 0, to: Self.chunkByteCount, by: Self.blockByteCount)
                .reversed().map { base + UInt($0) }
            return state.free.removeLast()
        }
        // SAFETY: the address was taken from the free list, so nothing else uses this block.
        return unsafe UnsafeMutableRawBufferPointer(
            start: UnsafeMutableRawPointer(bitPattern: address), count: byteCount)
    }

    /// Zeroes the bytes and releases them.
    func release(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        // SAFETY: the caller passes a block that `allocate` returned, and doesn't use it again.
        unsafe SystemMemory.erase(bytes)
        if bytes.count > Self.blockByteCount {
            // SAFETY: the mapping starts at this address and has this length.
            unsafe SystemMemory.unmap(
                UnsafeMutableRawBufferPointer(
                    start: base, count: Self.roundedToPages(bytes.count)))
        } else {
            let address = UInt(bitPattern: base)
            state.withLock { $0.free.append(address) }
        }
    }

    private func map(byteCount: Int) -> UnsafeMutableRawBufferPointer {
        // SAFETY: the mapping is returned unchanged.
        unsafe state.withLock { unsafe mapLocked(byteCount: byteCount, &$0.isLocked) }
    }

    private func mapLocked(
        byteCount: Int, _ isLocked: inout Bool
    ) -> UnsafeMutableRawBufferPointer {
        // SAFETY: the pages are new.
        let (pages, isLockedItself) = unsafe SystemMemory.map(byteCount: byteCount)
        if !isLockedItself { isLocked = false }
        return unsafe pages
    }

    private static func roundedToPages(_ byteCount: Int) -> Int {
        (byteCount + 4095) & ~4095
    }
}
