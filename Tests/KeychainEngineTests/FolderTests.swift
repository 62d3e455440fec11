// What others can put into the folder of a keychain: links, folders, pipes, databases of before and
// of nobody. Nothing outside the folder is touched, nothing is lost, and every error says what is wrong.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import Testing

@Suite struct FolderTests {
    private func add(_ account: String, to keychain: TemporaryKeychain) throws {
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: .afterFirstUnlock, data: Data(account.utf8))), as: keychain.caller)
    }

    private func find(_ account: String, in engine: KeychainEngine) throws -> Data? {
        try engine.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account)),
                Retrieval(includesData: true)), as: AccessGroups(["G1"])
        ).first?.data
    }

    /// A closed keychain with one item.
    private func closed() throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        try add("a", to: keychain)
        keychain.engine.close()
        return keychain
    }

    private func recover(_ keychain: TemporaryKeychain) throws -> RecoveryReport {
        try KeychainEngine.recover(directory: keychain.directory, options: .testing)
    }

    private func message(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return (error as? KeychainFailure)?.reason
        }
    }

    // MARK: Links to other folders

    @Test(arguments: [
        "rotation-1", "rebuilding-1", "rotation.new-1", "keychain.db.new-1", "damaged-1",
    ])
    func `what a link leads to is left alone`(name: String) throws {
        let keychain = try closed()
        let other = keychain.directory + "-other"
        try FileManager.default.createDirectory(
            atPath: other, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: other) }
        let names: Set<String> = ["keychain.db", "device.key", "keybag", "anchor", "letter"]
        for name in names { try Data(name.utf8).write(to: URL(filePath: other + "/" + name)) }
        try FileManager.default.createSymbolicLink(
            atPath: keychain.directory + "/" + name, withDestinationPath: other)

        try keychain.reopen()
        #expect(try find("a", in: keychain.engine) == Data("a".utf8))
        try add("b", to: keychain)
        #expect(try keychain.engine.check().isSound)
        keychain.engine.close()
        #expect(try recover(keychain).isComplete)
        try keychain.reopen()
        if name != "rotation-1" { try keychain.engine.rotate() }
        #expect(try find("b", in: keychain.engine) == Data("b".utf8))
        for name in names {
            #expect(
                try Data(contentsOf: URL(filePath: other + "/" + name)) == Data(name.utf8),
                "\(name)")
        }
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: other)) == names)
    }

    // MARK: Databases that nobody recovered

    private func ofAnotherKeychain() throws -> Data {
        let other = try closed()
        return try Data(contentsOf: URL(filePath: other.path(.database)))
    }

    @Test(arguments: ["empty", "garbage", "of another keychain", "of before"])
    func `a database that no recovery has made takes no place`(kind: String) throws {
        let keychain = try closed()
        let database = URL(filePath: keychain.path(.database))
        let before = try Data(contentsOf: database)
        try keychain.reopen()
        try add("b", to: keychain)
        keychain.engine.close()
        let now = try Data(contentsOf: database)
        let put =
            switch kind {
            case "empty": Data()
            case "garbage": Data(repeating: 7, count: 8192)
            case "of before": before
            default: try ofAnotherKeychain()
            }
        let path = keychain.path(.recoveredDatabase)
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: put, attributes: [.posixPermissions: 0o600]))
        let text = try #require(message { _ = try recover(keychain) })
        #expect(text.contains(path) && text.contains("Nothing was changed"))
        #expect(try Data(contentsOf: database) == now)
        #expect(try Data(contentsOf: URL(filePath: path)) == put)
        // What the message says leads on.
        try FileManager.default.removeItem(atPath: path)
        #expect(try recover(keychain).itemCount == 2)
    }

    // MARK: Things that are no files

    private enum Kind: String, CaseIterable { case folder, pipe, link }

    private static let places: [(StoreFolder.File, Kind)] =
        [
            .database, .writeAheadLog, .sharedMemory, .deviceKey, .keybag, .anchor, .damagedLog,
            .recoveredDatabase, .lock, .lease,
        ]
        .flatMap { file in Kind.allCases.map { (file, $0) } }

    @Test(arguments: places.indices)
    func `what is no file of the keychain is named, and nothing waits for it`(index: Int) throws {
        let (file, kind) = Self.places[index]
        let keychain = try closed()
        let path = keychain.path(file)
        let old = try? Data(contentsOf: URL(filePath: path))
        try? FileManager.default.removeItem(atPath: path)
        let other = keychain.directory + "-other"
        defer { try? FileManager.default.removeItem(atPath: other) }
        switch kind {
        case .folder:
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false)
        case .pipe:
            // SAFETY: the path is a terminated copy for the duration of the call. So below.
            let code = unsafe mkfifo(path, 0o600)
            #expect(code == 0)
        case .link:
            #expect(
                FileManager.default.createFile(
                    atPath: other, contents: old ?? Data(), attributes: [.posixPermissions: 0o600]))
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: other)
        }
        for attempt in [
            {
                _ = try KeychainEngine.open(directory: keychain.directory, options: .testing)
                    .close()
            },
            { _ = try recover(keychain) },
        ] {
            if let text = message(attempt) {
                #expect(
                    text.contains(path) || text.contains("keychainctl recover"), "\(text)")
            }
        }
        if file == .keybag || file == .anchor {
            // A copy that is no file, and an anchor, are no reason to stop.
            try keychain.reopen()
            #expect(try find("a", in: keychain.engine) == Data("a".utf8))
        }
        if kind == .link, file != .keybag {
            #expect((try? Data(contentsOf: URL(filePath: other))) == old ?? Data())
        }
    }

    @Test func `an anchor that is another file as well isn't written`() throws {
        let keychain = try closed()
        let other = keychain.directory + "-other"
        defer { try? FileManager.default.removeItem(atPath: other) }
        try Data("letter".utf8).write(to: URL(filePath: other))
        _ = unsafe chmod(other, 0o600)
        try FileManager.default.removeItem(atPath: keychain.path(.anchor))
        try FileManager.default.linkItem(atPath: other, toPath: keychain.path(.anchor))
        try keychain.reopen()
        try add("b", to: keychain)
        #expect(try Data(contentsOf: URL(filePath: other)) == Data("letter".utf8))
    }

    // MARK: Numbers

    @Test func `an empty database of a later number is none`() throws {
        let keychain = try closed()
        let path = keychain.directory + "/keychain-7.db"
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: Data(), attributes: [.posixPermissions: 0o600]))
        try keychain.reopen()
        #expect(try find("a", in: keychain.engine) == Data("a".utf8))
    }

    @Test func `a backup that was put over a later keychain is named, and nothing is changed`()
        throws
    {
        let keychain = try closed()
        let backup = try Data(contentsOf: URL(filePath: keychain.path(.database)))
        try keychain.reopen()
        try keychain.engine.rotate()
        keychain.engine.close()
        let path = keychain.directory + "/keychain.db"
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: backup, attributes: [.posixPermissions: 0o600]))
        let text = try #require(message { try keychain.reopen() })
        #expect(text.contains("a backup was put over a later keychain"))
        #expect(message { _ = try recover(keychain) } == text)
        try FileManager.default.removeItem(atPath: path)
        try keychain.reopen()
        #expect(try find("a", in: keychain.engine) == Data("a".utf8))
    }

    @Test func `the last number is the end of rotations`() throws {
        let keychain = try closed()
        for suffix in ["", "-wal", "-shm"]
        where FileManager.default.fileExists(
            atPath: keychain.directory + "/keychain.db" + suffix)
        {
            try FileManager.default.moveItem(
                atPath: keychain.directory + "/keychain.db" + suffix,
                toPath: keychain.directory + "/keychain-2147483647.db" + suffix)
        }
        try keychain.reopen()
        let text = try #require(message { try keychain.engine.rotate() })
        #expect(text.contains("highest number"))
        #expect(try find("a", in: keychain.engine) == Data("a".utf8))
    }

    @Test
    func `files of before a rotation that are put back are noticed as long as the machine runs`()
        throws
    {
        let keychain = try RememberedKeychain()
        try keychain.add("a")
        try keychain.reopen()
        #expect(keychain.state.isVerified)
        keychain.close()
        let old = keychain.folder + "/old"
        try FileManager.default.copyItem(atPath: keychain.directory, toPath: old)
        try keychain.open()
        try keychain.engine.rotate()
        keychain.close()
        try FileManager.default.removeItem(atPath: keychain.directory)
        try FileManager.default.moveItem(atPath: old, toPath: keychain.directory)
        let text = try #require(message { try keychain.open() })
        #expect(text.contains("an older copy was put back"))
        keychain.boot += 1
        try keychain.open()
    }
}
