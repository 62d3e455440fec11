// RecoveryKillTests: a recovery that is killed and run again has the same result as a recovery that
// isn't killed.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import TestPrograms
import Testing

@Suite(.serialized) struct RecoveryKillTests {
    /// The content of the keychain. Without the write-ahead log, the database has different
    /// content.
    private static let values: [String: Data] = [
        "item 0": Data("new".utf8), "item 2": Data(repeating: 2, count: 9000),
        "item 3": Data(repeating: 3, count: 10), "item 4": Data("value 4".utf8),
    ]

    /// Files whose last commits are only in the write-ahead log, and the generation of the last
    /// commit.
    private func master() throws -> (files: [String: Data], generation: UInt64) {
        let folder = try TemporaryFolder()
        let line = try #require(try faultWriter("leave-changes", folder.path).lines().first)
        return (try folder.contents(), try #require(UInt64(line)))
    }

    private func folder(_ files: [String: Data]) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for (name, content) in files { try folder.put(content, name) }
        return folder
    }

    /// Runs a recovery in a process that is killed after the system call with the given number.
    /// Only calls of `SystemCalls` that may create, rename or remove a file or a folder are
    /// counted, not those that SQLite makes. If the recovery makes fewer counted calls, or the
    /// number is 0, the process isn't killed.
    /// - Returns: The number of counted calls, or `nil` if the process was killed.
    private func recover(_ folder: TemporaryFolder, killedAt call: Int) throws -> Int? {
        let child = try faultWriter("recover", folder.path, "\(call)")
        let line = child.lines().last
        #expect(line != nil || !child.endedWell)
        return line.flatMap { Int($0.split(separator: " ").last ?? "") }
    }

    private func names(_ folder: TemporaryFolder) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
    }

    private func expectWhole(
        _ folder: TemporaryFolder, _ master: (files: [String: Data], generation: UInt64),
        _ place: String
    ) throws {
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        defer { engine.close() }
        for number in 0..<6 {
            let account = "item \(number)"
            #expect(
                try engine.load(account) == Self.values[account], "\(place): \(account)")
        }
        #expect(try engine.check().isSound, "\(place)")
        #expect(try engine.setAsideRows().isEmpty, "\(place)")
        #expect(try engine.store.header().generation > master.generation, "\(place)")
        let names = try names(folder)
        #expect(!names.contains("keychain.db.recovered"), "\(place)")
        #expect(!names.contains { $0.hasPrefix("rebuilding-") }, "\(place)")
        // The previous files are together in one folder, unchanged.
        let kept = names.filter { $0.hasPrefix("damaged-") }.filter { name in
            ["keychain.db", "keychain.db-wal"].allSatisfy { file in
                FileManager.default.contents(atPath: "\(folder.path)/\(name)/\(file)")
                    == master.files[file]
            }
        }
        #expect(kept.count == 1, "\(place): \(names)")
    }

    @Test
    func `a recovery killed after any change to its folders and run again loses nothing`() throws {
        let master = try master()
        var call = 0
        var refusals = 0
        while true {
            call += 1
            try #require(call < 200)
            let folder = try folder(master.files)
            let ended = try recover(folder, killedAt: call) != nil
            let place = "killed after call \(call)"
            if try names(folder).contains("keychain.db.recovered") {
                refusals += 1
                let before = try folder.contents()
                let refusal = failure {
                    try KeychainEngine.open(directory: folder.path, options: .testing).close()
                }
                #expect(refusal?.status == .notAvailable, "\(place)")
                #expect(refusal?.reason.contains("keychainctl recover") == true, "\(place)")
                #expect(try folder.contents() == before, "\(place)")
            }
            if !ended {
                let report = try KeychainEngine.recover(directory: folder.path, options: .testing)
                #expect(report.isComplete, "\(place): \(report)")
                #expect(report.itemCount == Self.values.count, "\(place): \(report)")
            }
            try expectWhole(folder, master, place)
            if ended { break }
        }
        #expect(call > 15)
        #expect(refusals >= 5)
        print("recovery: killed after each of \(call - 1) calls and run again, 0 items lost")
    }

    @Test func `a recovery that was killed twice is completed by the third run`() throws {
        let master = try master()
        let whole = try folder(master.files)
        let calls = try #require(try recover(whole, killedAt: 0))
        var killed = 0
        for first in 1...calls {
            let folder = try folder(master.files)
            _ = try recover(folder, killedAt: first)
            // If the first run was killed late, the second run may complete in fewer calls.
            if try recover(folder, killedAt: 1 + first % 7) == nil { killed += 1 }
            _ = try KeychainEngine.recover(directory: folder.path, options: .testing)
            try expectWhole(folder, master, "killed after call \(first)")
        }
        #expect(killed > calls / 2)
    }

    @Test func `the previous database is refused if it is put back after a recovery`() throws {
        let master = try master()
        let folder = try folder(master.files)
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        engine.close()
        let before = try #require(try folder.contents()["keychain.db"])
        _ = try KeychainEngine.recover(directory: folder.path, options: .testing)
        try folder.put(before, "keychain.db")
        let refusal = failure {
            try KeychainEngine.open(directory: folder.path, options: .testing).close()
        }
        #expect(refusal?.status == .notAvailable)
        #expect(refusal?.reason.contains("are missing") == true)
    }
}
