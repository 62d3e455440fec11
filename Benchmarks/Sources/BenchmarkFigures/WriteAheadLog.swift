// WriteAheadLog: counts the frames in the write-ahead log of an SQLite database
// (https://www.sqlite.org/fileformat2.html, section 4).

package import Foundation

package enum WriteAheadLog {
    private static let headerByteCount = 32
    private static let frameHeaderByteCount = 24

    /// The number of frames since the log was last restarted. A restart doesn't truncate the file:
    /// older frames remain behind the new ones, and their salts differ from those in the file's
    /// header.
    package static func frameCount(of log: Data) -> Int {
        let bytes = [UInt8](log)
        guard bytes.count >= headerByteCount else { return 0 }
        let pageSize = bytes[8..<12].reduce(0) { $0 << 8 | Int($1) }
        let salts = bytes[16..<24]
        let frames = stride(
            from: headerByteCount, to: bytes.count, by: frameHeaderByteCount + pageSize)
        return frames.prefix { start in
            start + frameHeaderByteCount + pageSize <= bytes.count
                && bytes[start + 8..<start + 16].elementsEqual(salts)
        }.count
    }
}
