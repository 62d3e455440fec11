// LogWriteTests: the frames of a transaction of up to 16 frames reach the log in one write.

import Foundation
import KeychainSQLite
import Testing

@Suite struct LogWriteTests {
    @Test func `a commit of several pages writes the log once`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 300)
        let connection = try database.open()
        // This statement begins the log. The log's header needs a separate write.
        try connection.run("UPDATE item SET label = 'a' WHERE id = 1")
        let framesBefore = try database.bytes(suffix: "-wal").count
        let before = try Self.writesOfThisThread()
        try connection.run("UPDATE item SET label = 'b' WHERE id IN (1, 100, 200)")
        let writes = try Self.writesOfThisThread() - before
        let frames = (try database.bytes(suffix: "-wal").count - framesBefore) / (4096 + 24)
        #expect(frames >= 4)
        #expect(writes == 1)
        connection.close()
    }

    @Test(arguments: [1, 16, 17, 100])
    func `a committed transaction of any number of pages is in the log`(
        pages: Int
    ) throws {
        let database = try PageDatabase()
        let writer = try database.open()
        let reader = try database.open()
        try writer.run("CREATE TABLE item (id INTEGER PRIMARY KEY, label TEXT, secret BLOB)")
        try writer.run(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(pages))
                INSERT INTO item (label, secret) SELECT i, randomblob(3500) FROM n;
            """)
        #expect(try reader.texts("SELECT count(*) FROM item") == ["\(pages)"])
        let check = try #require(try DatabaseFileCheck(ofFileAt: database.path).log)
        #expect(check.committedFrameCount >= pages)
        #expect(try reader.readAll() == ["ok"])
        writer.close()
        reader.close()
        #expect(database.damage.isEmpty)
    }

    @Test func `no later commit contains changes that were rolled back`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 300)
        let writer = try database.open()
        try writer.run("PRAGMA cache_size = 5")
        for turn in 0..<5 {
            // The transaction changes more pages than the cache holds, so the VFS already collects
            // frames before the rollback.
            try writer.run(
                "BEGIN; UPDATE item SET label = 'no', secret = randomblob(3000); ROLLBACK;")
            try writer.run("UPDATE item SET label = 'yes' WHERE id = \(turn + 1)")
        }
        let other = try database.open()
        #expect(try other.texts("SELECT count(*) FROM item WHERE label = 'no'") == ["0"])
        #expect(try other.texts("SELECT count(*) FROM item WHERE label = 'yes'") == ["5"])
        #expect(try other.readAll() == ["ok"])
        #expect(database.damage.isEmpty)
    }

    /// The number of write system calls that this thread has made.
    private static func writesOfThisThread() throws -> Int {
        let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("syscw:") })
        return try #require(Int(line.dropFirst(7)))
    }
}
