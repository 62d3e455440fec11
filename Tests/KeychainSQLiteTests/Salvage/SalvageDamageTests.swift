// SalvageDamageTests: rows salvaged from files with damage at a known place.

import Foundation
import KeychainSQLite
import TestPrograms
import Testing

/// For each byte of a file, the number of the row that the byte belongs to. The file may contain
/// several copies of a row.
private struct Ownership {
    private(set) var owners: [Int?]

    init(_ rows: [FixtureRow], in file: [UInt8]) {
        owners = Array(repeating: nil, count: file.count)
        for (number, row) in rows.enumerated() {
            let body = row.body
            // A row's content is in one piece, or in pieces on several pages. Each piece begins
            // with bytes that occur only in copies of this piece.
            var done = 0
            while done < body.count {
                let key = body[done..<min(done + 24, body.count)]
                var longest = 0
                var from = 0
                while let place = firstOffset(of: key, in: file, from: from) {
                    var length = 0
                    while done + length < body.count, place + length < file.count,
                        file[place + length] == body[done + length]
                    {
                        owners[place + length] = number
                        length += 1
                    }
                    longest = max(longest, length)
                    from = place + 1
                }
                guard longest > 0 else { break }
                done += longest
            }
        }
    }
}

/// The log with fixed salts and matching checksums (SQLite's file format, section 4.2). SQLite
/// chooses salts at random. Without fixed salts, each run would flip different bytes.
private func withFixedSalts(_ log: [UInt8]) -> [UInt8] {
    var log = log
    var sums: (UInt32, UInt32) = (0, 0)
    func add(_ range: Range<Int>) {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
            func word(_ offset: Int) -> UInt32 {
                (0..<4).reduce(0) { $0 | UInt32(log[start + offset + $1]) << UInt32(8 * $1) }
            }
            sums.0 &+= word(0) &+ sums.1
            sums.1 &+= word(4) &+ sums.0
        }
    }
    // The last bit of the magic is 0, which means that the checksums are computed over
    // little-endian words.
    precondition(log[3] == 0x82)
    log.replaceSubrange(16..<24, with: 1...8)
    add(0..<24)
    log.replaceSubrange(24..<32, with: wordBytes(sums.0) + wordBytes(sums.1))
    for frame in stride(from: 32, to: log.count, by: 4120) {
        log.replaceSubrange(frame + 8..<frame + 16, with: 1...8)
        add(frame..<frame + 8)
        add(frame + 24..<frame + 4120)
        log.replaceSubrange(frame + 16..<frame + 24, with: wordBytes(sums.0) + wordBytes(sums.1))
    }
    return log
}

/// The offsets to damage. Structure is sampled more densely than row content and zeros, because
/// testing all offsets would take too long.
private func offsetsToDamage(_ ownership: Ownership, _ file: [UInt8]) -> [Int] {
    file.indices.filter {
        $0 % 61 == 0 || ($0 % 3 == 0 && ownership.owners[$0] == nil && file[$0] != 0)
    }
}

struct SalvageDamageTests {
    /// Rows of every kind: with and without a secret, on one page and on several pages.
    private static func rows(_ random: inout SeededGenerator) -> [FixtureRow] {
        var rows: [FixtureRow] = []
        for number in 0..<24 {
            let secret: Int? =
                switch number % 6 {
                case 0: nil
                case 1, 2: 32
                case 3: 400
                case 4: 3000 + 10 * number
                default: number == 5 ? 9000 : 4000
                }
            rows.append(
                FixtureRow(
                    &random, metaByteCount: number == 10 ? 4100 : 60 + 11 * number,
                    termCount: number % 8, secretByteCount: secret))
        }
        return rows
    }

    private static func fill(
        _ database: FixtureDatabase, _ random: inout SeededGenerator
    ) throws -> [FixtureRow] {
        let rows = rows(&random)
        let (kept, gone) = (rows[..<20], rows[20...])
        for row in gone { try database.insert(row) }
        for row in kept { try database.insert(row) }
        for row in gone { try database.delete(row) }
        // SQLite has zeroed the freed pages and put them on the freelist. An overflow chain uses
        // some of these pages again.
        var asides = Array(kept)
        asides.append(FixtureRow(&random, secretByteCount: 6000))
        try database.setAside(asides[20], at: 1.25, reason: "the tag does not verify")
        asides.append(FixtureRow(&random, secretByteCount: nil))
        try database.setAside(asides[21], at: 2, reason: "the tag does not verify")
        return asides
    }

