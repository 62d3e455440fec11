// The files that remain if a process is killed during the first use of a keychain, or while it
// changes the keybag or the device key, and what the next opening does with these files. Also: file
// modes, and symbolic links in place of files.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Testing

@Suite struct CreationTests {
    private func names(in keychain: TemporaryKeychain) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: keychain.directory))
    }

    private func put(_ bytes: Data, at path: String) throws {
        try #require(
            FileManager.default.createFile(
                atPath: path, contents: bytes, attributes: [.posixPermissions: 0o600]))
    }

    @Test func `files of an interrupted write are removed at the next opening`() throws {
        let keychain = try TemporaryKeychain()
        keychain.engine.close()
        let before = try names(in: keychain)
        let key = try Data(contentsOf: URL(filePath: keychain.path(.deviceKey)))
        try put(key, at: keychain.path(.deviceKey) + ".new-1f")
        try put(key, at: keychain.path(.keybag) + ".new-2")
        let half = keychain.path(.database) + ".new-abc"
        try FileManager.default.createDirectory(
            atPath: half, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        try put(Data(count: 4096), at: half + "/keychain.db")
        try put(Data(), at: half + "/keychain.db-wal")
        try put(Data(), at: half + "/keychain.db-journal")
        try keychain.reopen()
        keychain.engine.close()
        #expect(try names(in: keychain) == before)
    }

    @Test func `a first use leaves no temporary files`() throws {
        let keychain = try TemporaryKeychain()
        #expect(
            try names(in: keychain).isSubset(
                of: StoreFolder.File.allCases.map(\.rawValue)))
        #expect(!StoreFolder(path: keychain.directory).hasLeftovers)
    }

    @Test func `only the owner can access the folder and its files`() throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        let manager = FileManager.default
        func mode(_ path: String) throws -> Int? {
            try manager.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(keychain.directory) == 0o700)
        let names = try names(in: keychain)
        #expect(names.count >= 7)
        for name in names { #expect(try mode(keychain.directory + "/" + name) == 0o600, "\(name)") }
    }

    @Test(arguments: [StoreFolder.File.deviceKey, .database])
    func `a symbolic link in place of a file is not followed`(
        _ file: StoreFolder.File
    ) throws {
        let keychain = try TemporaryKeychain()
        keychain.engine.close()
        let path = keychain.path(file)
        try FileManager.default.moveItem(atPath: path, toPath: path + "-elsewhere")
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: path + "-elsewhere")
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        }
        #expect(failure?.reason.contains("is a symbolic link") == true)
    }

    @Test(arguments: [0, 4096])
    func `a database with at most one page is created again, but a larger database isn't`(
        byteCount: Int
    ) throws {
        let keychain = try TemporaryKeychain()
        keychain.engine.close()
        // An earlier version of this software left this state when its process was killed: the
        // database exists, but the copy of the keybag doesn't.
        let folder = StoreFolder(path: keychain.directory)
        try FileManager.default.removeItem(atPath: folder.path(of: .keybag))
        let whole = try Data(contentsOf: URL(filePath: folder.path(of: .database)))
        try put(whole.prefix(byteCount), at: folder.path(of: .database))
        try put(Data(), at: folder.path(of: .writeAheadLog))
        try FileManager.default.removeItem(atPath: folder.path(of: .anchor))
        try keychain.reopen()
        #expect(try keychain.engine.status().itemCount == 0)
        #expect(folder.exists(.keybag))

        keychain.engine.close()
        try FileManager.default.removeItem(atPath: folder.path(of: .keybag))
        try put(whole.prefix(2 * 4096), at: folder.path(of: .database))
        #expect(throws: KeychainFailure.self) {
            _ = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        }
        #expect(folder.byteCount(of: .database) == 2 * 4096)
    }

    @Test func `a missing or outdated copy of the keybag is written again`() throws {
        let keychain = try TemporaryKeychain()
        let folder = StoreFolder(path: keychain.directory)
        let first = try #require(try folder.read(.keybag)).plainBytes
        try keychain.engine.setPasscode(passcode("1234"))
        let second = try #require(try folder.read(.keybag)).plainBytes
        #expect(first != second)
        for earlier in [first, nil] {
            keychain.engine.close()
            if let earlier {
                try put(Data(earlier), at: folder.path(of: .keybag))
            } else {
                try FileManager.default.removeItem(atPath: folder.path(of: .keybag))
            }
            try keychain.reopen()
            #expect(try folder.read(.keybag)?.plainBytes == second)
            #expect(folder.byteCount(of: .writeAheadLog) == 0)
        }
    }

    @Test
    func `if a reader keeps a passcode change from emptying the WAL, the next opening empties it`()
        throws
    {
        let keychain = try TemporaryKeychain()
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword("a"),
                    data: Data("x".utf8))), as: keychain.caller)
        try keychain.engine.setPasscode(passcode("1234"))
        let other = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        defer { other.close() }
        var visitCount = 0
        try Store.$longestWait.withValue(.milliseconds(50)) {
            _ = try keychain.engine.store.visit(
                ItemQuery(itemClass: .genericPassword), visibleTo: keychain.caller,
                includesSecret: false, limit: nil
            ) { _, _ throws(KeychainFailure) in
                // While `visit` calls this closure, its read transaction is open.
                visitCount += 1
                try other.changePasscode(from: passcode("1234"), to: passcode("5678"))
                return false
            }
        }
        #expect(visitCount == 1)
        let folder = StoreFolder(path: keychain.directory).located
        func isCopied() throws -> Bool {
            try folder.read(.keybag)?.plainBytes == other.store.file.keybagBytes()
        }
        #expect(try !isCopied())
        #expect(folder.byteCount(of: .writeAheadLog) > 0)
        try KeychainEngine.open(directory: keychain.directory, options: .testing).close()
        #expect(try isCopied())
        #expect(folder.byteCount(of: .writeAheadLog) == 0)
    }

    /// A damaged byte can make the keybag look like a keybag of a later version.
    @Test
    func `opening uses the keybag's copy if the version is unknown, or fails if both versions are`()
        throws
    {
        let keychain = try TemporaryKeychain()
        keychain.engine.close()
        func changeVersion(of file: StoreFolder.File) throws {
            let path = keychain.path(file)
            var bytes = try #require(FileManager.default.contents(atPath: path))
            let keybag = try #require(bytes.firstRange(of: Data(Keybag.magic)))
            bytes[keybag.upperBound] ^= 16
            try put(bytes, at: path)
        }
        try changeVersion(of: .database)
        try keychain.reopen()
        #expect(try keychain.engine.check().damagedPages == [3])
        keychain.engine.close()
        try changeVersion(of: .keybag)
        #expect(status { try keychain.reopen() } == .wrongVersion)
    }

    @Test func `a passcode stays set even if writing the keybag copy fails afterwards`() throws {
        let keychain = try TemporaryKeychain()
        // The copy can't be written, because a non-empty folder has the name of the file.
        let copy = keychain.path(.keybag)
        try FileManager.default.removeItem(atPath: copy)
        try FileManager.default.createDirectory(
            atPath: copy + "/full", withIntermediateDirectories: true)
        try keychain.engine.setPasscode(passcode("1234"))
        #expect(keychain.engine.hasPasscode)
        try FileManager.default.removeItem(atPath: copy)
        try keychain.reopen()
        #expect(keychain.engine.lockState == .beforeFirstUnlock)
        try keychain.engine.unlock(passcode: passcode("1234"))
    }
}
