// SecretArena: memory that holds key material and nothing else.
//   (1) Its pages are locked in memory and left out of core dumps, where the system allows it.
//   (2) A block is zero when it is handed out and zeroed again when it comes back.
//   (3) Pages are never given back to the allocator.

import Synchronization

/// Hands out small blocks of locked memory.
struct SecretArena: ~Copyable, Sendable {
    /// Blocks are of this size; a larger secret has a mapping of its own.
    static let blockByteCount = 64
    private static let chunkByteCount = 16 * 1024

    static let shared = SecretArena()

    private struct State {
        var free: [UInt] = []
        var isLocked = true
    }

    private let state = Mutex(State())

    /// Whether every page so far could be locked. The limit is `RLIMIT_MEMLOCK`.
    var isLocked: Bool { state.withLock { $0.isLocked } }

    /// - Returns: `byteCount` zeroed bytes that stay where they are.
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
        // SAFETY: the address came out of a live chunk's free list, so this block is ours alone.
        return unsafe UnsafeMutableRawBufferPointer(
            start: UnsafeMutableRawPointer(bitPattern: address), count: byteCount)
    }

    /// Zeroes the bytes and takes them back.
    func release(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        // SAFETY: the caller hands over the block that `allocate` gave it; it is not used again.
        unsafe SystemMemory.erase(bytes)
        if bytes.count > Self.blockByteCount {
            // SAFETY: the mapping began there and was as long as this.
            unsafe SystemMemory.unmap(
                UnsafeMutableRawBufferPointer(
                    start: base, count: Self.roundedToPages(bytes.count)))
        } else {
            let address = UInt(bitPattern: base)
            state.withLock { $0.free.append(address) }
        }
    }

    private func map(byteCount: Int) -> UnsafeMutableRawBufferPointer {
        // SAFETY: passed on as it comes.
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
