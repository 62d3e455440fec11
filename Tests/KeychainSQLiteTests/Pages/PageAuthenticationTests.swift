// PageAuthenticationTests: the tags of pages and frames are recomputed independently, and SQLite
// reads databases with such tags, with this VFS and without it.

import CKeychainSQLite
import Foundation
import KeychainCrypto
import KeychainSQLite
import TestPrograms
import Testing

struct PageAuthenticationTests {
    private let salt = [UInt8](100..<116)
    private var authenticator: PageAuthenticator {
        PageAuthenticator(deviceKey: PageDatabase.deviceKey, salt: salt)
    }
    private var content: [UInt8] {
        (0..<PageFormat.contentByteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    }
    private let place = LogFramePlace(
        page: 3, databasePageCount: 9, frame: 4, salt1: 0xA1A2_A3A4, salt2: 0xB1B2_B3B4)

    /// The place of a page, in the database file or in the log.
    private enum Place {
        case page(UInt32)
        case frame(LogFramePlace)
    }

    /// A page with its tag.
    private func page(at place: Place) -> [UInt8] {
        var page = content + [UInt8](repeating: 0xEE, count: PageFormat.reservedByteCount)
        // SAFETY: the array has as many bytes as a page.
        unsafe page.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            switch place {
            case .page(let number): unsafe authenticator.stamp(pageAt: base, number: number)
            case .frame(let place): unsafe authenticator.stamp(pageAt: base, in: place)
            }
        }
        return page
    }

