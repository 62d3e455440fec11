// Foreign files in a keychain's folder: links, pipes and folders in place of its files, database
// files with another number in their names, and files named like a recovered database.
//   (1) Nothing outside the folder is read, changed or removed.
//   (2) Nothing blocks, and each refusal names the file.

import Foundation
import Glibc
import KeychainCore
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite(.timeLimit(.minutes(2))) struct ForeignFileTests {
    private let files = FileManager.default

    private func add(_ account: String, to keychain: TemporaryKeychain) throws {
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: .afterFirstUnlock, data: Data(account.utf8))), as: keychain.caller)
    }

    private func load(_ account: String, from keychain: TemporaryKeychain) throws -> Data? {
        try keychain.engine.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account)),
                Retrieval(includesData: true)), as: keychain.caller
        ).first?.data
    }

    /// A closed keychain with the item `a`.
    private func closedKeychain() throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        try add("a", to: keychain)
        keychain.engine.close()
        return keychain
    }

    private func recover(_ keychain: TemporaryKeychain) throws -> RecoveryReport {
        try KeychainEngine.recover(directory: keychain.directory, options: .testing)
    }

    private func contents(of folder: String) throws -> [String: Data] {
        var all: [String: Data] = [:]
        for name in try files.contentsOfDirectory(atPath: folder) {
            all[name] = files.contents(atPath: folder + "/" + name)
        }
        return all
    }

    private func reason(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return (error as? KeychainFailure)?.reason
        }
    }

    private func put(_ content: Data, at path: String) {
        #expect(
            files.createFile(
                atPath: path, contents: content, attributes: [.posixPermissions: 0o600]))
    }

    // MARK: Links to folders

    @Test(arguments: ["rotation-1", "rotation-9", "rebuilding-123", "keychain.db.new-1"])
    func `a folder that a symbolic link in the keychain's folder points to isn't touched`(
        _ name: String
    ) throws {
        let keychain = try closedKeychain()
        let outside = keychain.directory + "-outside"
        try files.createDirectory(atPath: outside, withIntermediateDirectories: false)
        defer { try? files.removeItem(atPath: outside) }
        for name in ["photo", "keychain.db", "device.key", "keybag", "anchor"] {
            put(Data(name.utf8), at: outside + "/" + name)
        }
        let before = try contents(of: outside)
        let link = keychain.directory + "/" + name
        let verbs: [(TemporaryKeychain) throws -> Void] = [
            { try add("b", to: $0) },
            { keychain in
                let isSound = try keychain.engine.check().isSound
                #expect(isSound)
            },
            { _ = try $0.engine.restoreSetAside() },
            { try $0.engine.rotate() },
            { keychain in
                keychain.engine.close()
                let isComplete = try recover(keychain).isComplete
                #expect(isComplete)
                try keychain.reopen()
            },
        ]
        for verb in verbs {
            try? files.removeItem(atPath: link)
            try files.createSymbolicLink(atPath: link, withDestinationPath: outside)
            try keychain.reopen()
            try verb(keychain)
            #expect(try contents(of: outside) == before)
            #expect(try load("a", from: keychain) == Data("a".utf8))
            keychain.engine.close()
        }
    }

    @Test
    func `a recovery doesn't remove a user's folder named like the recovery's temporary folder`()
        throws
    {
        let keychain = try closedKeychain()
        let folder = keychain.directory + "/rebuilding-notes"
        try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
        put(Data("note".utf8), at: folder + "/note")
        #expect(try recover(keychain).isComplete)
        #expect(try contents(of: folder) == ["note": Data("note".utf8)])
    }

    @Test func `the key of an unfinished rotation isn't removed, whatever other folders there are`()
        throws
    {
        let keychain = try closedKeychain()
        try keychain.reopen()
        try keychain.engine.rotate()
        keychain.engine.close()
        // A process that is killed before the last step of the rotation leaves the key in
        // `rotation-1`. The folder `rotation-9` is unrelated.
        for name in ["rotation-1", "rotation-9"] {
            try files.createDirectory(
                atPath: keychain.directory + "/" + name, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        }
        try files.moveItem(
            atPath: keychain.path(.deviceKey), toPath: keychain.directory + "/rotation-1/device.key"
        )
        for _ in 0..<2 {
            try keychain.reopen()
            #expect(try load("a", from: keychain) == Data("a".utf8))
            keychain.engine.close()
        }
    }

    // MARK: Files that aren't regular

    enum Kind: CaseIterable {
        case folder, link, pipe, socket

        func make(at path: String) throws {
            switch self {
            case .folder:
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: false)
            case .link:
                try FileManager.default.createSymbolicLink(
                    atPath: path, withDestinationPath: path + "-elsewhere")
            case .pipe: try #require(unsafe mkfifo(path, 0o600) == 0)
            case .socket: try #require(unsafe mknod(path, S_IFSOCK | 0o600, 0) == 0)
            }
        }
    }

    @Test(arguments: StoreFolder.File.allCases.filter { $0 != .keybag }, Kind.allCases)
    func `if a keychain file isn't regular, the error names it and opening doesn't block`(
        _ file: StoreFolder.File, _ kind: Kind
    ) throws {
        let keychain = try closedKeychain()
        let path = keychain.path(file)
        if files.fileExists(atPath: path) {
            try files.moveItem(atPath: path, toPath: path + "-elsewhere")
        }
        try kind.make(at: path)
        let opening = reason { try keychain.reopen() }
        #expect(opening?.contains(path + " is a ") == true, "\(opening ?? "it opens")")
        let recovering = reason { _ = try recover(keychain) }
        #expect(recovering == opening)
        // After the original file is put back, the keychain opens again.
        try files.removeItem(atPath: path)
        if files.fileExists(atPath: path + "-elsewhere") {
            try files.moveItem(atPath: path + "-elsewhere", toPath: path)
        }
        try keychain.reopen()
        #expect(try load("a", from: keychain) == Data("a".utf8))
    }

    @Test(arguments: Kind.allCases)
    func `a keychain opens even if the copy of its keybag isn't a regular file`(_ kind: Kind) throws
    {
        let keychain = try closedKeychain()
        let path = keychain.path(.keybag)
        let copy = try Data(contentsOf: URL(filePath: path))
        try files.removeItem(atPath: path)
        try kind.make(at: path)
        try keychain.reopen()
        #expect(try load("a", from: keychain) == Data("a".utf8))
        let notice = try #require(try keychain.engine.check().notices.first)
        if kind == .folder {
            #expect(notice.contains("remove it"))
        } else {
            #expect(notice.contains("was rewritten"))
            #expect(files.contents(atPath: path) == copy)
        }
        keychain.engine.close()
        #expect(try recover(keychain).isComplete)
    }

    @Test(arguments: [StoreFolder.File.anchor, .writeAheadLog, .sharedMemory, .database])
    func `a file with a second hard link isn't written to`(_ file: StoreFolder.File) throws {
        let keychain = try closedKeychain()
        let path = keychain.path(file)
        let other = keychain.directory + "-mine"
        defer { try? files.removeItem(atPath: other) }
        if file == .database {
            try files.moveItem(atPath: path, toPath: other)
        } else {
            try? files.removeItem(atPath: path)
            put(Data("mine".utf8), at: other)
        }
        let before = files.contents(atPath: other)
        try files.linkItem(atPath: other, toPath: path)
        let refusal = reason { try keychain.reopen() }
        #expect(refusal?.contains("\(path) has a second hard link") == true)
        #expect(files.contents(atPath: other) == before)
        // These lines follow the instructions in the error.
        try files.copyItem(atPath: path, toPath: path + ".copy")
        try #require(unsafe rename(path + ".copy", path) == 0)
        if file == .database || file == .anchor {
            try keychain.reopen()
            try add("b", to: keychain)
            #expect(files.contents(atPath: other) == before)
        }
    }

    // MARK: Database numbers

    @Test(arguments: ["keychain-7.db", "keychain-7.db-wal", "keychain-7.db.recovered"])
    func `a second database file with another number is refused, and the error names it`(
        _ name: String
    ) throws {
        let keychain = try closedKeychain()
        let path = keychain.directory + "/" + name
        let before = try contents(of: keychain.directory)
        for content in ["", "nobody's"] {
            put(Data(content.utf8), at: path)
            // An empty log isn't refused.
            guard name != "keychain-7.db-wal" || !content.isEmpty else { continue }
            for verb in ["open", "recover"] {
                let refusal = reason {
                    if verb == "open" { try keychain.reopen() } else { _ = try recover(keychain) }
                }
                #expect(refusal?.contains("keychain.db and \(name)") == true, "\(verb)")
                #expect(refusal?.contains("remove that file") == true)
                #expect(refusal?.contains("it is empty") == content.isEmpty)
            }
        }
        try files.removeItem(atPath: path)
        for (name, content) in before {
            #expect(try contents(of: keychain.directory)[name] == content, "\(name)")
        }
        try keychain.reopen()
        #expect(try load("a", from: keychain) == Data("a".utf8))
    }

    @Test
    func `the error for a wrong application ID names damage or another program as the cause`()
        throws
    {
        let keychain = try closedKeychain()
        let file = URL(filePath: keychain.path(.database))
        var bytes = try Data(contentsOf: file)
        // The application ID is at offset 68 (Documentation/Formats/database-v2.md).
        bytes[68] ^= 1
        try bytes.write(to: file)
        let refusal = reason { try keychain.reopen() }
        #expect(
            refusal?.contains(
                "the first page of keychain.db is damaged, or the file belongs to another program")
                == true)
        #expect(try recover(keychain).itemCount == 1)
        try keychain.reopen()
        #expect(try load("a", from: keychain) == Data("a".utf8))
    }

    @Test func `a keychain whose database has the highest possible number can't be rotated`() throws
    {
        let keychain = try closedKeychain()
        try files.moveItem(
            atPath: keychain.path(.database),
            toPath: keychain.directory + "/keychain-2147483647.db")
        try keychain.reopen()
        let before = Set(try files.contentsOfDirectory(atPath: keychain.directory))
        #expect(
            reason { try keychain.engine.rotate() }?.contains("highest possible number") == true)
        #expect(
            reason { try keychain.engine.setPasscode(passcode("1")) }?.contains(
                "highest possible number")
                == true)
        #expect(Set(try files.contentsOfDirectory(atPath: keychain.directory)) == before)
        try add("b", to: keychain)
        // These lines follow the instructions in the error.
        keychain.engine.close()
        try files.moveItem(
            atPath: keychain.directory + "/keychain-2147483647.db",
            toPath: keychain.directory + "/keychain.db")
        try keychain.reopen()
        try keychain.engine.rotate()
        #expect(try load("b", from: keychain) == Data("b".utf8))
    }

    // MARK: A recovered database

    enum Recovered: CaseIterable {
        case empty, nonsense, ofAnother, earlier
    }

    @Test(arguments: Recovered.allCases)
    func `a file isn't used as the recovered database just because of its name`(
        _ kind: Recovered
    ) throws {
        let keychain = try closedKeychain()
        let earlier = try Data(contentsOf: URL(filePath: keychain.path(.database)))
        try keychain.reopen()
        try add("b", to: keychain)
        keychain.engine.close()
        let other = try closedKeychain()
        let content =
            switch kind {
            case .empty: Data()
            case .nonsense: Data(repeating: 7, count: 3 * 4096)
            case .ofAnother: try Data(contentsOf: URL(filePath: other.path(.database)))
            case .earlier: earlier
            }
        let path = keychain.path(.recoveredDatabase)
        put(content, at: path)
        #expect(status { try keychain.reopen() } == .notAvailable)
        let report = try recover(keychain)
        #expect(report.isComplete && !report.isContinued && report.itemCount == 2)
        #expect(
            files.contents(atPath: report.damagedDirectory + "/keychain.db.recovered") == content)
        try keychain.reopen()
        for account in ["a", "b"] {
            #expect(try load(account, from: keychain) == Data(account.utf8))
        }
        keychain.engine.close()

        // If there is no other database, the recovery fails and doesn't move the file.
        try files.removeItem(atPath: keychain.path(.database))
        put(content, at: path)
        let before = try contents(of: keychain.directory)
        #expect(reason { _ = try recover(keychain) }?.contains(path) == true)
        #expect(try contents(of: keychain.directory) == before)
    }
}
