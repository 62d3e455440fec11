// Needle: looks through this process's whole memory for a key that should be gone.

import Foundation
import Glibc
package import KeychainCore
import Synchronization

/// The search could not look everywhere, so that finding nothing would say nothing.
package struct UnreadableMemory: Error {}

/// A key that is looked for, kept in a form that is not found by the search.
package struct Needle: Sendable {
    private let masked: [UInt8]

    package init(_ key: SecretBytes) {
        // SAFETY: read byte by byte, so that no plain copy is made.
        masked = unsafe key.withUnsafeBytes { unsafe $0.map { $0 ^ Self.mask } }
    }

    /// What each byte of a key in `masked` is XOR.
    package static let mask: UInt8 = 0xA5

    package init(masked: [UInt8]) { self.masked = masked }

    /// How many places in readable memory hold the key, other than the search's own.
    /// - Throws: ``UnreadableMemory`` where it can't be looked through as a whole.
    package func occurrenceCount() throws -> Int {
        // One search at a time: what another one has read into its window would be found.
        try Self.turn.withLock { _ in try occurrenceCountInTurn() }
    }

    private static let turn = Mutex(())

    private func occurrenceCountInTurn() throws -> Int {
        // SAFETY: a page of our own; the search leaves it out.
        let page = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 4096)
        defer {
            unsafe explicit_bzero(page, 4096)
            unsafe page.deallocate()
        }
        for (index, byte) in masked.enumerated() {
            unsafe page.storeBytes(of: byte ^ Self.mask, toByteOffset: index, as: UInt8.self)
        }
        // Through the file, since other threads may unmap what is being read.
        let memory = unsafe open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { throw UnreadableMemory() }
        defer { close(memory) }
        let window = UnsafeMutableRawPointer.allocate(
            byteCount: Self.windowByteCount, alignment: 16)
        defer {
            unsafe explicit_bzero(window, Self.windowByteCount)
            unsafe window.deallocate()
        }
        let ownWindow =
            UInt(bitPattern: window)..<UInt(bitPattern: window) + UInt(Self.windowByteCount)
        var places: [UInt] = []
        for region in try Self.readableRegions() {
            var start = region.lowerBound
            while start < region.upperBound {
                let wanted = min(Self.windowByteCount, Int(region.upperBound - start))
                let count = unsafe pread(memory, window, wanted, off_t(start))
                if count > 0 {
                    places += unsafe offsets(of: page, in: window, count).map { start + UInt($0) }
                }
                // Windows overlap, so that a key on a border is seen.
                start += UInt(max(wanted - masked.count + 1, 4096))
            }
        }
        places = Set(places).filter { !ownWindow.contains($0) }.sorted()
        // The search itself is one of the places, or it didn't look everywhere.
        guard places.contains(UInt(bitPattern: page)) else { throw UnreadableMemory() }
        return places.count - 1
    }

    private static let windowByteCount = 1 << 20

    private func offsets(
        of key: UnsafeRawPointer, in window: UnsafeRawPointer, _ count: Int
    ) -> [Int] {
        var found: [Int] = []
        var start = 0
        // SAFETY: all reads lie within the first `count` bytes of the window.
        while start + masked.count <= count,
            let hit = unsafe memchr(
                window + start, Int32(masked[0] ^ Self.mask), count - start - masked.count + 1)
        {
            let offset = unsafe UnsafeRawPointer(hit) - window
            if unsafe memcmp(hit, key, masked.count) == 0 { found.append(offset) }
            start = offset + 1
        }
        return found
    }

    private static func readableRegions() throws -> [Range<UInt>] {
        // Reading it as a file of a known size would give its beginning only.
        guard let file = FileHandle(forReadingAtPath: "/proc/self/maps") else {
            throw UnreadableMemory()
        }
        let maps = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        return maps.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            // Files that are mapped for reading only hold nothing that this process wrote; the
            // kernel's own pages can't all be read.
            guard fields.count >= 2, fields[1].hasPrefix("rw"), !line.contains("[v") else {
                return nil
            }
            let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            return bounds.count == 2 ? bounds[0]..<bounds[1] : nil
        }
    }
}
