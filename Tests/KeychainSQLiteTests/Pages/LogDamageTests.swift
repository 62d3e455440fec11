// LogDamageTests: damage in the write-ahead log, found by readers, checkpoints and recovery.

import CKeychainSQLite
import Foundation
import KeychainSQLite
import TestPrograms
import Testing

struct LogDamageTests {
    private static let frameByteCount = 24 + PageFormat.pageByteCount

    /// A database with ten transactions in its log, and a connection that keeps the log in use.
    private func databaseWithLog() throws -> (PageDatabase, PageConnection) {
        let database = try PageDatabase()
        try database.fill(rowCount: 10)
        let connection = try database.open()
        try connection.run("PRAGMA wal_autocheckpoint = 0")
        for _ in 0..<10 { try connection.addItems(40) }
        return (database, connection)
    }

    @Test
    func `a changed byte in the log's header or last frame is recorded as damage by a reader`()
        throws
    {
        let (database, writer) = try databaseWithLog()
        let log = try database.bytes(suffix: "-wal")
        // The last frame contains the newest version of its page, so a reader of all pages reads
        // this frame.
        let lastFrame =
            32 + (log.count - 32) / Self.frameByteCount * Self.frameByteCount
            - Self.frameByteCount
        let offsets =
            Array(0..<32) + Array(lastFrame..<lastFrame + 24)
            + Array(stride(from: lastFrame + 24, to: log.count, by: 173))
        var missed: [Int] = []
        for offset in offsets {
            try database.overwrite([log[offset] ^ 0x55], at: offset, suffix: "-wal")
            let reader = try database.open()
            _ = try? reader.readAll()
            reader.close()
            if database.damage.damagedFrames.isEmpty { missed.append(offset) }
            try database.overwrite([log[offset]], at: offset, suffix: "-wal")
            database.damage.reset()
        }
        #expect(missed == [])
        #expect(try writer.readAll() == ["ok"])
        #expect(database.damage.isEmpty)
    }

    @Test func `an old frame in place of a newer one is recorded as damage`() throws {
        let (database, writer) = try databaseWithLog()
        let old = try database.bytes(suffix: "-wal")
        #expect(try writer.checkpoint(SQLITE_CHECKPOINT_RESTART) == SQLITE_OK)
        try writer.run("UPDATE item SET label = label || '.'")
        let new = try #require(try LogFileCheck(besideDatabaseAt: database.path))
        let oldFrameCount = (old.count - 32) / Self.frameByteCount
        try #require((1..<oldFrameCount).contains(new.committedFrameCount))
        try database.overwrite(Array(old[32...]), at: 32, suffix: "-wal")
        let reader = try database.open()
        _ = try? reader.readAll()
        #expect(database.damage.damagedFrames.count > 1)
    }

