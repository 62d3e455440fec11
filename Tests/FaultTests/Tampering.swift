// Tampering: the changes to a keychain's files that an attacker can make. The attacker can write
// the files, has no keys, and may have earlier copies of the folder.

import FaultSweeps
import Foundation
import KeychainCore
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

/// A change to the files of a keychain with the items of ``accounts``.
struct Tampering: Sendable, CustomStringConvertible {
    let description: String
    /// Whether the keychain's last commits are still only in its write-ahead log.
    var hasLog = false
    /// Whether the change does no damage, so that nothing is lost.
    var isHarmless = false
    /// The highest number of items that a recovery may fail to restore.
    var lostCount = 0
    /// Whether the change is undetectable, because all files are from the same earlier time.
    var isUnnoticed = false
    /// The keychain's current passcode, if the change puts back a keybag from before that passcode
    /// was set.
    var passcode: String?
    let change: @Sendable (TemporaryFolder) throws -> Void

    static let accounts = (0..<6).map { "account \($0)" }

    static func data(_ account: String) -> Data { Data(("secret of " + account).utf8) }

    private static func pages(
        _ description: String, lostCount: Int = 0,
        _ change: @escaping @Sendable (inout [UInt8]) throws -> Void
    ) -> Tampering {
        Tampering(description: description, lostCount: lostCount) { folder in
            var bytes = [UInt8](try #require(try folder.contents()["keychain.db"]))
            try change(&bytes)
            try folder.put(Data(bytes), "keychain.db")
        }
    }

    private static func log(
        _ description: String, isHarmless: Bool = false,
        _ change: @escaping @Sendable (inout [UInt8]) throws -> Void
    ) -> Tampering {
        Tampering(description: description, hasLog: true, isHarmless: isHarmless) { folder in
            var bytes = [UInt8](try #require(try folder.contents()["keychain.db-wal"]))
            try change(&bytes)
            try folder.put(Data(bytes), "keychain.db-wal")
        }
    }

    private static func sql(_ description: String, _ sql: String) -> Tampering {
        Tampering(description: description) { folder in
            try execute(sql, onDatabaseAt: folder.path + "/keychain.db")
        }
    }

    private static func exchange(_ first: Range<Int>, _ second: Range<Int>, in bytes: inout [UInt8])
    {
        let kept = bytes[first]
        bytes.replaceSubrange(first, with: bytes[second])
        bytes.replaceSubrange(second, with: kept)
    }

    /// Removes the last entry of a page, by decrementing the number of cells in the page's header.
    private static func removeCell(of page: RootPage, in bytes: inout [UInt8]) {
        bytes[page.bytes.lowerBound + 4] -= 1
    }

    // MARK: Earlier states

    /// Updates the keychain's first item, and then calls `putBack` with the contents of the files
    /// from before that update.
    private static func replay(
        _ description: String, lostCount: Int = 0, isUnnoticed: Bool = false,
        _ putBack: @escaping @Sendable (TemporaryFolder, [String: Data]) throws -> Void
    ) -> Tampering {
        Tampering(description: description, lostCount: lostCount, isUnnoticed: isUnnoticed) {
            folder in
            let right = data(accounts[0])
            try save(Data(right.reversed()), in: folder)
            let before = try folder.contents()
            try save(right, in: folder)
            try putBack(folder, before)
        }
    }

    private static func save(_ data: Data, in folder: TemporaryFolder) throws {
        let engine = try KeychainEngine.open(directory: folder.path, options: folder.options)
        defer { engine.close() }
        _ = try engine.perform(UpdateItems(query(accounts[0]), ItemChanges(data: data)), as: caller)
    }

    /// Puts back pages from before the last item was added.
    private static func replay(
        _ description: String, lostCount: Int = 0, ofAddition pages: [RootPage]
    ) -> Tampering {
        Tampering(description: description, lostCount: lostCount) { folder in
            var engine = try KeychainEngine.open(directory: folder.path, options: folder.options)
            _ = try engine.perform(DeleteItems(query(accounts[5]), tombstones: .never), as: caller)
            engine.close()
            let before = try folder.contents()
            engine = try KeychainEngine.open(directory: folder.path, options: folder.options)
            try engine.save(accounts[5], data(accounts[5]))
            engine.close()
            try folder.putBack(pages, of: before)
        }
    }

    /// Deletes the runtime folder, as a reboot does. Only that folder's content would reveal the
    /// change.
    private static func restartMachine(_ folder: TemporaryFolder) throws {
        try FileManager.default.removeItem(atPath: folder.path + "/run")
    }

    static let all: [Tampering] = [
        pages("two pages in each other's place") {
            exchange(RootPage.itemsUUID.bytes, RootPage.itemsKey.bytes, in: &$0)
        },
        pages("a page of another keychain") { bytes in
            let other = try TamperingTests.keychain()
            let file = try #require(try other.contents()["keychain.db"])
            bytes.replaceSubrange(RootPage.itemsKey.bytes, with: file[RootPage.itemsKey.bytes])
        },
        pages("a page of zeros") { bytes in
            for index in RootPage.itemsKey.bytes { bytes[index] = 0 }
        },
        pages(
            "a byte of a row changed, with the page's checksum of format version 1 recomputed",
            lostCount: 1
        ) { bytes in
            let place = try #require(Data(bytes).firstRange(of: Data("KCM2".utf8)))
            bytes[place.lowerBound + 40] ^= 1
            let sealed = PageSeal.sealed(bytes)
            bytes.replaceSubrange(RootPage.items.bytes, with: sealed[RootPage.items.bytes])
        },
        pages("an entry of an index removed") { removeCell(of: .itemsKey, in: &$0) },
        pages("a term removed") { removeCell(of: .terms, in: &$0) },
        pages("an item removed from everywhere", lostCount: 1) { bytes in
            for page in RootPage.indexes + [.items] { removeCell(of: page, in: &bytes) }
        },
        sql(
            "a trigger added",
            "CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END"),
        sql("a view added", "CREATE VIEW v AS SELECT * FROM items"),
        sql("an index removed", "DROP INDEX items_k2"),
        sql(
            "a row added to those that are set aside",
            """
            INSERT INTO set_aside(at, reason, tag, uuid, protection, grp, k1, k2, k3, meta, terms)
                SELECT 1, 1, zeroblob(32), uuid, protection, grp, k1, k2, k3, meta, terms
                FROM items LIMIT 1
            """),
        pages("the salt of the file changed") { $0[75] ^= 1 },
        pages("the tag of a page changed") { $0[RootPage.itemsKey.bytes.upperBound - 20] ^= 1 },
        replay(
            "the earlier content of a page of items, with the page's current tag",
            lostCount: 6
        ) {
            // Nothing shows which of the page's rows is outdated, so a recovery sets all of them
            // aside.
            folder, before in
            var bytes = [UInt8](try #require(try folder.contents()["keychain.db"]))
            let content = RootPage.items.bytes.dropLast(32)
            bytes.replaceSubrange(content, with: try #require(before["keychain.db"])[content])
            try folder.put(Data(bytes), "keychain.db")
        },
        pages("the number of reserved bytes per page set to that of format version 1") {
            $0[20] = 8
        },
        Tampering(description: "a rollback journal added beside the database", isHarmless: true) {
            folder in
            let database = [UInt8](try #require(try folder.contents()["keychain.db"]))
            try folder.put(
                Data(
                    RollbackJournal.ofPage(5, content: [UInt8](repeating: 0, count: 4096), database)
                ),
                "keychain.db-journal")
        },
        log("frames that no keychain wrote, added behind the last commit", isHarmless: true) {
            log in
            // Each frame has the log's salts and a commit mark.
            for _ in 0..<3 {
                var frame = log[LogForgery.frame(1)]
                frame[frame.startIndex + 7] = 9
                frame[frame.startIndex + 3000] ^= 1
                log += frame
            }
            log = LogForgery.summed(log)
        },
        log("all salts of the log set to zeros, with SQLite's checksums recomputed") { log in
            for start in [16]
                + (1...LogForgery.frameCount(log)).map({ LogForgery.frame($0).lowerBound + 8 })
            {
                log.replaceSubrange(start..<start + 8, with: [UInt8](repeating: 0, count: 8))
            }
            log = LogForgery.summed(log)
        },
        log("a frame of the log changed, with SQLite's checksums recomputed") { log in
            log[LogForgery.frame(1).lowerBound + 3000] ^= 1
            log = LogForgery.summed(log)
        },
        log("two frames in each other's place, with SQLite's checksums recomputed") { log in
            exchange(LogForgery.frame(1), LogForgery.frame(2), in: &log)
            log = LogForgery.summed(log)
        },
        log("the size of a commit changed, with SQLite's checksums recomputed") { log in
            let commit = try #require(
                (1...LogForgery.frameCount(log)).first {
                    log[LogForgery.frame($0).lowerBound + 7] != 0
                })
            log[LogForgery.frame(commit).lowerBound + 7] += 1
            log = LogForgery.summed(log)
        },
        log("the salts of the log changed, with SQLite's checksums recomputed") { log in
            log[16] ^= 1
            for number in 1...LogForgery.frameCount(log) {
                log[LogForgery.frame(number).lowerBound + 8] ^= 1
            }
            log = LogForgery.summed(log)
        },
        log("the header of the log changed") { $0[20] ^= 1 },
        log("garbage added behind the last commit", isHarmless: true) { log in
            log += (0..<9000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        },
        Tampering(
            description: "the shared memory overwritten with nonsense", hasLog: true,
            isHarmless: true
        ) {
            try $0.put(Data((0..<32768).map { UInt8(truncatingIfNeeded: $0) }), "keychain.db-shm")
        },
        replay("a page of items, from before one of its items was changed") {
            try $0.putBack([.items], of: $1)
        },
        replay("a page of an index, from before an item was added", ofAddition: [.itemsKey]),
        replay(
            "all pages except the header's, from before an item was added", lostCount: 1,
            ofAddition: RootPage.indexes + [.items]),
        replay("`keychain.db` of an earlier commit") { folder, before in
            try folder.put(try #require(before["keychain.db"]), "keychain.db")
        },
        replay("`keychain.db` and `anchor` of an earlier commit, while the machine runs") {
            for name in ["keychain.db", "anchor"] { try $0.put(try #require($1[name]), name) }
        },
        replay("the folder of an earlier commit, while the machine runs") {
            for (name, content) in $1 { try $0.put(content, name) }
        },
        replay("the folder of an earlier commit, after the machine has started", isUnnoticed: true)
        {
            for (name, content) in $1 { try $0.put(content, name) }
            try restartMachine($0)
        },
        Tampering(
            description: "the keybag from before the passcode was changed, both in `keychain.db` "
                + "and in the file `keybag`",
            lostCount: accounts.count, passcode: "2222"
        ) { folder in
            let engine = try KeychainEngine.open(directory: folder.path, options: folder.options)
            try engine.setPasscode(.init(copying: Array("1111".utf8)))
            try engine.store.emptyLog()
            let before = try folder.contents()
            try engine.changePasscode(
                from: .init(copying: Array("1111".utf8)), to: .init(copying: Array("2222".utf8)))
            engine.close()
            try folder.putBack([.keybag], of: before)
            try folder.put(try #require(before["keybag"]), "keybag")
        },
        Tampering(
            description: "the keybag from before the passcode was set, both in `keychain.db` "
                + "and in the file `keybag`",
            lostCount: accounts.count, passcode: "1111"
        ) { folder in
            let before = try folder.contents()
            let engine = try KeychainEngine.open(directory: folder.path, options: folder.options)
            try engine.setPasscode(.init(copying: Array("1111".utf8)))
            engine.close()
            try folder.putBack([.keybag], of: before)
            try folder.put(try #require(before["keybag"]), "keybag")
        },
    ]
}

extension TemporaryFolder {
    /// The options with which a program opens the keychain, including the runtime folder, whose
    /// content a reboot deletes.
    var options: EngineOptions {
        var options = EngineOptions.testing
        options.freshness = FreshnessOptions(folder: path + "/run")
        return options
    }

    /// Replaces pages of the current database with the same pages from an earlier time.
    fileprivate func putBack(_ pages: [RootPage], of before: [String: Data]) throws {
        func database(_ files: [String: Data]) throws -> (name: String, bytes: [UInt8]) {
            let name = try #require(files.keys.filter { $0.hasSuffix(".db") }.max())
            return (name, [UInt8](try #require(files[name])))
        }
        var (name, bytes) = try database(try contents())
        let earlier = try database(before).bytes
        for page in pages { bytes.replaceSubrange(page.bytes, with: earlier[page.bytes]) }
        try put(Data(bytes), name)
    }
}
