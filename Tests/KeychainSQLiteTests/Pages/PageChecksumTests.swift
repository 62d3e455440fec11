// PageChecksumTests: the checksum compared with its reference, and the changes of a page that it
// detects.

import KeychainSQLite
import Testing

struct PageChecksumTests {
    /// Test vectors from python-xxhash 3, which calls libxxhash, the reference implementation. The
    /// bytes are `(7 i + i / 256) mod 256`. A byte count of -4088 stands for 4088 zeros.
    @Test(
        arguments: [
            (32, 0, 0x91b0_cb09_31a8_c629), (32, 1, 0xd447_e0c9_79a1_7fa0),
            (32, 0xffff_ffff, 0xbb0a_60e4_d130_75f8),
            (40, 0, 0x6bc9_2727_9e6a_3044), (40, 2, 0xacc6_ad5f_54d7_2b1a),
            (56, 1, 0x3a8b_468d_7b31_4e2c), (56, 0xffff_ffff, 0xe49d_754e_6279_80ed),
            (4088, 0, 0x427a_efb7_9347_b24f), (4088, 1, 0xdc56_dafb_a804_cada),
            (4088, 2, 0x02ea_0779_5c73_7694), (4088, 0xffff_ffff, 0x6390_eeda_2f7d_81f8),
            (-4088, 0, 0x5989_3a2b_1852_078f), (-4088, 1, 0x7261_e693_8726_17be),
            (-4088, 0xffff_ffff, 0x0400_546a_d6af_f177),
        ] as [(Int, UInt64, UInt64)])
    func `the checksum is XXH64`(byteCount: Int, seed: UInt64, expected: UInt64) {
        let bytes = (0..<abs(byteCount)).map {
            byteCount < 0 ? 0 : UInt8(truncatingIfNeeded: $0 * 7 + $0 / 256)
        }
        // SAFETY: the checksum reads the bytes of the array while they are borrowed.
        let checksum = unsafe bytes.withUnsafeBytes {
            unsafe PageChecksum.xxh64($0, seed: seed)
        }
        #expect(checksum == expected)
    }

    /// A page with fixed content and its checksum.
    private static func stampedPage(number: UInt32) -> [UInt8] {
        var page = (0..<PageFormat.pageByteCount).map { UInt8(truncatingIfNeeded: $0 * 31) }
        // SAFETY: the array has the size of a page.
        unsafe page.withUnsafeMutableBytes { page in
            if let base = page.baseAddress {
                unsafe PageChecksum.stamp(pageAt: base, number: number)
            }
        }
        return page
    }

    private static func verifies(_ page: [UInt8], number: UInt32) -> Bool {
        // SAFETY: every caller passes an array that has the size of a page.
        unsafe page.withUnsafeBytes { page in
            guard let base = page.baseAddress else { return false }
            return unsafe PageChecksum.verifies(pageAt: base, number: number)
        }
    }

    @Test func `a page verifies only with its own number`() {
        let page = Self.stampedPage(number: 7)
        #expect(Self.verifies(page, number: 7))
        #expect((1...1000).filter { Self.verifies(page, number: $0) } == [7])
    }

    @Test func `no page verifies after one of its bytes has changed`() {
        var page = Self.stampedPage(number: 3)
        var accepted: [Int] = []
        for offset in page.indices {
            for mask: UInt8 in [0x01, 0x80, 0xff] {
                page[offset] ^= mask
                if Self.verifies(page, number: 3) { accepted.append(offset) }
                page[offset] ^= mask
            }
        }
        #expect(accepted.isEmpty)
        #expect(Self.verifies(page, number: 3))
    }

    @Test func `a page of zeros does not verify`() {
        let page = [UInt8](repeating: 0, count: PageFormat.pageByteCount)
        #expect((1...1000).filter { Self.verifies(page, number: $0) }.isEmpty)
    }
}
