// PageDamageTests: damage of the database file, detected while SQLite reads it.

import CKeychainSQLite
import Foundation
import KeychainSQLite
import Testing

struct PageDamageTests {
    /// Reads the whole database.
    /// - Returns: Whether reading or `integrity_check` failed, and whether damage was recorded.
    private func isTold(_ database: PageDatabase) -> (error: Bool, recorded: Bool) {
        var failed = false
        do {
            let connection = try database.open()
            failed = try connection.readAll() != ["ok"]
        } catch {
            failed = true
        }
        return (failed, !database.damage.isEmpty)
    }

    /// Damages the last byte of the content area of the table's last page. This byte belongs to the
    /// first row of the page. The other rows can still be read.
    /// - Returns: The number of the page.
    private func damageLastPageOfItems(_ database: PageDatabase) throws -> Int {
        let connection = try database.open()
        let page = try #require(
            Int(try connection.texts("SELECT max(pageno) FROM dbstat WHERE name = 'item'")[0]))
        connection.close()
        try database.flipByte(
            at: (page - 1) * PageFormat.pageByteCount + PageFormat.contentByteCount - 1)
        return page
    }

    @Test func `any flipped byte of the database file is recorded as damage when its page is read`()
        throws
    {
        let database = try PageDatabase()
        try database.fill(rowCount: 300)
        let sound = try database.bytes()
        let pageByteCount = PageFormat.pageByteCount
        // PageAuthenticationTests changes every byte of a page. This test changes only the database
        // header and some bytes of each page, among them two reserved bytes.
        var offsets = Set(0..<PageFormat.pageByteCount / 32)
        for page in 0..<sound.count / pageByteCount {
            offsets.formUnion([(page + 1) * pageByteCount - 8, (page + 1) * pageByteCount - 1])
        }
        offsets.formUnion(stride(from: 0, to: sound.count, by: 397))
        var missed: [Int] = []
        var unrecorded: [Int] = []
        for offset in offsets.sorted() {
            try database.overwrite([sound[offset] ^ 0x55], at: offset)
            let told = isTold(database)
            if !told.error && !told.recorded { missed.append(offset) }
            if !told.recorded { unrecorded.append(offset) }
            // Opening a database with a damaged header may create files beside it or change the
            // file.
            for suffix in ["-wal", "-shm", "-journal"] {
                try? FileManager.default.removeItem(atPath: database.path + suffix)
            }
            try sound.write(to: URL(fileURLWithPath: database.path))
            database.damage.reset()
        }
        #expect(missed == [])
        // If the magic string has changed, SQLite refuses the file before it reads a page.
        #expect(unrecorded.filter { $0 >= 16 } == [])
        #expect(offsets.count > 250)
    }

    @Test func `two swapped pages are both recorded as damaged`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        let sound = try database.bytes()
        let size = PageFormat.pageByteCount
        try database.overwrite(Array(sound[6 * size..<7 * size]), at: 4 * size)
        try database.overwrite(Array(sound[4 * size..<5 * size]), at: 6 * size)
        _ = isTold(database)
        #expect(database.damage.damagedPages == [5, 7])
        #expect(try DatabaseFileCheck(ofFileAt: database.path).damagedPages == [5, 7])
    }

    @Test func `a page of zeros is recorded as damaged`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        try database.overwrite(
            Array(repeating: 0, count: PageFormat.pageByteCount),
            at: 5 * PageFormat.pageByteCount)
        _ = isTold(database)
        #expect(database.damage.damagedPages == [6])
    }

    @Test func `a page that the end of the file cuts off is recorded as damaged`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        let sound = try database.bytes()
        try sound.dropLast(1).write(to: URL(fileURLWithPath: database.path))
        let told = isTold(database)
        #expect(told.recorded)
        let last = UInt32(sound.count / PageFormat.pageByteCount)
        #expect(try DatabaseFileCheck(ofFileAt: database.path).damagedPages == [last])
    }

    @Test func `an item beside the damage on the same page can still be read`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        let page = try damageLastPageOfItems(database)
        let again = try database.open()
        #expect(try again.texts("SELECT label FROM item WHERE id = 500") == ["label 500"])
        #expect(database.damage.damagedPages == [UInt32(page)])
    }

    @Test func `recorded damage remains until a reset, which keeps the number of recordings`()
        throws
    {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        let sound = try database.bytes()
        try database.flipByte(at: 5 * PageFormat.pageByteCount + 100)
        _ = isTold(database)
        let count = database.damage.recordingCount
        #expect(count > 0)

        try sound.write(to: URL(fileURLWithPath: database.path))
        #expect(isTold(database) == (error: false, recorded: true))
        #expect(database.damage.damagedPages == [6])
        database.damage.reset()
        #expect(isTold(database) == (error: false, recorded: false))
        #expect(database.damage.damagedPages == [])
        #expect(database.damage.recordingCount == count)
    }

    @Test func `a damaged page is recorded again only if its bytes have changed`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        try database.flipByte(at: 5 * PageFormat.pageByteCount + 100)
        _ = isTold(database)
        let count = database.damage.recordingCount
        _ = isTold(database)
        #expect(database.damage.recordingCount == count)
        try database.flipByte(at: 5 * PageFormat.pageByteCount + 200)
        _ = isTold(database)
        #expect(database.damage.recordingCount == count + 1)
        #expect(database.damage.damagedPages == [6])
    }

    @Test func `a damaged page is never written`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        let page = try damageLastPageOfItems(database)
        let before = try database.bytes()
        let again = try database.open()
        for _ in 0..<2 {
            #expect(throws: (any Error).self) {
                try again.run("UPDATE item SET label = 'other' WHERE id = 500")
            }
            #expect(try again.texts("SELECT label FROM item WHERE id = 500") == ["label 500"])
        }
        // Changes to other pages still succeed.
        try again.run("UPDATE item SET label = 'other' WHERE id = 1")
        again.close()
        let size = PageFormat.pageByteCount
        let range = (page - 1) * size..<page * size
        #expect(try database.bytes()[range] == before[range])
        #expect(try DatabaseFileCheck(ofFileAt: database.path).damagedPages == [UInt32(page)])
    }

    /// SQLite reports the value of `errno` as the cause of a failed change of the log. If the VFS
    /// refuses the change, no system call has failed, so `errno` must be zero.
    @Test func `a refused change of the log clears the error of an earlier system call`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        let page = UInt32(try damageLastPageOfItems(database))
        let connection = try database.open()
        // The update begins a log, and the query reads the damaged page.
        try connection.run("UPDATE item SET label = 'other' WHERE id = 1")
        _ = try connection.texts("SELECT label FROM item WHERE id = 500")
        try #require(database.damage.damagedPages == [page])
        let (truncation, write) = try connection.changeLog(page: page, after: ENOSPC)
        #expect(truncation == SQLiteFailure(code: SQLITE_IOERR | (6 << 8)))
        #expect(write == SQLiteFailure(code: SQLITE_IOERR | (3 << 8)))
        connection.close()
    }

    @Test func `all paths to a file share one damage registry`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 10)
        let folder = (database.path as NSString).deletingLastPathComponent
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/link", withDestinationPath: folder)
        let paths = [
            folder + "/./keychain.db", folder + "/link/keychain.db",
            folder + "/link/../" + (folder as NSString).lastPathComponent + "/keychain.db",
        ]
        for path in paths {
            #expect(PageDamage.registry(forPath: path) === database.damage, "\(path)")
        }
        #expect(PageDamage.registry(forPath: folder + "/other.db") !== database.damage)
    }
}
