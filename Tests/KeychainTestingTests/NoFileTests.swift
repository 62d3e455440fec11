// A test keychain writes nothing to the disk.

import Foundation
import Keychain
import KeychainTesting
import Testing

/// The number of bytes that all threads of this process have passed to `write` and similar system
/// calls, for files, pipes and sockets alike.
private func writtenByteCount() throws -> Int {
    let counters = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
    let line = counters.split(separator: "\n").first { $0.hasPrefix("wchar: ") }
    return try #require(line.flatMap { Int($0.dropFirst("wchar: ".count)) })
}

/// Saves 20 values of 1 MiB each.
private func saveLargeValues(in keychain: Keychain) throws {
    for number in 0..<20 {
        try keychain.save(Data(count: 1 << 20), for: KeychainKey("\(number)"))
    }
}

/// Does what is likely to make a keychain write: saves large values, fails to add an existing item,
/// sets a passcode, locks and unlocks, lists and checks all items, and removes them.
private func work(_ keychain: Keychain, in database: KeychainDatabase) throws {
    try saveLargeValues(in: keychain)
    #expect(throws: KeychainError.self) { try keychain.add("x", for: KeychainKey<String>("1")) }
    try database.setPasscode("1234")
    try database.lock()
    try database.unlock(passcode: "1234")
    #expect(try keychain.items().count == 20)
    #expect(try database.check().isSound)
    #expect(try keychain.removeAll() == 20)
}

private func useTestKeychain() throws {
    let folder = FileManager.default.currentDirectoryPath
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    let before = try writtenByteCount()

    let test = TestKeychain()
    let keychain = Keychain(service: "com.example.app", in: test.database)
    try work(keychain, in: test.database)
    test.inject(.stop(.beforeCommit), times: 1)
    #expect(throws: KeychainError.self) {
        try keychain.save(Data(count: 8 << 20), for: KeychainKey("stopped"))
    }
    try test.restart()

    #expect(try writtenByteCount() == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == names)
    let status = try test.database.status()
    #expect(status.byteCount == 0)
    #expect(!FileManager.default.fileExists(atPath: status.directory.path))
}

private func useKeychainInFolder() throws {
    let folder = FileManager.default.temporaryDirectory
        .appending(path: "keychain-testing-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let before = try writtenByteCount()
    let database = KeychainDatabase(directory: folder, accessGroups: ["default"])
    try saveLargeValues(in: Keychain(service: "com.example.app", in: database))
    #expect(try writtenByteCount() - before > 20 << 20)
}

/// Each test runs in a separate process, because other tests write at the same time.
@Suite struct `A test keychain without files` {
    @Test func `a test keychain writes no bytes to any file`() async {
        await #expect(processExitsWith: .success) { try useTestKeychain() }
    }

    /// This test shows that `writtenByteCount` would include the writes of a keychain.
    @Test func `large values saved to a keychain in a folder are counted as written`() async {
        await #expect(processExitsWith: .success) { try useKeychainInFolder() }
    }
}