    private func verifies(
        _ page: [UInt8], at place: Place, by other: PageAuthenticator? = nil
    ) -> Bool {
        let authenticator = other ?? authenticator
        // SAFETY: the array has as many bytes as a page.
        return unsafe page.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return switch place {
            case .page(let number): unsafe authenticator.verifies(pageAt: base, number: number)
            case .frame(let place): unsafe authenticator.verifies(pageAt: base, in: place)
            }
        }
    }

    /// Whether the page's nonce and tag result from sealing an empty plaintext with `prefix` and
    /// the page's content as associated data.
    private func isTag(of page: [UInt8], over prefix: [UInt8]) -> Bool {
        let key = KeyDerivation.derive(.pages, from: PageDatabase.deviceKey, salt: salt)
        let box = Data(page[4080..<4092] + page[4064..<4080])
        return
            (try? AuthenticatedEncryption.open(
                box, using: key, authenticating: prefix + page[..<4064])) != nil
    }

    @Test func `the tag of a page covers its number and its bytes as stored in the file`() {
        let page = page(at: .page(0x0102_0304))
        #expect(Array(page[..<4064]) == content)
        #expect(Array(page[4092...]) == [0, 0, 0, 0])
        #expect(isTag(of: page, over: Array("KCPG".utf8) + [1, 2, 3, 4]))
        #expect(verifies(page, at: .page(0x0102_0304)))
        #expect(!verifies(page, at: .page(0x0102_0305)))
        let other = PageAuthenticator(deviceKey: PageDatabase.deviceKey, salt: [UInt8](0..<16))
        #expect(!verifies(page, at: .page(0x0102_0304), by: other))
    }

    @Test func `the first page contains the file's salt, and the page's tag covers the salt`() {
        var page = page(at: .page(1))
        #expect(Array(page[72..<88]) == salt)
        #expect(isTag(of: page, over: Array("KCPG".utf8) + [0, 0, 0, 1]))
        page[80] ^= 1
        #expect(!verifies(page, at: .page(1)))
    }

    @Test func `the tag of a page in the log covers the page's place in the log`() {
        let page = page(at: .frame(place))
        let prefix =
            Array("KCLF".utf8) + [0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 4]
            + [0xA1, 0xA2, 0xA3, 0xA4, 0xB1, 0xB2, 0xB3, 0xB4]
        #expect(isTag(of: page, over: prefix))
        #expect(verifies(page, at: .frame(place)))
        let changes: [WritableKeyPath<LogFramePlace, UInt32>] = [
            \.page, \.databasePageCount, \.frame, \.salt1, \.salt2,
        ]
        for change in changes {
            var other = place
            other[keyPath: change] ^= 1
            #expect(!verifies(page, at: .frame(other)))
        }
        #expect(!verifies(page, at: .page(3)))
    }

    @Test func `changing any byte of a page invalidates its tag`() {
        let page = page(at: .page(2))
        var missed: [Int] = []
        for offset in page.indices {
            var changed = page
            changed[offset] ^= 1 << UInt8(offset % 8)
            if verifies(changed, at: .page(2)) { missed.append(offset) }
        }
        #expect(missed == [])
    }

    @Test func `each write of a page uses a new nonce`() {
        let pages = (0..<20).map { _ in page(at: .page(2)) }
        #expect(Set(pages.map { Array($0[4080..<4092]) }).count == 20)
    }

    // MARK: Files

    @Test func `a new file has a random salt, which writes don't change`() throws {
        let databases = try [PageDatabase(), PageDatabase()]
        let files = try databases.map { database in
            try database.fill(rowCount: 50)
            return try database.bytes()
        }
        #expect(files.allSatisfy { $0[20] == 32 })
        #expect(files[0][72..<88] != files[1][72..<88])
        #expect(
            files.allSatisfy { $0[72..<88] != Data(count: 16) && $0[88..<92] == Data(count: 4) })
        let connection = try databases[0].open()
        try connection.run("PRAGMA user_version = 9; UPDATE item SET label = 'x'")
        #expect(try connection.checkpoint() == SQLITE_OK)
        connection.close()
        #expect(try databases[0].bytes()[72..<88] == files[0][72..<88])
        #expect(try DatabaseFileCheck(ofFileAt: databases[0].path).damagedPages == [])
    }

    @Test func `a page from another file with the same device key counts as damage`() throws {
        let (first, second) = (try PageDatabase(), try PageDatabase())
        try first.fill(rowCount: 500)
        try second.fill(rowCount: 500)
        let size = PageFormat.pageByteCount
        try first.overwrite(Array(try second.bytes()[5 * size..<6 * size]), at: 5 * size)
        #expect(try DatabaseFileCheck(ofFileAt: first.path).damagedPages == [6])
    }

    @Test
    func `without this VFS, SQLite reads a database and its log, even without the log's page tags`()
        throws
    {
        let database = try PageDatabase()
        try database.fill(rowCount: 10)
        let connection = try database.open()
        try connection.run("PRAGMA wal_autocheckpoint = 0")
        for _ in 0..<5 { try connection.addItems(40) }
        var log = [UInt8](try database.bytes(suffix: "-wal"))
        let copy = NSTemporaryDirectory() + "keychain-copy-" + UUID().uuidString
        defer {
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: copy + suffix)
            }
        }
        for number in 1...LogForgery.frameCount(log) {
            let end = LogForgery.frame(number).upperBound
            #expect(log[end - 32..<end - 4] != ArraySlice(repeating: 0, count: 28))
            for index in end - 32..<end { log[index] = 0 }
        }
        try database.bytes().write(to: URL(filePath: copy))
        try Data(log).write(to: URL(filePath: copy + "-wal"))
        let other = try PageConnection("file://" + copy)
        #expect(try other.readAll() == ["ok"])
        #expect(try other.texts("SELECT count(*) FROM item") == ["210"])
        other.close()
        connection.close()
    }

    @Test func `frames that a transaction wrote more than once have valid tags`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 800)
        let connection = try database.open()
        try connection.run("PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 10")
        for _ in 0..<3 {
            try connection.run(
                """
                BEGIN IMMEDIATE;
                UPDATE item SET label = label || '.';
                SAVEPOINT a;
                UPDATE item SET label = 'x' || label;
                ROLLBACK TO a;
                UPDATE item SET label = label || '!' WHERE id % 3 = 0;
                COMMIT
                """)
        }
        let check = try #require(try LogFileCheck(besideDatabaseAt: database.path))
        #expect(check.committedFrameCount > 50)
        #expect(check.droppedFrameCount == 0)
        // The copy has no index of the log, so SQLite builds one, as after a crash.
        let copy = try PageDatabase()
        try database.bytes().write(to: URL(filePath: copy.path))
        try database.bytes(suffix: "-wal").write(to: URL(filePath: copy.path + "-wal"))
        let reader = try copy.open()
        #expect(try reader.readAll() == ["ok"])
        #expect(try reader.texts("SELECT max(label) FROM item WHERE id = 3") == ["label 3.!.!.!"])
        #expect(copy.damage.isEmpty)
        #expect(database.damage.isEmpty)
    }

    @Test func `a rollback journal is neither played back nor changed`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        let before = [UInt8](try database.bytes())
        let journal = RollbackJournal.ofPage(
            5, content: [UInt8](repeating: 0, count: 4096), before)
        let path = database.path + "-journal"
        try Data(journal).write(to: URL(filePath: path))
        let connection = try database.open()
        #expect(try connection.readAll() == ["ok"])
        connection.close()
        #expect([UInt8](try database.bytes()) == before)
        #expect([UInt8](try Data(contentsOf: URL(filePath: path))) == journal)
        // The journal is valid: SQLite plays it back without this VFS.
        let other = try PageConnection("file://" + database.path)
        _ = try? other.readAll()
        other.close()
        #expect([UInt8](try database.bytes())[4 * 4096..<5 * 4096].allSatisfy { $0 == 0 })
    }

    @Test func `a checkpoint writes each frame only to the frame's own page`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 500)
        let connection = try database.open()
        try connection.run("PRAGMA wal_autocheckpoint = 0")
        try connection.addItems(200)
        let log = [UInt8](try database.bytes(suffix: "-wal"))
        let before = try database.bytes()
        // From byte 136 on, the log's index contains the page number of each frame, in native byte
        // order.
        func page(_ frame: Int) -> UInt32 {
            log[LogForgery.frame(frame).prefix(4)].reduce(0) { $0 << 8 | UInt32($1) }
        }
        for (frame, other) in [(1, 2), (2, 1)] {
            let bytes = unsafe withUnsafeBytes(of: page(other)) { unsafe Array($0) }
            try database.overwrite(bytes, at: 136 + 4 * (frame - 1), suffix: "-shm")
        }
        #expect(try connection.checkpoint() & 0xff == SQLITE_IOERR)
        #expect(database.damage.hasDamagedLog)
        for number in [page(1), page(2)] where Int(number) * 4096 <= before.count {
            let range = Int(number - 1) * 4096..<Int(number) * 4096
            #expect(try database.bytes()[range] == before[range])
        }
    }

    @Test func `a file emptied while in use counts as damage, not as a new database`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 10)
        let copy = try database.bytes()
        let path = database.path + "-other"
        try copy.write(to: URL(filePath: path))
        let use = PageKeys.use(PageDatabase.deviceKey, forPath: path)
        defer { use.end() }
        let first = try PageConnection(PageChecksumVFS.uri(forPath: path))
        #expect(try first.texts("SELECT count(*) FROM item") == ["10"])
        try Data().write(to: URL(filePath: path))
        let second = try PageConnection(PageChecksumVFS.uri(forPath: path))
        #expect(try !second.verifiesPages())
        #expect(PageDamage.registry(forPath: path).damagedPages == [1])
    }

    @Test func `a page in the format of version 1 counts as damage if the file's key is known`()
        throws
    {
        let database = try PageDatabase()
        try database.fill(rowCount: 10)
        try database.overwrite([8], at: 20)
        let connection = try PageConnection(PageChecksumVFS.uri(forPath: database.path))
        #expect(try !connection.verifiesPages())
        #expect(database.damage.damagedPages == [1])
    }

    @Test func `a database whose key is unknown counts as damaged`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 10)
        let path = database.path + "-elsewhere"
        try database.bytes().write(to: URL(filePath: path))
        let connection = try PageConnection(PageChecksumVFS.uri(forPath: path))
        #expect(try !connection.verifiesPages())
        #expect(PageDamage.registry(forPath: path).damagedPages == [1])
    }
}

