// DiskTests: the contents of the files as seen without the keys.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import Testing

@Suite struct DiskTests {
    @Test func `neither secrets nor attributes are in the files as plain text`() throws {
        let keychain = try TemporaryKeychain()
        let texts = ["SECRET-7c1f", "ACCOUNT-7c1f", "SERVICE-7c1f", "LABEL-7c1f", "GROUP-7c1f"]
        var attributes = genericPassword(texts[1], texts[2])
        attributes[.label] = .string(texts[3])
        let item = NewItem(
            itemClass: .genericPassword, attributes: attributes, accessGroup: texts[4],
            protection: .whenUnlocked, data: Data(texts[0].utf8))
        let caller = AccessGroups([texts[4]])
        _ = try keychain.engine.perform(AddItem(item), as: caller)
        // At first, the item is only in the write-ahead log. When the last connection is closed,
        // SQLite copies the item to the database file.
        #expect(try files(of: keychain).keys.contains { $0.hasSuffix("-wal") })
        for reopens in [false, true] {
            if reopens { try keychain.reopen() }
            for (name, bytes) in try files(of: keychain) {
                for text in texts {
                    #expect(!isContained(text, in: bytes), "\(name) contains \(text)")
                }
            }
        }
        // `isContained` finds the texts in bytes that do contain them.
        for text in texts { #expect(isContained(text, in: Data("x\(text)y".utf8))) }
        let query = ItemQuery(itemClass: .genericPassword, attributes: attributes)
        #expect(
            try keychain.engine.perform(FindItems(query, Retrieval(includesData: true)), as: caller)
                .first?.data
                == Data(texts[0].utf8))
    }

    private func files(of keychain: TemporaryKeychain) throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: keychain.directory)
        #expect(names.count >= 3)
        var files: [String: Data] = [:]
        for name in names {
            files[name] = FileManager.default.contents(atPath: keychain.directory + "/" + name)
        }
        return files
    }

    /// Whether the bytes contain a text in UTF-8 or UTF-16.
    private func isContained(_ text: String, in bytes: Data) -> Bool {
        bytes.range(of: Data(text.utf8)) != nil
            || text.data(using: .utf16LittleEndian).map { bytes.range(of: $0) != nil } == true
    }
}
