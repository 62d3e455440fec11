// Needle: searches this process's whole memory for a key that should have been erased, and for the
// state of SHA-256 after a first block (FIPS 180-4, 6.2.2) in the layout of the crypto library.
// The state after the padded key of an HMAC must also be erased, because an attacker can compute
// the HMAC from this state without the key.

import Foundation
import Glibc
package import KeychainCore
import Synchronization

/// The search could not read all memory, so its result isn't reliable.
package struct UnreadableMemory: Error {
    package init() {}
}

/// A key to search for, stored in a form that the search doesn't find.
package struct Needle: Sendable {
    private let masked: [UInt8]

    package init(_ key: SecretBytes) {
        // SAFETY: the closure reads single bytes within the call, so that no plain copy is made.
        masked = unsafe key.withUnsafeBytes { unsafe $0.map { $0 ^ Self.mask } }
    }

    /// The value with which each byte of a key in `masked` is XORed.
    package static let mask: UInt8 = 0xA5

    package init(masked: [UInt8]) { self.masked = masked }

    /// The number of places in readable memory that contain the key, without the copies that the
    /// search itself makes.
    /// - Throws: ``UnreadableMemory`` if not all memory can be read.
    package func occurrenceCount() throws -> Int {
        // Only one search runs at a time. Otherwise a search could find the key in the window of
        // another search.
        try Self.turn.withLock { _ in try occurrenceCountInTurn() }
    }

    private static let turn = Mutex(())

    private func occurrenceCountInTurn() throws -> Int {
        // SAFETY: the page belongs to this search, which finds the page but doesn't count it.
        let page = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 4096)
        defer {
            unsafe explicit_bzero(page, 4096)
            unsafe page.deallocate()
        }
        for (index, byte) in masked.enumerated() {
            unsafe page.storeBytes(of: byte ^ Self.mask, toByteOffset: index, as: UInt8.self)
        }
        // The search reads memory through /proc/self/mem, because other threads may unmap the
        // memory meanwhile.
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
            var failureCount = 0
            while start < region.upperBound {
                let wanted = min(Self.windowByteCount, Int(region.upperBound - start))
                let count = unsafe pread(memory, window, wanted, off_t(start))
                guard count > 0 else {
                    // Another thread may have unmapped this place, and perhaps mapped it again.
                    let next = try Self.firstReadable(from: start) ?? region.upperBound
                    failureCount = next == start ? failureCount + 1 : 0
                    guard failureCount < 3 else { throw UnreadableMemory() }
                    start = next
                    continue
                }
                failureCount = 0
                places += unsafe offsets(of: page, in: window, count).map { start + UInt($0) }
                // Windows overlap, so that a key across a boundary is found. The windows also
                // overlap after a read that returned fewer bytes than requested.
                start += UInt(count < masked.count ? count : count - masked.count + 1)
            }
        }
        places = Set(places).filter { !ownWindow.contains($0) }.sorted()
        // The search must find its own page. Otherwise the search didn't cover all memory.
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

    /// The lowest address, not below `address`, that is now in a region of ``readableRegions()``.
    private static func firstReadable(from address: UInt) throws -> UInt? {
        try readableRegions().first { $0.upperBound > address }.map { max($0.lowerBound, address) }
    }

    /// Pages of the kernel that are mapped as readable but can't be read through `/proc/self/mem`.
    private static let kernelPages: Set<Substring> = ["[vvar]", "[vvar_vclock]", "[vsyscall]"]

    /// All readable regions that can contain what this process wrote, in order.
    private static func readableRegions() throws -> [Range<UInt>] {
        // The size of /proc/self/maps isn't known in advance. A read with a fixed size could return
        // only the beginning of the file.
        guard let file = FileHandle(forReadingAtPath: "/proc/self/maps") else {
            throw UnreadableMemory()
        }
        let maps = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        return maps.split(separator: "\n").compactMap { line in
            // The bounds, the rights, the offset, the device, the file's number and its name.
            let fields = line.split(separator: " ")
            guard fields.count >= 5, fields[1].hasPrefix("r") else { return nil }
            if fields.count > 5, kernelPages.contains(fields[5]) { return nil }
            // Files that are mapped read-only contain nothing that this process wrote.
            guard fields[1].hasPrefix("rw") || fields[4] == "0" else { return nil }
            let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            return bounds.count == 2 ? bounds[0]..<bounds[1] : nil
        }
    }
}

// MARK: - States of SHA-256

package enum HashState {
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4,
        0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe,
        0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f,
        0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
        0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc,
        0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b,
        0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116,
        0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
        0xc671_78f2,
    ]
    private static let initial: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
        0x5be0_cd19,
    ]

    /// The 32 bytes of state after a block of 64 bytes, as eight little-endian words. Each byte is
    /// XORed with `mask`, so that the computation leaves no plain copy of the state in memory.
    package static func behind(_ block: [UInt8], mask: UInt8) -> [UInt8] {
        func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
            word >> count | word << (32 - count)
        }
        var words = stride(from: 0, to: 64, by: 4).map { start in
            block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<64 {
            let (early, late) = (words[index - 15], words[index - 2])
            let first = rotated(early, 7) ^ rotated(early, 18) ^ early >> 3
            let second = rotated(late, 17) ^ rotated(late, 19) ^ late >> 10
            words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
        }
        var state = initial
        for index in 0..<64 {
            let (a, e) = (state[0], state[4])
            let mixed = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
            let chosen = (e & state[5]) ^ (~e & state[6])
            let first = state[7] &+ mixed &+ chosen &+ constants[index] &+ words[index]
            let sum = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
            let majority = (a & state[1]) ^ (a & state[2]) ^ (state[1] & state[2])
            state = [
                first &+ sum &+ majority, a, state[1], state[2], state[3] &+ first, e, state[5],
                state[6],
            ]
        }
        var bytes: [UInt8] = []
        for (word, start) in zip(state, initial) {
            let sum = word &+ start
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) ^ mask }
        }
        return bytes
    }
}
