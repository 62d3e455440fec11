import Foundation
import KeychainEngine
import KeychainCore
import TestPrograms
import Testing

@Suite(.serialized) struct CheckTests {
    @Test func `a check compares the count of rows that are set aside`() throws {
        let folder = try TemporaryFolder()
        let first = try KeychainEngine.open(directory: folder.path, options: .testing)
        try first.save("a", Data("secret".utf8))
        first.close()
        // In a page that fits its checksum: a damaged one would not be written to.
        try PageSeal.change(folder.path + "/keychain.db") { bytes in
            let place = try #require(Data(bytes).firstRange(of: Data("KCS1".utf8))).lowerBound
            bytes[place + 60] ^= 1
        }
        let second = try KeychainEngine.open(directory: folder.path, options: .testing)
        #expect(try second.check(settingAside: true).setAsideCount == 1)
        #expect(try second.check().problems.isEmpty)
        second.close()

        try execute("DELETE FROM set_aside", onDatabaseAt: folder.path + "/keychain.db")
        let third = try KeychainEngine.open(directory: folder.path, options: .testing)
        defer { third.close() }
        let problems = try third.check().problems
        #expect(problems == ["0 rows are set aside and should be 1"])
    }
}
