// RowSalvageTests: what comes back from files that SQLite wrote and nothing damaged.

import KeychainStore
import Testing

/// When the files of a database are read.
enum Moment: CaseIterable, CustomTestStringConvertible {
    case inWAL, partlyCheckpointed, checkpointed, checkpointedAndRestarted

    var testDescription: String {
        "\(self)"
    }
}

struct RowSalvageTests {
    /// A database with a history, and the rows that live in it at the end.
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
            // Overwrites the first frames; those behind them are of the generation before.
            try insert(2)
        }
        return (database, Set(rows), dead)
    }

    @Test(arguments: Moment.allCases)
    func `every live row comes back, and nothing else as current`(_ moment: Moment) throws {
        let (database, live, dead) = try Self.history(moment)
        let files = try database.files()
        let rows = RowSalvage(files.database, files.wal).rows()
        let current = rows.filter(\.isCurrent)
        #expect(live.count > 100)
        #expect(Set(current.map(FixtureRow.init)) == live)
        #expect(current.count == live.count, "a row comes back once from the current images")
        #expect(current.allSatisfy { $0.evidence == .cell && $0.leadingColumnCount == 1 })
        #expect(Set(current.compactMap(\.rowid)).count == live.count)
        #expect(Set(current.map(FixtureRow.init)).isDisjoint(with: dead))
    }

    @Test func `replaced images give the rows as they were`() throws {
        let (database, _, dead) = try Self.history(.inWAL)
        let files = try database.files()
        let rows = RowSalvage(files.database, files.wal).rows()
        let older = rows.filter { $0.standing == .superseded }
        #expect(Set(dead).isSubset(of: Set(older.map(FixtureRow.init))))
        // Newest first: frames never rise.
        let frames = older.map { $0.frame ?? -1 }
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $0 >= $1 })
    }

    @Test func `files on disk give what their bytes in memory give`() throws {
        let (database, _, _) = try Self.history(.inWAL)
        let files = try database.files()
        var onDisk: [SalvagedRow] = []
        try RowSalvage(databasePath: database.path, walPath: database.path + "-wal")
            .forEachRow { onDisk.append($0) }
        #expect(onDisk == RowSalvage(files.database, files.wal).rows())
        #expect(throws: SalvageFileError(code: 2)) {
            try DamagedFile(path: database.path + "-none")
        }
    }

    @Test func `rows that were set aside come back with their leading columns counted`() throws {
        var random = SeededGenerator(seed: 21)
        let database = try FixtureDatabase()
        var rows: [FixtureRow] = []
        for (time, size) in [(1.5, 10), (2, 9000), (3.25, 0)] {
            let row = FixtureRow(&random, secretByteCount: size == 0 ? nil : size)
            rows.append(row)
            try database.setAside(row, at: time, reason: "its tag does not verify")
        }
        try database.checkpoint()
        let found = RowSalvage(try database.files().database).rows()
        #expect(found.map(FixtureRow.init) == rows)
        #expect(found.map(\.leadingColumnCount) == [3, 3, 3])
    }

    @Test func `frames of a transaction that did not end are not current`() throws {
        var random = SeededGenerator(seed: 22)
        let database = try FixtureDatabase()
        let committed = FixtureRow(&random, secretByteCount: 5000)
        try database.insert(committed)
        try database.run("PRAGMA cache_size = 5")
        try database.run("BEGIN")
        var changed = committed
        changed.secret = FixtureRow.secret(&random, byteCount: 5000)
        try database.update(changed)
        var begun: [FixtureRow] = []
        for _ in 0..<40 {
            begun.append(FixtureRow(&random, secretByteCount: 3000))
            try database.insert(begun[begun.count - 1])
        }
        let files = try database.files()
        let rows = RowSalvage(files.database, files.wal).rows()
        #expect(rows.filter(\.isCurrent).map(FixtureRow.init) == [committed])
        let uncommitted = rows.filter { $0.standing == .uncommitted }.map(FixtureRow.init)
        #expect(!Set(uncommitted).isDisjoint(with: begun), "some pages were spilled into the WAL")
    }

    @Test func `an exact cell count says that leftovers are no rows`() throws {
        var random = SeededGenerator(seed: 23)
        let database = try FixtureDatabase()
        let row = FixtureRow(&random, secretByteCount: 100)
        try database.insert(row, rowid: 7)
        try database.checkpoint()
        var bytes = try database.files().database
        let place = try #require(firstOffset(of: row.body, in: bytes))
        let page = place / 4096 * 4096
        // A copy of the cell between the pointer array and the content, as a page split leaves it.
        let cell = (place - 20)..<(place + row.body.count)
        bytes.replaceSubrange((page + 1000)..<(page + 1000 + cell.count), with: bytes[cell])
        let found = RowSalvage(bytes).rows()
        #expect(found.map(FixtureRow.init) == [row, row])
        #expect(found.map(\.standing) == [.current, .residue])
        #expect(found.map(\.rowid) == [7, 7])
    }

    @Test(arguments: [12, 700, 4042, 4043, 4050, 4096])
    func `keybags come back, the newest first`(_ byteCount: Int) throws {
        var random = SeededGenerator(seed: 24)
        let database = try FixtureDatabase()
        func keybag() -> [UInt8] {
            Array("KCKB".utf8) + [1, 0, 0, 0] + wordBytes(UInt32(byteCount))
                + random.bytes(byteCount - 12)
        }
        let first = keybag()
        let second = byteCount == 12 ? first : keybag()
        try database.run("INSERT INTO keybag VALUES(1, ?)", .blob(first))
        try database.checkpoint()
        try database.run("UPDATE keybag SET body = ?", .blob(second))
        let files = try database.files()
        let found = RowSalvage(files.database, files.wal).keybags()
        #expect(found.map(\.body) == (byteCount == 12 ? [first] : [second, first]))
        #expect(found.first?.isCurrent == true)
        #expect(found.dropFirst().allSatisfy { !$0.isCurrent })
    }
}

/// Where `pattern` stands in `bytes`.
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
