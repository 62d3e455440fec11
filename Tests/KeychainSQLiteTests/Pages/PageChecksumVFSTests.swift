// PageChecksumVFSTests: intact databases through the VFS, databases opened without it, and several
// connections to one file.

import CKeychainSQLite
import Foundation
import KeychainSQLite
import Testing

struct PageChecksumVFSTests {
    @Test func `pages are written with tags and read back`() throws {
        let database = try PageDatabase()
        let connection = try database.open()
        try connection.run("CREATE TABLE item (id INTEGER PRIMARY KEY, label TEXT, secret BLOB)")
        try connection.addItems(5_000)
        #expect(try connection.checkpoint() == SQLITE_OK)
        try connection.addItems(3_000)
        #expect(try connection.reservedByteCount() == PageFormat.reservedByteCount)
        #expect(try connection.verifiesPages())
        connection.close()

        let again = try database.open()
        #expect(try again.readAll() == ["ok"])
        #expect(try again.texts("SELECT count(*) FROM item") == ["8000"])
        #expect(try again.reservedByteCount() == PageFormat.reservedByteCount)
        again.close()
        #expect(database.damage.isEmpty)
        let check = try DatabaseFileCheck(ofFileAt: database.path)
        #expect(check.damagedPages.isEmpty)
        #expect(check.log == nil)
        #expect(try check.pageCount == database.bytes().count / PageFormat.pageByteCount)
        #expect(check.pageCount > 200)
    }

    @Test func `an intact database is never recorded as damaged`() throws {
        let database = try PageDatabase()
        let writer = try database.open()
        let reader = try database.open()
        try writer.run("PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 100")
        try reader.run("PRAGMA cache_size = 10")
        try writer.run("CREATE TABLE item (id INTEGER PRIMARY KEY, label TEXT, secret BLOB)")
        try writer.run("CREATE INDEX item_label ON item (label)")
        for turn in 0..<12 {
            // This transaction changes more pages than the cache holds, some of them repeatedly,
            // and rolls back a savepoint. SQLite therefore rewrites frames before the commit.
            try writer.run(
                """
                BEGIN IMMEDIATE;
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
                    INSERT INTO item (label, secret)
                    SELECT 'label ' || (i * 7919 % 1000), randomblob(i % 7 * 1500) FROM n;
                UPDATE item SET label = label || '.' WHERE id % 3 = 0;
                SAVEPOINT a;
                UPDATE item SET secret = randomblob(3000) WHERE id % 5 = 0;
                UPDATE item SET label = 'x' || label;
                ROLLBACK TO a;
                UPDATE item SET label = 'y' || label WHERE id % 2 = 0;
                RELEASE a;
                DELETE FROM item WHERE id % 4 = \(turn % 4);
                """)
            #expect(try writer.texts("SELECT count(*) >= 0 FROM item ORDER BY label") == ["1"])
            #expect(try writer.texts("PRAGMA integrity_check") == ["ok"])
            try writer.run(turn % 3 == 2 ? "ROLLBACK" : "COMMIT")
            #expect(try reader.readAll() == ["ok"])
            if turn % 4 == 3 {
                #expect(try writer.checkpoint(SQLITE_CHECKPOINT_RESTART) == SQLITE_OK)
            }
            if turn == 8 { try writer.run("VACUUM") }
        }
        reader.close()
        #expect(try writer.checkpoint() == SQLITE_OK)
        #expect(database.damage.damagedPages == [])
        #expect(database.damage.damagedFrames == [])
        #expect(database.damage.isEmpty)
        writer.close()
        #expect(try DatabaseFileCheck(ofFileAt: database.path).damagedPages == [])
    }

    @Test(
        arguments: ["with space.db", "a?b#c%d.db", "Schlüssel·鍵.db", "a&vfs=unix.db", "%41.db"])
    func `a database can have any file name`(name: String) throws {
        let database = try PageDatabase(named: name)
        try database.fill(rowCount: 10)
        #expect(FileManager.default.fileExists(atPath: database.path))
        let connection = try database.open()
        #expect(try connection.verifiesPages())
        #expect(try connection.texts("SELECT count(*) FROM item") == ["10"])
    }

    @Test func `a path that starts with two slashes doesn't become an authority in the URI`() {
        #expect(PageChecksumVFS.uri(forPath: "//a/b c") == "file:////a/b%20c?vfs=keychain")
    }

    @Test func `the VFS doesn't affect a database that was opened without it`() throws {
        let database = try PageDatabase()
        try PageChecksumVFS.register()
        let connection = try PageConnection("file://" + database.path)
        try connection.run("PRAGMA journal_mode = WAL; CREATE TABLE item (secret)")
        try connection.run("INSERT INTO item VALUES (randomblob(20000))")
        #expect(try !connection.verifiesPages())
        connection.close()
        #expect(try database.bytes()[20] == 0)
        #expect(database.damage.isEmpty)
    }

    @Test func `a database without room for page tags counts as damaged and can't be changed`()
        throws
    {
        let database = try PageDatabase()
        let plain = try PageConnection("file://" + database.path)
        try plain.run("CREATE TABLE item (secret); INSERT INTO item VALUES (randomblob(20000))")
        plain.close()
        let before = try database.bytes()

        try PageChecksumVFS.register()
        let checked = try PageConnection(PageChecksumVFS.uri(forPath: database.path))
        #expect(try !checked.verifiesPages())
        #expect(try checked.readAll() == ["ok"])
        #expect(database.damage.damagedPages == [1])
        #expect(try database.bytes() == before)
        #expect(throws: SQLiteFailure.self) {
            try checked.run("UPDATE item SET secret = randomblob(30000)")
        }
        checked.close()
        #expect(try database.bytes() == before)
    }

    @Test func `a database can't be created without room for page tags`() throws {
        let database = try PageDatabase()
        try PageChecksumVFS.register()
        let connection = try PageConnection(PageChecksumVFS.uri(forPath: database.path))
        try connection.run("PRAGMA journal_mode = MEMORY")
        #expect(throws: SQLiteFailure(code: SQLITE_IOERR)) {
            try connection.run("CREATE TABLE item (secret)")
        }
    }

    @Test func `memory-mapped reads are not used`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 100)
        let connection = try database.open()
        #expect(try connection.texts("PRAGMA mmap_size = 100000000") == ["0"])
        #expect(try connection.readAll() == ["ok"])
    }
}

// MARK: - Several connections

struct PageConcurrencyTests {
    @Test func `readers, a writer and checkpoints work concurrently`() async throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 100)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let writer = try database.open()
                try writer.run("PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 40")
                for _ in 0..<60 {
                    try writer.run("BEGIN IMMEDIATE; UPDATE item SET label = label || '+'")
                    try writer.run("UPDATE item SET label = substr(label, 2) || '-'; COMMIT")
                }
            }
            group.addTask {
                let checkpointer = try database.open()
                for _ in 0..<60 {
                    let status = try checkpointer.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
                    #expect(status == SQLITE_OK || status == SQLITE_BUSY)
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<15 {
                        let reader = try database.open()
                        try reader.run("PRAGMA cache_size = 5")
                        #expect(try reader.readAll() == ["ok"])
                        #expect(try reader.texts("SELECT count(*) FROM item") == ["100"])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(database.damage.damagedPages == [])
        #expect(database.damage.damagedFrames == [])
        #expect(try DatabaseFileCheck(ofFileAt: database.path).damagedPages == [])
    }
}
