// DatabasePages: pages of a keychain's database that a test changes: where its tables and indexes
// begin, and checksums that fit after the change, as if the bytes were wrong before they were
// written, or an attacker had forged them.

import Foundation
import KeychainSQLite

package enum PageSeal {
    /// A database with the checksum at the end of each page.
    package static func sealed(_ database: [UInt8]) -> [UInt8] {
        var database = database
        let size = PageFormat.pageByteCount
        // SAFETY: each page lies within the buffer.
        unsafe database.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            for number in 0..<bytes.count / size {
                unsafe PageChecksum.stamp(
                    pageAt: base + number * size, number: UInt32(number + 1))
            }
        }
        return database
    }

    /// Changes a database file in its place, so that its rights stay, and seals it.
    package static func change(
        _ path: String, _ change: (inout [UInt8]) throws -> Void = { _ in }
    ) throws {
        let file = URL(filePath: path)
        var bytes = [UInt8](try Data(contentsOf: file))
        try change(&bytes)
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data(sealed(bytes)))
        try handle.close()
    }
}

/// The pages that tables and indexes begin with, in the order in which they are made. A small one is
/// on this page alone.
package enum RootPage: Int, Sendable {
    case schema = 1
    case header
    case keybag
    case items
    case itemsUUID
    case itemsKey
    case itemsK2
    case itemsGroup
    case terms
    case setAside

    package static let indexes: [RootPage] = [.itemsUUID, .itemsKey, .itemsK2, .itemsGroup, .terms]

    /// Where the page ends in the database, in bytes.
    package var end: Int { rawValue * PageFormat.pageByteCount }
    package var bytes: Range<Int> { end - PageFormat.pageByteCount..<end }
}