// MARK: - Logs changed by an attacker without keys

struct LogForgeryTests {
    enum Forgery: String, CaseIterable {
        case content = "a byte of a page"
        case swapped = "two swapped frames"
        case size = "the database size in a commit frame"
        case page = "the page number of a frame"
        case nonce = "the nonce of a page"
    }

    /// Changes frames of a log, and then sets the checksums of all frames so that they match.
    private func forged(_ log: [UInt8], _ forgery: Forgery) -> [UInt8] {
        var log = log
        let (third, fourth) = (LogForgery.frame(3), LogForgery.frame(4))
        switch forgery {
        case .content: log[third.lowerBound + 3000] ^= 1
        case .swapped:
            let frame = log[third]
            log.replaceSubrange(third, with: log[fourth])
            log.replaceSubrange(fourth, with: frame)
        case .size:
            let commit = (1...LogForgery.frameCount(log)).first {
                log[LogForgery.frame($0).lowerBound + 7] != 0
            }
            log[LogForgery.frame(commit ?? 1).lowerBound + 7] += 1
        case .page: log[third.lowerBound + 3] ^= 1
        case .nonce: log[third.upperBound - 10] ^= 1
        }
        return LogForgery.summed(log)
    }

    private func copy(
        _ change: ([UInt8]) -> [UInt8]
    ) throws -> (database: PageDatabase, log: [UInt8]) {
        let original = try PageDatabase()
        try original.fill(rowCount: 10)
        let connection = try original.open()
        try connection.run("PRAGMA wal_autocheckpoint = 0")
        for _ in 0..<10 { try connection.addItems(40) }
        let database = try PageDatabase()
        try original.bytes().write(to: URL(filePath: database.path))
        let log = [UInt8](try original.bytes(suffix: "-wal"))
        #expect(LogForgery.summed(log) == log)
        try Data(change(log)).write(to: URL(filePath: database.path + "-wal"))
        connection.close()
        return (database, log)
    }

