// SalvageDestructionTests: damage to whole structures, and arbitrary bytes instead of a database.

import Foundation
import KeychainSQLite
import TestPrograms
import Testing

struct SalvageDestructionTests {
    /// The part that is destroyed on each page with rows.
    enum Structure: CaseIterable {
        case pageHeader, pointerArray, cells
    }

    private static func database(
        _ secretByteCounts: [Int?], seed: UInt64
    ) throws -> (rows: [FixtureRow], bytes: [UInt8]) {
        var random = SeededGenerator(seed: seed)
        let database = try FixtureDatabase()
        let rows = secretByteCounts.map {
            FixtureRow(&random, metaByteCount: 150, termCount: 5, secretByteCount: $0)
        }
        for row in rows { try database.insert(row) }
        try database.checkpoint()
        return (rows, try database.files().database)
    }

    @Test(arguments: Structure.allCases)
    func `rows are salvaged after a part of each page was destroyed`(_ structure: Structure) throws
    {
        let (rows, intact) = try Self.database([40, nil, 900, 6000, nil, 20000], seed: 40)
        var bytes = intact
        for row in rows {
            let place = try #require(firstOffset(of: row.uuid + [row.protection], in: intact))
            let page = place / 4096 * 4096
            // The row's record header ends at `place`, where the row's UUID begins. The header's
            // first eight bytes are its size and the types of the columns up to k3. Then come two
            // bytes for the type of meta, two bytes for the type of terms, and one to three bytes
            // for the type of the secret. The byte before the header is the rowid.
            let secret = row.secret?.count ?? 0
            let header = place - 12 - (secret == 0 ? 1 : secret < 8186 ? 2 : 3)
            let range: Range<Int> =
                switch structure {
                case .pageHeader: page..<(page + 8)
                case .pointerArray: (page + 8)..<(page + 40)
                case .cells: (header - 3)..<header
                }
            for position in range { bytes[position] = 0xA5 }
        }
        #expect(lost(rows, from: RowSalvage(bytes).rows()) == [])
    }

    @Test func `rows are salvaged even if their page's cell count is too low`() throws {
        let (rows, intact) = try Self.database([40, 50, 60, 70], seed: 41)
        let place = try #require(firstOffset(of: rows[0].uuid + [rows[0].protection], in: intact))
        let page = place / 4096 * 4096
        var bytes = intact
        #expect(bytes[page + 4] == 4)
        bytes[page + 4] = 1
        let found = RowSalvage(bytes).rows()
        #expect(found.map(FixtureRow.init) == rows)
        #expect(found.map(\.isInCell) == [true, false, false, false])
    }

    @Test func `a broken overflow chain damages only the secret of its own row`() throws {
        let (rows, intact) = try Self.database([9000, 9000, 13000, 30000], seed: 41)
        for (number, row) in rows.enumerated() {
            let place = try #require(firstOffset(of: row.body.prefix(81), in: intact))
            var end = place
            while row.body[end - place] == intact[end] { end += 1 }
            for pointer in [[0, 0, 0, 0], [255, 255, 255, 255], [0, 0, 0, 1], [0, 0, 0, 2]] {
                var bytes = intact
                bytes.replaceSubrange(end..<(end + 4), with: pointer.map { UInt8($0) })
                let found = RowSalvage(bytes).rows()
                #expect(lost(rows, from: found) == [number])
                let broken = found.map(FixtureRow.init).first { $0.uuid == row.uuid }
                #expect(broken?.meta == row.meta)
                #expect(broken?.secret?.count ?? .max <= row.secret?.count ?? 0)
            }
        }
    }

    @Test func `the salvage ends even if overflow chains meet or form a cycle`() throws {
        let (rows, intact) = try Self.database([30000, 30000, 100], seed: 42)
        let row = rows[0]
        // The overflow pages of the row. Their content follows a pointer of four bytes.
        let pages = stride(from: 6000, to: 28000, by: 4084).compactMap { offset in
            firstOffset(of: row.body[offset..<(offset + 32)], in: intact).map { $0 / 4096 * 4096 }
        }
        #expect(pages.count == 6)
        for page in pages {
            for target in pages + [0, 4096] where target != page + 4096 {
                var bytes = intact
                bytes.replaceSubrange(
                    page..<(page + 4), with: wordBytes(UInt32(target / 4096 + 1)))
                let left = lost(rows, from: RowSalvage(bytes).rows())
                // The row is read without the pointer in the last page of its chain.
                let cost = page == pages.last ? [] : [0]
                #expect(left == cost, "page \(page / 4096 + 1) names \(target / 4096 + 1)")
            }
        }
    }

