// PageSeal: gives the pages of a database their checksums after a test has changed them.

import Foundation
import KeychainStore

enum PageSeal {
    /// Seals the first `count` pages.
    static func seal(_ database: Data, pages count: Int = 1) -> Data {
        var bytes = [UInt8](database)
        let size = PageFormat.pageByteCount
        // SAFETY: each page lies within the buffer.
        unsafe bytes.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            for number in 0..<min(count, bytes.count / size) {
                unsafe PageChecksum.stamp(
                    pageAt: base + number * size, number: UInt32(number + 1))
            }
        }
        return Data(bytes)
    }
}