    @Test(arguments: Forgery.allCases)
    func `a forged frame with a matching checksum is dropped and recorded, and its log is kept`(
        forgery: Forgery
    ) throws {
        let (database, _) = try copy { forged($0, forgery) }
        let check = try #require(try LogFileCheck(besideDatabaseAt: database.path))
        #expect(check.headerIsSound)
        #expect(check.tellsOfLostTransactions)
        let before = try database.bytes(suffix: "-wal")
        let connection = try database.open()
        #expect(try connection.readAll() == ["ok"])
        #expect(database.damage.hasDamagedLog)
        connection.close()
        #expect(try database.bytes(suffix: "-wal") == before)
    }

    @Test func `lost transactions are recorded although only one checksum is damaged`()
        throws
    {
        let (database, _) = try copy { log in
            var log = log
            let commits = (1...LogForgery.frameCount(log)).filter {
                log[LogForgery.frame($0).lowerBound + 7] != 0
            }
            // The last byte of the frame's checksum.
            log[LogForgery.frame(commits[commits.count - 2]).lowerBound + 23] ^= 1
            return log
        }
        let check = try #require(try LogFileCheck(besideDatabaseAt: database.path))
        #expect(check.droppedCommitCount == 2)
        #expect(check.tellsOfLostTransactions)
        _ = try database.open()
        #expect(database.damage.hasDamagedLog)
    }

    @Test(arguments: [UInt32(0), 1])
    func `a log whose salts were replaced, even by zeros, is ignored`(salt: UInt32) throws {
        let (database, _) = try copy { log in
            var log = log
            let starts = (1...LogForgery.frameCount(log)).map {
                LogForgery.frame($0).lowerBound + 8
            }
            for start in [16] + starts {
                log.replaceSubrange(start..<start + 8, with: [UInt8](repeating: 0, count: 8))
                log[start + 3] = UInt8(salt)
            }
            return LogForgery.summed(log)
        }
        let connection = try database.open()
        #expect(try connection.readAll() == ["ok"])
        #expect(try connection.texts("SELECT count(*) FROM item") == ["10"])
        try connection.addItems(10)
        connection.close()
        #expect(try DatabaseFileCheck(ofFileAt: database.path).damagedPages == [])
        #expect(try database.open().texts("SELECT count(*) FROM item") == ["20"])
    }

    @Test func `old frames appended after the last commit aren't lost transactions`()
        throws
    {
        let (database, _) = try copy { log in
            let commits = (1...LogForgery.frameCount(log)).filter {
                log[LogForgery.frame($0).lowerBound + 7] != 0
            }
            return LogForgery.summed(log + commits.flatMap { log[LogForgery.frame($0)] })
        }
        let check = try #require(try LogFileCheck(besideDatabaseAt: database.path))
        #expect(check.droppedFrameCount > 2)
        #expect(!check.tellsOfLostTransactions)
        let connection = try database.open()
        #expect(try connection.texts("SELECT count(*) FROM item") == ["410"])
        #expect(database.damage.isEmpty)
    }

    @Test func `a log frame that is changed while in use is recorded as damage`() throws {
        let database = try PageDatabase()
        try database.fill(rowCount: 10)
        let writer = try database.open()
        try writer.run("PRAGMA wal_autocheckpoint = 0")
        for _ in 0..<10 { try writer.addItems(40) }
        var log = [UInt8](try database.bytes(suffix: "-wal"))
        log[log.count - 100] ^= 1
        try database.overwrite(LogForgery.summed(log), at: 0, suffix: "-wal")
        #expect(try writer.checkpoint() & 0xff == SQLITE_IOERR)
        #expect(database.damage.hasDamagedLog)
    }

    @Test func `random bytes after the last commit aren't damage`() throws {
        var random = SeededGenerator(seed: 5)
        let garbage = random.bytes(9000)
        let (database, _) = try copy { $0 + garbage }
        let connection = try database.open()
        #expect(try connection.readAll() == ["ok"])
        #expect(try connection.texts("SELECT count(*) FROM item") == ["410"])
        #expect(database.damage.isEmpty)
        try connection.addItems(10)
        #expect(try database.open().texts("SELECT count(*) FROM item") == ["420"])
        #expect(database.damage.isEmpty)
    }
}