    /// Changes single bytes of a file, one after the other. Each change may lose at most one row:
    /// the row whose content, cell, record header or overflow chain contains the byte. Of the rows
    /// that are read from cells, all except at most one must equal a row that was written.
    private static func flipEachByte(
        _ rows: [FixtureRow], of file: [UInt8], _ salvage: ([UInt8]) -> RowSalvage
    ) -> (flips: Int, faults: [String]) {
        var random = SeededGenerator(seed: 30)
        let ownership = Ownership(rows, in: file)
        var expected: [[UInt8]: (number: Int, row: FixtureRow)] = [:]
        for (number, row) in rows.enumerated() { expected[row.uuid] = (number, row) }
        var damaged = file
        var faults: [String] = []
        var flips = 0
        for offset in offsetsToDamage(ownership, file) {
            flips += 1
            damaged[offset] ^= UInt8.random(in: 1...255, using: &random)
            var missing = Set(rows.indices)
            var changed = 0
            salvage(damaged).forEachRow { candidate in
                let found = FixtureRow(candidate)
                if let (number, row) = expected[found.uuid], row == found {
                    missing.remove(number)
                } else if candidate.isInCell {
                    changed += 1
                }
            }
            let most = ownership.owners[offset].map { Set([$0]) } ?? missing
            if missing.count > 1 || changed > 1 || !missing.isSubset(of: most) {
                faults.append(
                    "\(offset): \(file[offset]) as \(damaged[offset]): \(missing), \(changed)")
            }
            damaged[offset] = file[offset]
        }
        return (flips, faults)
    }

    @Test func `a changed byte in the database loses at most one row, the one it belongs to`()
        throws
    {
        var random = SeededGenerator(seed: 31)
        let database = try FixtureDatabase()
        let rows = try Self.fill(database, &random)
        try database.checkpoint()
        let file = try database.files().database
        #expect(lost(rows, from: RowSalvage(file).rows()) == [])
        let result = Self.flipEachByte(rows, of: file) { RowSalvage($0) }
        #expect(result.flips > 1500)
        #expect(result.faults == [])
    }

    @Test func `a changed byte in the log loses at most one row, the one it belongs to`() throws {
        var random = SeededGenerator(seed: 32)
        let database = try FixtureDatabase()
        var rows = try Self.fill(database, &random)
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        // A few transactions change rows that are already in the database file.
        for position in stride(from: 2, to: 20, by: 5) {
            rows[position].secret = FixtureRow.secret(&random, byteCount: 400 * position)
            try database.update(rows[position])
        }
        let files = try database.files()
        #expect(files.wal.count > 32 + 4120 * 8)
        let intact = RowSalvage(files.database, withFixedSalts(files.wal)).rows()
        #expect(lost(rows, from: intact) == [])
        let result = Self.flipEachByte(rows, of: withFixedSalts(files.wal)) {
            RowSalvage(files.database, $0)
        }
        #expect(result.flips > 1500)
        #expect(result.faults == [])
    }

    @Test func `a frame's page number and commit mark are recovered from its checksum`() throws {
        var random = SeededGenerator(seed: 33)
        let database = try FixtureDatabase()
        var rows = try Self.fill(database, &random)
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        for position in stride(from: 2, to: 20, by: 5) {
            rows[position].secret = FixtureRow.secret(&random, byteCount: 400 * position)
            try database.update(rows[position])
        }
        let files = try database.files()
        let frames = (files.wal.count - 32) / 4120
        #expect(frames > 8)
        var faults: [String] = []
        for frame in 0..<frames {
            for byte in 0..<8 {
                var wal = files.wal
                // A byte that isn't zero becomes zero, which can remove a commit mark. A zero
                // becomes another value.
                let offset = 32 + 4120 * frame + byte
                wal[offset] = wal[offset] == 0 ? UInt8.random(in: 1...255, using: &random) : 0
                let current = RowSalvage(files.database, wal).rows()
                let missing = lost(rows, from: current)
                if !missing.isEmpty { faults.append("frame \(frame), byte \(byte): \(missing)") }
            }
        }
        #expect(faults == [])
    }
}
