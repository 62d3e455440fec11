// LogForgery: a write-ahead log that an attacker without keys has changed. The checksums of SQLite
// match the changed log.

package enum LogForgery {
    package static let headerByteCount = 32
    package static let frameByteCount = 24 + 4096

    /// The number of complete frames in a log.
    package static func frameCount(_ log: [UInt8]) -> Int {
        max(0, log.count - headerByteCount) / frameByteCount
    }

    /// The byte range of a frame. Frames are numbered from 1.
    package static func frame(_ number: Int) -> Range<Int> {
        let start = headerByteCount + (number - 1) * frameByteCount
        return start..<start + frameByteCount
    }

    /// Recomputes the checksums of header and frames as SQLite does. In the keychain's database,
    /// the last 32 bytes of a page contain the page's tag, and SQLite sums zeros in place of them.
    package static func summed(_ log: [UInt8]) -> [UInt8] {
        var log = log
        // The lowest bit of the magic number says whether words are big-endian.
        var sum = Sum(isBigEndian: log[3] & 1 == 1)
        sum.add(log[0..<24])
        log.replaceSubrange(24..<32, with: sum.bytes)
        for number in 1...max(1, frameCount(log)) where number <= frameCount(log) {
            let start = frame(number).lowerBound
            sum.add(log[start..<start + 8])
            sum.add(log[start + 24..<start + 24 + 4064])
            sum.add([UInt8](repeating: 0, count: 32)[...])
            log.replaceSubrange(start + 16..<start + 24, with: sum.bytes)
        }
        return log
    }

    private struct Sum {
        let isBigEndian: Bool
        private var first: UInt32 = 0
        private var second: UInt32 = 0

        init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

        mutating func add(_ bytes: ArraySlice<UInt8>) {
            for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: 8) {
                first = first &+ word(bytes, start) &+ second
                second = second &+ word(bytes, start + 4) &+ first
            }
        }

        private func word(_ bytes: ArraySlice<UInt8>, _ start: Int) -> UInt32 {
            let word = bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
            return isBigEndian ? word : word.byteSwapped
        }

        var bytes: [UInt8] {
            [first, second].flatMap { word in
                stride(from: 24, through: 0, by: -8).map {
                    UInt8(truncatingIfNeeded: word >> UInt32($0))
                }
            }
        }
    }
}
