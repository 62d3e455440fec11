// A test keychain leaves no trace on the disk: while one works hard, this process has no file
// open that it hadn't, and the folders where one could be are as they were.

import Foundation
import Keychain
import KeychainTesting
import Testing

@Suite struct `No file` {
    /// The names in a folder, and in those below it down to two levels.
    private static func names(in folder: String, levels: Int = 2) -> Set<String> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.reduce(into: []) { all, name in
            all.insert(folder + "/" + name)
            if levels > 0 {
                all.formUnion(Self.names(in: folder + "/" + name, levels: levels - 1))
            }
        }
    }

    /// The databases, logs and journals that this process has open.
    private static func openDatabases() -> Set<String> {
        let folder = "/proc/self/fd"
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return Set(
            numbers.compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $0)
            }.filter {
                ["keychain.db", ".db", "-journal", "-wal", "etilqs_", "device.key"]
                    .contains(where: $0.contains)
            })
    }

    @Test func `nothing is written, neither where keychains are nor where SQLite spills`() throws {
        let environment = ProcessInfo.processInfo.environment
        let data =
            environment["XDG_DATA_HOME"]
            ?? (environment["HOME"] ?? NSHomeDirectory()) + "/.local/share"
        let work = FileManager.default.currentDirectoryPath
        let before = (
            Self.names(in: data + "/keychain"), Self.names(in: work, levels: 0),
            Self.openDatabases()
        )

        let test = TestKeychain()
        let keychain = Keychain(service: "com.example.app", in: test.database)
        for number in 0..<50 {
            try keychain.save(Data(count: 1 << 20), for: "\(number)")
            #expect(Self.openDatabases() == before.2)
        }
        test.inject(.stop(.beforeCommit), times: 1)
        #expect(throws: KeychainError.self) { try keychain.removeAll() }
        try test.lock()
        try test.unlock()
        try test.restart()
        try test.unlock()
        #expect(try keychain.removeAll() == 50)
        _ = try test.database.check()

        #expect(Self.names(in: data + "/keychain") == before.0)
        #expect(Self.names(in: work, levels: 0) == before.1)
        #expect(Self.openDatabases() == before.2)
        #expect(try test.database.status().byteCount == 0)
    }
}
