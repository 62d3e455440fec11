// A test keychain leaves no trace on the disk.

import Foundation
import Keychain
import KeychainTesting
import Testing

@Suite struct `No file` {
    /// How many bytes this thread has written so far, to whatever: other tests run beside this
    /// one, so what the whole process does says nothing.
    private static func writtenByteCount() throws -> Int {
        let counters = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        let line = counters.split(separator: "\n").first { $0.hasPrefix("wchar: ") }
        return try #require(line.flatMap { Int($0.dropFirst("wchar: ".count)) })
    }

    /// Saves values that are larger than any buffer.
    private static func saveLargeValues(in keychain: Keychain) throws {
        for number in 0..<20 {
            try keychain.save(Data(count: 1 << 20), for: KeychainKey("\(number)"))
        }
    }

    /// Does everything that could make a keychain write: large values, a transaction that is rolled
    /// back, other passcodes, a search that sorts.
    private static func work(_ keychain: Keychain, in database: KeychainDatabase) throws {
        try saveLargeValues(in: keychain)
        #expect(throws: KeychainError.self) { try keychain.add("x", for: KeychainKey<String>("1")) }
        try database.setPasscode("1234")
        try database.lock()
        try database.unlock(passcode: "1234")
        #expect(try keychain.items().count == 20)
        #expect(try database.check().isSound)
        #expect(try keychain.removeAll() == 20)
    }

    @Test func `a test keychain writes not one byte`() throws {
        let folder = FileManager.default.currentDirectoryPath
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let before = try Self.writtenByteCount()

        let test = TestKeychain()
        let keychain = Keychain(service: "com.example.app", in: test.database)
        try Self.work(keychain, in: test.database)
        test.inject(.stop(.beforeCommit), times: 1)
        #expect(throws: KeychainError.self) {
            try keychain.save(Data(count: 8 << 20), for: KeychainKey("stopped"))
        }
        try test.restart()

        #expect(try Self.writtenByteCount() == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == names)
        let status = try test.database.status()
        #expect(status.byteCount == 0)
        #expect(!FileManager.default.fileExists(atPath: status.directory.path))
    }

    /// The count would show what is written.
    @Test func `large values in a folder are written, all of them`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "keychain-testing-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let before = try Self.writtenByteCount()
        let database = KeychainDatabase(directory: folder, accessGroups: ["default"])
        try Self.saveLargeValues(in: Keychain(service: "com.example.app", in: database))
        #expect(try Self.writtenByteCount() - before > 20 << 20)
    }
}