    @Test func `a row whose stated length exceeds the file's size is lost, and no other row`()
        throws
    {
        let (rows, intact) = try Self.database([40, 9000, 40], seed: 43)
        let place = try #require(firstOffset(of: rows[1].uuid + [rows[1].protection], in: intact))
        var bytes = intact
        // The length in the secret's first bytes becomes 1 GiB. `place` is the end of the record
        // header, whose last three bytes are the secret's type. The new type stands for 65536
        // bytes, which is more than the file has.
        #expect(intact.count < 65536)
        let secret = try #require(firstOffset(of: rows[1].secret?.prefix(12) ?? [], in: intact))
        bytes.replaceSubrange((secret + 4)..<(secret + 12), with: wordBytes(UInt64(1 << 30)))
        bytes.replaceSubrange((place - 3)..<place, with: [0x88, 0x80, 0x0C])
        #expect(lost(rows, from: RowSalvage(bytes).rows()) == [1])
    }

    @Test
    func `damage to the header of the log or of its first frame hides no row's newest version`()
        throws
    {
        var random = SeededGenerator(seed: 44)
        let database = try FixtureDatabase()
        var row = FixtureRow(&random, secretByteCount: 20)
        try database.insert(row)
        for _ in 0..<5 { try database.update(row) }
        try database.checkpoint()
        // After the checkpoint, new frames overwrite some of the earlier frames.
        row.secret = FixtureRow.secret(&random, byteCount: 30)
        try database.update(row)
        let files = try database.files()
        for offset in 0..<(32 + 24) {
            var wal = files.wal
            wal[offset] ^= 0x41
            let current = RowSalvage(files.database, wal).rows()
            #expect(current.map(FixtureRow.init) == [row], "byte \(offset) of the WAL")
        }
    }

    @Test func `a truncated file gives all rows that it still contains`() throws {
        let (rows, intact) = try Self.database(Array(repeating: 700, count: 60), seed: 45)
        let ends = rows.map { row in
            (firstOffset(of: row.body, in: intact) ?? intact.count) + row.body.count
        }
        for length in stride(from: 0, through: intact.count, by: 1000) {
            let left = lost(rows, from: RowSalvage(Array(intact.prefix(length))).rows())
            #expect(left == rows.indices.filter { ends[$0] > length })
        }
    }

    @Test func `arbitrary bytes never cause a trap`() throws {
        var random = SeededGenerator(seed: 46)
        let database = try FixtureDatabase()
        var rows: [FixtureRow] = []
        for size in [nil, 20, 500, 5000, 12000] {
            rows.append(FixtureRow(&random, secretByteCount: size))
            try database.insert(rows[rows.count - 1])
        }
        try database.run("INSERT INTO keybag VALUES(1, ?)", .blob(Array("KCKB".utf8) + [1]))
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        for row in rows { try database.update(row) }
        let files = try database.files()
        let magics = ["KCM1", "KCS1", "KCKB", "\u{0D}"].map { Array($0.utf8) }
        var runs = 0
        for round in 0..<300 {
            var main = round % 10 == 0 ? random.bytes(4096 * 3 + round) : files.database
            var wal = round % 15 == 0 ? random.bytes(round * 20) : files.wal
            func spoil(_ bytes: inout [UInt8]) {
                guard !bytes.isEmpty else { return }
                for _ in 0..<Int.random(in: 1...40, using: &random) {
                    let start = Int.random(in: 0..<bytes.count, using: &random)
                    let bits = UInt64.random(in: 0...3, using: &random)
                    let patch: [UInt8] =
                        switch bits {
                        case 0: random.bytes(Int.random(in: 1...64, using: &random))
                        case 1: magics[Int.random(in: 0..<4, using: &random)]
                        case 2: [UInt8](repeating: 0xFF, count: 8)
                        default: Array(bytes[start...].prefix(2000))
                        }
                    let target = bits == 3 ? Int.random(in: 0..<bytes.count, using: &random) : start
                    for (position, byte) in patch.enumerated() where target + position < bytes.count
                    {
                        bytes[target + position] = byte
                    }
                }
                if round % 4 == 1 {
                    bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
                }
            }
            spoil(&main)
            spoil(&wal)
            let salvage = RowSalvage(main, round % 7 == 0 ? nil : wal)
            var count = 0
            salvage.forEachRow { row in
                count += 1
                // A truncated page or frame counts as a whole page.
                #expect(row.row.secret?.count ?? 0 <= main.count + wal.count + 2 * 4096)
            }
            #expect(count < 100_000)
            let keybags = salvage.keybags { _ in true }
            #expect(keybags.committed.allSatisfy { $0.count <= 4096 })
            runs += 1
        }
        #expect(runs == 300)
    }

    @Test func `the caller can cancel the salvage`() throws {
        struct Stop: Error {}
        let (_, bytes) = try Self.database([1, 2, 3], seed: 47)
        var count = 0
        #expect(throws: Stop.self) {
            try RowSalvage(bytes).forEachRow { _ in
                count += 1
                if count == 2 { throw Stop() }
            }
        }
        #expect(count == 2)
    }
}
