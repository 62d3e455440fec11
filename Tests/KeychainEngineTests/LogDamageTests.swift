// A log that lost commits: everything stops until the keychain is recovered.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Testing

@Suite struct LogDamageTests {
    private func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
    }

    private func add(_ account: String, to keychain: TemporaryKeychain) throws {
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: .afterFirstUnlock, data: Data("secret \(account)".utf8))),
            as: keychain.caller)
    }

    /// A copy of a keychain with 91 commits in its log, as a process that was killed leaves it, with
    /// a byte changed in the middle of the log.
    private func killedKeychain(withAnchor: Bool) throws -> (TemporaryKeychain, copy: String) {
        let keychain = try TemporaryKeychain()
        try keychain.engine.store.emptyLog()
        for number in 0..<91 { try add("\(number)", to: keychain) }
        let copy = keychain.directory + "-copy"
        try FileManager.default.copyItem(atPath: keychain.directory, toPath: copy)
        let folder = StoreFolder(path: copy)
        try FileManager.default.removeItem(atPath: folder.path(of: .sharedMemory))
        if !withAnchor { try FileManager.default.removeItem(atPath: folder.path(of: .anchor)) }
        let log = URL(filePath: folder.path(of: .writeAheadLog))
        var bytes = try Data(contentsOf: log)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: log)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: log.path(percentEncoded: false))
        return (keychain, copy)
    }

    @Test(arguments: [true, false])
    func `lost commits are told, nothing is written over them, and recovery brings them back`(
        withAnchor: Bool
    ) throws {
        let (keychain, copy) = try killedKeychain(withAnchor: withAnchor)
        defer { try? FileManager.default.removeItem(atPath: copy) }
        let log = StoreFolder(path: copy).path(of: .writeAheadLog)
        let bytes = FileManager.default.contents(atPath: log)
        for _ in 0..<3 {
            let failure = #expect(throws: KeychainFailure.self) {
                _ = try KeychainEngine.open(directory: copy, options: .testing)
            }
            #expect(failure?.status == .notAvailable)
            #expect(failure?.reason.contains("keychainctl recover") == true)
            #expect(FileManager.default.contents(atPath: log) == bytes)
        }
        let report = try KeychainEngine.recover(directory: copy, options: .testing)
        let engine = try KeychainEngine.open(directory: copy, options: .testing)
        defer { engine.close() }
        // A page of every second commit is in the frames behind the damaged one.
        #expect(report.itemCount >= 90)
        for number in 0..<91 {
            let found = try? engine.perform(
                FindItems(query("\(number)"), Retrieval(includesData: true)), as: keychain.caller)
            #expect(found == nil || found?.first?.data == Data("secret \(number)".utf8))
        }
        try engine.perform(DeleteItems(query("3"), tombstones: .automatic), as: keychain.caller)
        #expect(try engine.check().problems.isEmpty)
    }

    @Test func `a process that opens it meanwhile is told too`() throws {
        let (_, copy) = try killedKeychain(withAnchor: false)
        defer { try? FileManager.default.removeItem(atPath: copy) }
        #expect(throws: KeychainFailure.self) {
            _ = try KeychainEngine.open(directory: copy, options: .testing)
        }
        // As a process that did not see the log being read: what was met before is forgotten.
        let wal = StoreFolder(path: copy).path(of: .writeAheadLog)
        var bytes = try Data(contentsOf: URL(filePath: wal))
        // Frames that were dropped look like the rest of an earlier log to it.
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(filePath: wal))
        #expect(StoreFolder(path: copy).exists(.damagedLog))
        #expect(throws: KeychainFailure.self) {
            _ = try KeychainEngine.open(directory: copy, options: .testing)
        }
    }
}
