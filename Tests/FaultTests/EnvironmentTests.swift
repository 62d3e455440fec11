// EnvironmentTests: keychains in unusual environments, such as closed standard streams, wrong file
// modes, missing or replaced files, a newer format, and a limit on the size of files.

import Foundation
import KeychainEngine
import KeychainCore
import TestPrograms
import Testing

@Suite(.serialized) struct EnvironmentTests {
    /// A closed keychain with one item.
    private func keychain() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        try engine.save("kept", Data("value".utf8))
        engine.close()
        return folder
    }

    private func open(_ folder: TemporaryFolder) throws -> KeychainEngine {
        try KeychainEngine.open(directory: folder.path, options: .testing)
    }

    @Test
    func `no file of the keychain gets the descriptor number of a closed standard stream`()
        throws
    {
        let folder = try TemporaryFolder()
        _ = try faultWriter("print-to-closed-streams", folder.path).lines()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.contains("in-use") && names.contains("keychain.db"))
        for name in names {
            let content = try Data(contentsOf: URL(filePath: folder.path + "/" + name))
            #expect(content.firstRange(of: Data("a secret to look for".utf8)) == nil, "\(name)")
        }
        let engine = try open(folder)
        defer { engine.close() }
        #expect(try engine.check().itemCount == 100)
    }

    /// A problem: how to cause it, how to remove it, and what the error must contain.
    struct Cause: CustomTestStringConvertible, Sendable {
        let name: String
        let status: Status
        let words: String
        let bring: @Sendable (TemporaryFolder) throws -> Void
        let take: @Sendable (TemporaryFolder) throws -> Void

        var testDescription: String { name }

        /// Replaces a file with other content, or removes the file if `content` is `nil`, until the
        /// end of the test.
        static func replaced(
            _ file: String, by content: Data?, _ name: String, _ status: Status, _ words: String
        ) -> Cause {
            Cause(
                name: name, status: status, words: words,
                bring: { folder in
                    try folder.aside(file)
                    if let content { try folder.put(content, file) }
                },
                take: { folder in try folder.back(file) })
        }

        /// A valid SQLite database with a different table.
        private static func otherDatabase() throws -> Data {
            let folder = try TemporaryFolder()
            try execute("CREATE TABLE diary(entry TEXT)", onDatabaseAt: folder.path + "/other.db")
            return try #require(try folder.contents()["other.db"])
        }

        /// The database with the magic of its keybag overwritten everywhere.
        private static func withoutKeybag(_ database: Data) throws -> Data {
            var database = database
            while let place = database.firstRange(of: Data("KCKB".utf8)) {
                database.replaceSubrange(place, with: Data(count: 4))
            }
            return database
        }

        static func mode(_ file: String, _ mode: Int, _ usual: Int, _ words: String) -> Cause {
            Cause(
                name: "\(file.isEmpty ? "folder" : file) with mode \(String(mode, radix: 8))",
                status: .notAvailable, words: words,
                bring: { folder in
                    try FileManager.default.setAttributes(
                        [.posixPermissions: mode], ofItemAtPath: folder.path + "/" + file)
                },
                take: { folder in
                    try FileManager.default.setAttributes(
                        [.posixPermissions: usual], ofItemAtPath: folder.path + "/" + file)
                })
        }

        static let all: [Cause] = [
            mode("", 0o755, 0o700, "chmod 700"),
            mode("device.key", 0o644, 0o600, "chmod 600"),
            mode("keychain.db", 0o640, 0o600, "chmod 600"),
            replaced(
                "keychain.db", by: Data("Dear diary".utf8), "text in place of the database",
                .notAvailable, "keychainctl recover"),
            replaced(
                "keychain.db", by: Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }),
                "garbage in place of the database", .notAvailable, "keychainctl recover"),
            replaced(
                "keychain.db", by: Data(), "an empty file in place of the database", .notAvailable,
                "keychainctl recover"),
            Cause(
                name: "another program's database in place of the keychain",
                status: .notAvailable, words: "another program",
                bring: { folder in
                    try folder.aside("keychain.db")
                    try folder.put(try Self.otherDatabase(), "keychain.db")
                },
                take: { folder in try folder.back("keychain.db") }),
            Cause(
                name: "text in place of the keybag, and its copy in the database damaged",
                status: .invalidKeychain, words: "from a backup",
                bring: { folder in
                    try folder.aside("keybag")
                    try folder.aside("keychain.db")
                    try folder.put(Data("not a keybag".utf8), "keybag")
                    try folder.put(
                        try Self.withoutKeybag(
                            try #require(folder.contents()["aside-keychain.db"])),
                        "keychain.db")
                },
                take: { folder in
                    try folder.back("keybag")
                    try folder.back("keychain.db")
                }),
            replaced(
                "keychain.db", by: nil, "no database", .notAvailable, "keychain.db is missing"),
            replaced(
                "device.key", by: nil, "no device key", .invalidKeychain, "restore it from a backup"
            ),
            replaced(
                "device.key", by: Data(count: 144), "zeros in place of the device key",
                .invalidKeychain, "from a backup"),
        ]
    }

    @Test(arguments: Cause.all)
    func `a keychain in a bad environment gives a clear error and isn't changed`(cause: Cause)
        throws
    {
        let folder = try keychain()
        try cause.bring(folder)
        let before = try folder.contents()
        for _ in 0..<2 {
            let failure = try #require(failure { try open(folder).close() })
            #expect(failure.status == cause.status)
            #expect(failure.reason.contains(cause.words), "\(failure.reason)")
        }
        let after = try folder.contents()
        let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
        #expect(changed.isEmpty)
        try cause.take(folder)
        let engine = try open(folder)
        #expect(try engine.load("kept") == Data("value".utf8))
        engine.close()
    }

    @Test func `a keychain with a newer format is refused and not changed`() throws {
        let folder = try keychain()
        // user_version is at offset 60, in big-endian order.
        try PageSeal.change(folder.path + "/keychain.db") { $0[63] = 3 }
        let before = try folder.contents()
        let refusal = try #require(failure { try open(folder).close() })
        #expect(refusal.status == .wrongVersion)
        #expect(refusal.reason.contains("Update swift-keychain"))
        #expect(try folder.contents() == before)
    }

    @Test
    func `if the version number may be damaged, the error suggests first an update, then recovery`()
        throws
    {
        let folder = try keychain()
        var database = try #require(try folder.contents()["keychain.db"])
        database[database.startIndex + 63] = 9
        try folder.put(database, "keychain.db")
        let refusal = try #require(failure { try open(folder).close() })
        #expect(refusal.cause == .damage)
        let update = try #require(refusal.reason.range(of: "update swift-keychain"))
        let recovery = try #require(refusal.reason.range(of: "keychainctl recover"))
        #expect(update.upperBound < recovery.lowerBound)
        #expect(!refusal.reason.contains("Run `keychainctl recover`"), "\(refusal.reason)")
        #expect(try folder.contents()["keychain.db"] == database)
    }

    @Test func `a missing keybag file is restored from the database`() throws {
        let folder = try keychain()
        let keybag = try #require(try folder.contents()["keybag"])
        try FileManager.default.removeItem(atPath: folder.path + "/keybag")
        let engine = try open(folder)
        #expect(try engine.load("kept") == Data("value".utf8))
        engine.close()
        #expect(try folder.contents()["keybag"] == keybag)
    }

    @Test
    func `a keychain isn't opened with another keychain's device key, and nothing is changed`()
        throws
    {
        let folder = try keychain()
        let other = try keychain()
        try folder.put(try #require(try other.contents()["device.key"]), "device.key")
        let before = try folder.contents()
        #expect(failure { try open(folder).close() }?.status == .invalidKeychain)
        #expect(try folder.contents() == before)
    }

    @Test
    func `a write beyond the file size limit gives an error, and acknowledged writes are kept`()
        throws
    {
        let folder = try TemporaryFolder()
        let child = try faultWriter("fill", folder.path, "\(600_000)")
        let all = child.lines()
        let last = try #require(all.last)
        let lines = all.dropLast()
        #expect(child.endedWell)
        let status = Status(rawValue: try #require(Int32(last.split(separator: " ").last ?? "")))
        #expect([.diskFull, .ioError].contains(status), "\(last)")
        #expect(lines.count > 10)
        let engine = try open(folder)
        for account in lines {
            #expect(try engine.load(account) == Data(repeating: 7, count: 3000))
        }
        #expect(try engine.check().isSound)
        // The limit applied only to the process of `fault-writer`, not to this process.
        try engine.save("afterwards", Data([1]))
        engine.close()
        print("size limit: \(lines.count) acknowledged writes, 0 lost, status \(status.rawValue)")
    }

    @Test(arguments: [
        Data(), Data((0...255).map { UInt8($0) }), Data("a\nb\0c\r\n\n".utf8),
        Data(repeating: 0x5A, count: 20 << 20),
    ])
    func `values of any bytes round-trip unchanged`(value: Data) throws {
        let folder = try keychain()
        let engine = try open(folder)
        try engine.save("value", value)
        engine.close()
        let again = try open(folder)
        #expect(try again.load("value") == value)
        again.close()
    }
}
