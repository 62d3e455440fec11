// PageSeal: gives the first page of a database its checksum after a test has changed it.

import Foundation
import KeychainStore

enum PageSeal {
    static func seal(_ database: Data) -> Data {
        var page = [UInt8](database.prefix(PageFormat.pageByteCount))
        // SAFETY: the buffer is one page long, as the function asks for.
        unsafe page.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { unsafe PageChecksum.stamp(pageAt: base, number: 1) }
        }
        return Data(page) + database.dropFirst(PageFormat.pageByteCount)
    }
}
