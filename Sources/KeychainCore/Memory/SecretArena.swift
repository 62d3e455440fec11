// SecretArena: memory that contains only key material.
//   (1) Its pages are locked in memory and excluded from core dumps, if the system permits it.
//   (2) A block is zero when it is allocated and is zeroed again when it is released.
//   (3) The pages from which blocks are taken are never unmapped.

import Synchronization

/// Allocates small blocks of locked memory.
struct SecretArena: ~Copyable, Sendable {
    /// The sizes of blocks. A secret that exceeds both gets its own mapping.
    static let blockByteCounts = (small: 64, large: 256)
    private static let chunkByteCount = 16 * 1024

    static let shared = SecretArena()

    private struct State {
        /// The addresses of released blocks.
        var small: [UInt] = []
        var large: [UInt] = []
        var isLocked = true
    }

    private typealias FreeList = WritableKeyPath<State, [UInt]>

    private let state = Mutex(State())

    /// Whether all pages so far could be locked. The limit is `RLIMIT_MEMLOCK`.
    var isLocked: Bool { state.withLock { $0.isLocked } }

    /// - Returns: `byteCount` zeroed bytes at an address that doesn't change.
    func allocate(byteCount: Int) -> UnsafeMutableRawBufferPointer {
        let address =
            if byteCount <= Self.blockByteCounts.small {
                block(of: Self.blockByteCounts.small, from: \.small)
            } else if byteCount <= Self.blockByteCounts.large {
                block(of: Self.blockByteCounts.large, from: \.large)
            } else {
                mapping(of: Self.roundedToPages(byteCount))
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
        let address = UInt(bitPattern: base)
        if bytes.count <= Self.blockByteCounts.small {
            state.withLock { $0.small.append(address) }
        } else if bytes.count <= Self.blockByteCounts.large {
            state.withLock { $0.large.append(address) }
        } else {
            // SAFETY: the mapping starts at this address and has this length.
            unsafe SystemMemory.unmap(
                UnsafeMutableRawBufferPointer(
                    start: base, count: Self.roundedToPages(bytes.count)))
        }
    }

    private func block(of byteCount: Int, from list: FreeList) -> UInt {
        state.withLock { state in
            if let address = state[keyPath: list].popLast() { return address }
            let base = mapLocked(byteCount: Self.chunkByteCount, &state.isLocked)
            state[keyPath: list] = stride(from: 0, to: Self.chunkByteCount, by: byteCount)
                .reversed().map { base + UInt($0) }
            return state[keyPath: list].removeLast()
        }
    }

    private func mapping(of byteCount: Int) -> UInt {
        state.withLock { mapLocked(byteCount: byteCount, &$0.isLocked) }
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
