// A test keychain writes nothing to the disk.

import Foundation
import Keychain
import KeychainTesting
import Testing

@Suite struct `No file` {
    /// The number of bytes that this thread has written to any file. The count of the whole process
    /// would include other tests that run at the same time.
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
    /// back, passcode changes, and a search that sorts.
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

    @Test func `a test keychain writes no bytes to any file`() throws {
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

    /// Shows that the count includes such writes.
    @Test func `large values saved to a keychain in a folder are counted as written`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "keychain-testing-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let before = try Self.writtenByteCount()
        let database = KeychainDatabase(directory: folder, accessGroups: ["default"])
        try Self.saveLargeValues(in: Keychain(service: "com.example.app", in: database))
        #expect(try Self.writtenByteCount() - before > 20 << 20)
    }
}
