// RollbackJournal: a journal that SQLite plays back before it reads the database
// (https://www.sqlite.org/fileformat2.html, section 3), unless the keychain's VFS opens the
// database. The journal's file is beside the database, with `-journal` appended to its name.

package enum RollbackJournal {
    /// A journal that restores one page.
    ///
    /// - Parameters:
    ///   - number: The number of the page.
    ///   - content: The content to restore.
    ///   - database: The database file, for its size.
    /// - Returns: The bytes of the journal.
    package static func ofPage(_ number: UInt32, content: [UInt8], _ database: [UInt8]) -> [UInt8] {
        let nonce: UInt32 = 1
        // The checksum covers the byte 200 before the end, and every 200th byte before that one.
        let sum = stride(from: content.count - 200, to: 0, by: -200).reduce(nonce) {
            $0 &+ UInt32(content[$1])
        }
        var header: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        for word in [1, nonce, UInt32(database.count / 4096), 512, 4096] { header += bytes(word) }
        header += [UInt8](repeating: 0, count: 512 - header.count)
        return header + bytes(number) + content + bytes(sum)
    }

    private static func bytes(_ word: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
    }
}
