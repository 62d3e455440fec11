// RowSalvageTests: rows and keybags salvaged from files that SQLite wrote. Most of the files are
// undamaged; two tests change some of the bytes.

import Foundation
import KeychainSQLite
import TestPrograms
import Testing

/// The moment at which the files of a database are read.
enum Moment: CaseIterable, CustomTestStringConvertible {
    case inWAL, partlyCheckpointed, checkpointed, checkpointedAndRestarted

    var testDescription: String {
        "\(self)"
    }
}

struct RowSalvageTests {
    /// A database with a history, the rows that it contains at the end (`live`), and the rows that
    /// were deleted or changed (`dead`).
    private static func history(
        _ moment: Moment
    ) throws -> (database: FixtureDatabase, live: Set<FixtureRow>, dead: [FixtureRow]) {
        var random = SeededGenerator(seed: 20)
        let database = try FixtureDatabase()
        var rows: [FixtureRow] = []
        var dead: [FixtureRow] = []
        func insert(_ count: Int) throws {
            for _ in 0..<count {
                let secret: Int? =
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0: nil
                    case 1...6: Int.random(in: 0...300, using: &random)
                    case 7, 8: Int.random(in: 3000...5000, using: &random)
                    default: Int.random(in: 5000...20000, using: &random)
                    }
                let row = FixtureRow(
                    &random, metaByteCount: Int.random(in: 0...600, using: &random),
                    termCount: Int.random(in: 0...64, using: &random), secretByteCount: secret)
                rows.append(row)
                try database.insert(row)
            }
        }
        try database.run("BEGIN")
        try insert(150)
        try database.run("COMMIT")
        for size in [1 << 20, (1 << 20) + 1] {
            let row = FixtureRow(&random, metaByteCount: 6000, secretByteCount: size)
            rows.append(row)
            try database.insert(row)
        }
        if moment == .partlyCheckpointed { try database.checkpoint() }
        for position in stride(from: rows.count - 1, through: 0, by: -3) {
            let row = rows.remove(at: position)
            dead.append(row)
            try database.delete(row)
        }
        for position in stride(from: 0, to: rows.count, by: 4) {
            dead.append(rows[position])
            rows[position].meta = FixtureRow.meta(&random, byteCount: 300)
            rows[position].secret = FixtureRow.secret(&random, byteCount: position * 40)
            try database.update(rows[position])
        }
        try insert(40)
        if moment == .checkpointed || moment == .checkpointedAndRestarted {
            try database.checkpoint()
        }
        if moment == .checkpointedAndRestarted {
            // The new frames overwrite the first frames of the log. The frames after these remain
            // from the time before the checkpoint.
            try insert(2)
        }
        return (database, Set(rows), dead)
    }

    @Test(arguments: Moment.allCases)
    func `each live row is salvaged once, and no other row is salvaged`(_ moment: Moment)
        throws
    {
        let (database, live, dead) = try Self.history(moment)
        let files = try database.files()
        let rows = RowSalvage(files.database, files.wal).rows()
        #expect(live.count > 100)
        #expect(Set(rows.map(FixtureRow.init)) == live)
        #expect(rows.count == live.count, "each row is salvaged once")
        #expect(rows.allSatisfy { $0.isInCell && $0.aside == nil })
        #expect(Set(rows.map(\.row.id)).count == live.count)
        #expect(Set(rows.map(FixtureRow.init)).isDisjoint(with: dead))
    }

    @Test func `salvage from files and from memory gives the same rows`() throws {
        let (database, _, _) = try Self.history(.inWAL)
        let files = try database.files()
        // These bytes contain the page checksums, which SQLite itself doesn't write.
        try Data(files.database).write(to: URL(filePath: database.path))
        var onDisk: [SalvagedRow] = []
        try RowSalvage(databasePath: database.path, logPath: database.path + "-wal")
            .forEachRow { onDisk.append($0) }
        #expect(onDisk == RowSalvage(files.database, files.wal).rows())
        #expect(throws: SalvageFileError(code: 2)) {
            try DamagedFile(path: database.path + "-none")
        }
    }

    @Test func `rows that were set aside are salvaged with the time and the reason`() throws {
        var random = SeededGenerator(seed: 21)
        let database = try FixtureDatabase()
        var rows: [FixtureRow] = []
        let moments = [1.5, 2, 3.25, 0, 1, -200, 800_000_000]
        // The texts in Documentation/Formats/database-v2.md, "Conversion of version 1", and an
        // unknown text.
        let reasons = [
            "found damaged by a check", "found damaged by a recovery",
            "found whole by a recovery; it may have been deleted", "lost by a recovery",
            "replaced by a new item with the same key", "damaged when it was deleted",
            "one that isn't known",
        ]
        for (number, size) in [10, 9000, 0, 1, 2, 3, 4].enumerated() {
            let row = FixtureRow(&random, secretByteCount: size == 0 ? nil : size)
            rows.append(row)
            try database.setAside(row, at: moments[number], reason: reasons[number])
        }
        try database.checkpoint()
        let found = RowSalvage(try database.files().database).rows()
        #expect(found.map(FixtureRow.init) == rows)
        #expect(found.map { $0.aside?.moment } == moments)
        // An unknown text becomes the most cautious reason.
        #expect(found.map { $0.aside?.reason } == [1, 2, 3, 4, 5, 6, 3])
    }

    @Test func `frames of an unfinished transaction give no rows`() throws {
        var random = SeededGenerator(seed: 22)
        let database = try FixtureDatabase()
        let committed = FixtureRow(&random, secretByteCount: 5000)
        try database.insert(committed)
        let before = try database.files().wal.count
        try database.run("PRAGMA cache_size = 5")
        try database.run("BEGIN")
        var changed = committed
        changed.secret = FixtureRow.secret(&random, byteCount: 5000)
        try database.update(changed)
        for _ in 0..<40 {
            try database.insert(FixtureRow(&random, secretByteCount: 3000))
        }
        let files = try database.files()
        #expect(files.wal.count > before, "some pages were spilled into the log")
        #expect(RowSalvage(files.database, files.wal).rows().map(FixtureRow.init) == [committed])
    }

    @Test
    func `stale cells on an intact page give no rows, and on a damaged page only uncertain rows`()
        throws
    {
        var random = SeededGenerator(seed: 23)
        let database = try FixtureDatabase()
        let row = FixtureRow(&random, secretByteCount: 100)
        try database.insert(row, rowid: 7)
        try database.checkpoint()
        var bytes = try database.files().database
        let place = try #require(firstOffset(of: row.body, in: bytes))
        let page = place / 4096 * 4096
        // Copy the cell into the gap between the pointer array and the content. A page split leaves
        // such a copy.
        let cell = (place - 20)..<(place + row.body.count)
        bytes.replaceSubrange((page + 1000)..<(page + 1000 + cell.count), with: bytes[cell])
        for (isSound, inCells) in [(true, [true]), (false, [true, false])] {
            let found = RowSalvage(isSound ? PageSeal.sealed(bytes) : bytes).rows()
            #expect(found.map(FixtureRow.init) == inCells.map { _ in row })
            #expect(found.map(\.isInCell) == inCells)
            #expect(found.map(\.row.id) == inCells.map { _ in 7 })
        }
    }

    @Test(arguments: [12, 700, 4042, 4043, 4050, 4096])
    func `salvaged keybags are divided into committed and other keybags`(_ byteCount: Int) throws {
        var random = SeededGenerator(seed: 24)
        let database = try FixtureDatabase()
        func keybag() -> [UInt8] {
            Array("KCKB".utf8) + [1, 0, 0, 0] + wordBytes(UInt32(byteCount))
                + random.bytes(byteCount - 12)
        }
        let first = keybag()
        try database.run("INSERT INTO keybag VALUES(1, ?)", .blob(first))
        try database.checkpoint()
        let second = keybag()
        try database.run("UPDATE keybag SET body = ?", .blob(second))
        let files = try database.files()
        let found = RowSalvage(files.database, files.wal).keybags { _ in true }
        #expect(found.committed.contains(second))
        let authentic = RowSalvage(files.database, files.wal).keybags { $0 == second }
        #expect(authentic.committed == [second] && authentic.others.isEmpty)
        // The log file still contains frames from the time before the checkpoint. A keybag that
        // continues on overflow pages may be combined with later images of these pages. The
        // keybag's tag reveals such a combination.
        #expect(byteCount > 4042 || found.others.isSubset(of: [first]))
        // Remove the commit marks. The changed checksums prevent the recovery of the marks.
        var log = files.wal
        for frame in stride(from: 32, to: log.count, by: 4120) {
            log.replaceSubrange((frame + 4)..<(frame + 8), with: [0, 0, 0, 0])
            log[frame + 16] ^= 1
        }
        let uncommitted = RowSalvage(files.database, log).keybags { _ in true }
        #expect(uncommitted.committed == [first])
        #expect(byteCount > 4042 || byteCount == 12 || uncommitted.others.contains(second))
    }
}

/// The first offset of `pattern` in `bytes`, at or after `from`.
func firstOffset(of pattern: some Collection<UInt8>, in bytes: [UInt8], from: Int = 0) -> Int? {
    let pattern = Array(pattern)
    guard let head = pattern.first, bytes.count >= pattern.count else { return nil }
    var position = from
    while position <= bytes.count - pattern.count {
        if bytes[position] == head,
            bytes[position..<(position + pattern.count)].elementsEqual(pattern)
        {
            return position
        }
        position += 1
    }
    return nil
}
