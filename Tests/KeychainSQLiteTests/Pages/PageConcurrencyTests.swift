// PageConcurrencyTests: several connections at work on one file.

import CKeychainSQLite
import Foundation
import KeychainSQLite
import Testing

struct PageConcurrencyTests {
    @Test func `readers, a writer and checkpoints do not disturb each other`() async throws {
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
