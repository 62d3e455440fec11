// PageExample: Documentation/Formats/database-v1.md, "Page checksum".

import FormatVectors
import KeychainSQLite

enum PageExample {
    static var lines: [String] {
        let zeros = [UInt8](repeating: 0, count: PageFormat.checksummedByteCount)
        let counting = Example.counting(from: 0, count: PageFormat.checksummedByteCount)
        return [
            "", "the last 8 bytes of a page",
            "  page 1, otherwise zeros:                " + checksum(zeros, number: 1),
            "  page 2, otherwise zeros:                " + checksum(zeros, number: 2),
            "  page 3, byte i otherwise is i mod 256:  " + checksum(counting, number: 3),
        ]
    }

    /// The bytes at the end of the page, in hexadecimal digits.
    private static func checksum(_ content: [UInt8], number: UInt32) -> String {
        var page = content + [UInt8](repeating: 0, count: PageFormat.reservedByteCount)
        // SAFETY: `page` has the size of a page, and the call keeps no pointer.
        unsafe page.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress {
                unsafe PageChecksum.stamp(pageAt: base, number: number)
            }
        }
        return Hex(page.suffix(PageFormat.reservedByteCount)).digits
    }
}