    @Test func `frames that replace those of a rolled-back transaction are verified`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        let (first, second) = (try database.open(), try database.open())
        let changes = """
            PRAGMA cache_size = 10;
            BEGIN IMMEDIATE;
            UPDATE item SET label = label || '.';
            UPDATE item SET label = label || '!';
            """
        // The first connection leaves frames with outdated checksums, and the second connection
        // overwrites these frames.
        try first.run(changes + "ROLLBACK")
        try second.run(changes + "COMMIT")
        let check = try #require(try LogFileCheck(besideDatabaseAt: database.path))
        // The loop changes the last reserved byte of the page in each frame. SQLite doesn't use
        // this byte.
        for frame in 1...check.committedFrameCount {
            try database.flipByte(at: 31 + frame * Self.frameByteCount, suffix: "-wal")
        }
        #expect(try first.readAll() == ["ok"])
        let found = database.damage.damagedFrames
        database.damage.reset()
        #expect(try database.open().readAll() == ["ok"])
        #expect(database.damage.damagedFrames == found)
        #expect(found.count > 10)
    }

    @Test func `a checkpoint fails at a damaged frame and doesn't copy the frame's page`() throws {
        let (database, writer) = try databaseWithLog()
        // This checkpoint copies everything to the database file. The new values then have the
        // size of the old ones, so the update adds no page: the database file has an older version
        // of each page that the update changes.
        try #require(try writer.checkpoint() == SQLITE_OK)
        try writer.run("UPDATE item SET secret = randomblob(100)")
        let log = try database.bytes(suffix: "-wal")
        // The last frame is the newest one of its page, so a checkpoint has to copy this frame.
        let lastPage = log.count - PageFormat.pageByteCount
        try database.overwrite([log[lastPage + 2000] ^ 1], at: lastPage + 2000, suffix: "-wal")
        for mode in [SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_TRUNCATE] {
            #expect(try writer.checkpoint(mode) & 0xff == SQLITE_IOERR)
        }
        #expect(!database.damage.damagedFrames.isEmpty)
        // The first four bytes of a frame's header are the page number, in big-endian order.
        let header = log[lastPage - 24..<lastPage - 20]
        let place = header.reduce(0) { $0 << 8 | Int($1) } * PageFormat.pageByteCount
        let damaged = try database.bytes(suffix: "-wal")[lastPage...]
        let file = try database.bytes()
        try #require(file.count >= place)
        let carriedOver = file.dropFirst(place - PageFormat.pageByteCount)
        #expect(!carriedOver.starts(with: damaged.dropLast(PageFormat.reservedByteCount)))
        #expect(try DatabaseFileCheck(ofFileAt: database.path).damagedPages == [])

        // The frame is intact again, as after a temporary read error, so nothing was lost.
        try database.overwrite([log[lastPage + 2000]], at: lastPage + 2000, suffix: "-wal")
        #expect(try writer.checkpoint(SQLITE_CHECKPOINT_PASSIVE) == SQLITE_OK)
        #expect(try writer.readAll() == ["ok"])
        let whole = try database.bytes().dropFirst(place - PageFormat.pageByteCount)
        #expect(whole.starts(with: log[lastPage...].dropLast(PageFormat.reservedByteCount)))
    }

    @Test func `closing a database keeps a damaged log`() throws {
        let (database, writer) = try databaseWithLog()
        let log = try database.bytes(suffix: "-wal")
        try database.flipByte(at: log.count - 100, suffix: "-wal")
        writer.close()
        #expect(try database.bytes(suffix: "-wal").count == log.count)
        #expect(!database.damage.isEmpty)
    }

    @Test(arguments: [true, false])
    func `transactions lost in SQLite's log recovery are recorded as damage, and the log is kept`(
        inHeader: Bool
    ) throws {
        let (original, writer) = try databaseWithLog()
        // Copies of the files are in the state that a killed process leaves.
        let database = try PageDatabase()
        try original.bytes().write(to: URL(fileURLWithPath: database.path))
        var log = try original.bytes(suffix: "-wal")
        log[inHeader ? 20 : 32 + Self.frameByteCount * 3 + 500] ^= 0x10
        try log.write(to: URL(fileURLWithPath: database.path + "-wal"))
        writer.close()

        let check = try #require(try LogFileCheck(besideDatabaseAt: database.path))
        #expect(check.headerIsSound == !inHeader)
        #expect(check.soundFrameCount == (inHeader ? 0 : 3))
        #expect(check.droppedCommitCount > 1)
        #expect(check.tellsOfLostTransactions)

        let connection = try database.open()
        #expect(try connection.readAll() == ["ok"])
        #expect(database.damage.damagedFrames == [inHeader ? 1 : 4])
        connection.close()
        #expect(try database.bytes(suffix: "-wal") == log)
    }

    @Test func `a log of another version has no sound frames`() throws {
        let (database, writer) = try databaseWithLog()
        var log = [UInt8](try database.bytes(suffix: "-wal"))
        // 3007000, in big-endian order.
        #expect(Array(log[4..<8]) == [0x00, 0x2D, 0xE2, 0x18])
        for lastByte: UInt8 in [0x19, 0x18] {
            log[7] = lastByte
            try database.overwrite(LogForgery.summed(log), at: 0, suffix: "-wal")
            let check = try #require(try LogFileCheck(besideDatabaseAt: database.path))
            #expect(check.headerIsSound == (lastByte == 0x18))
            #expect((check.committedFrameCount > 0) == (lastByte == 0x18))
        }
        writer.close()
    }

    @Test func `a transaction that was never completed isn't damage`() throws {
        let (original, writer) = try databaseWithLog()
        let database = try PageDatabase()
        try original.bytes().write(to: URL(fileURLWithPath: database.path))
        var log = try original.bytes(suffix: "-wal")
        let sound = try #require(try LogFileCheck(besideDatabaseAt: original.path))
        #expect(sound.committedFrameCount == (log.count - 32) / Self.frameByteCount)
        #expect(sound.droppedFrameCount == 0)
        // The last frame of the last transaction reached the disk, but most of the frame before it
        // didn't.
        let lastFrame = log.count - Self.frameByteCount
        log.replaceSubrange(
            lastFrame - 4000..<lastFrame, with: Data(repeating: 0, count: 4000))
        try log.write(to: URL(fileURLWithPath: database.path + "-wal"))
        writer.close()

        let connection = try database.open()
        #expect(try connection.readAll() == ["ok"])
        #expect(try connection.texts("SELECT count(*) FROM item") == ["370"])
        #expect(database.damage.isEmpty)
    }
}
