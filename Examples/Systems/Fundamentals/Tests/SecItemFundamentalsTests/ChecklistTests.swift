// ChecklistTests: the eleven points of a checklist for code that uses the SecItem functions.

import ExampleTesting
import Foundation
import KeychainTesting
import SecItemFundamentals
import Security
import Testing

@Suite struct ChecklistTests {
    let keychain = TestKeychain()
    let manager = KeychainManager(service: service)

    /// Calls each of the manager's methods. The first save creates the item for the other calls.
    nonisolated(nonsending) private func everyMethod() async throws {
        try await manager.save(Data("1".utf8), for: "a")
        try await manager.save(Data("2".utf8), for: "a")
        _ = try await manager.load(for: "a")
        _ = try await manager.allAccounts()
        try await manager.delete(key: "a")
    }

    @Test func `1. the status of every call is checked`() async throws {
        let recorder = Recorder()
        try await keychain.withSecItem { try await recorder.record { try await everyMethod() } }
        let count = recorder.calls.count
        #expect(count == 6)
        // If one of the SecItem functions fails, the caller receives the status.
        let operations: [TestKeychain.Operations] = [.add, .update, .search, .delete]
        for operation in operations {
            let keychain = TestKeychain()
            keychain.inject(.failure(.init(rawValue: -36)), into: operation, times: 1)
            await keychain.withSecItem {
                #expect(await status { try await everyMethod() } == -36)
            }
        }
    }

    @Test func `2. a save adds or updates`() async throws {
        let recorder = Recorder()
        try await keychain.withSecItem {
            try await recorder.record {
                try await manager.save(Data("1".utf8), for: "a")
                try await manager.save(Data("2".utf8), for: "a")
            }
        }
        #expect(
            recorder.calls.map { "\($0.function) \($0.status)" }
                == ["SecItemAdd 0", "SecItemAdd -25299", "SecItemUpdate 0"])
        #expect(keychain.secret("a") == "2")
    }

    @Test func `3. every search sets a return key`() async throws {
        let recorder = Recorder()
        try await keychain.withSecItem { try await recorder.record { try await everyMethod() } }
        let searches = recorder.calls.filter { $0.function == "SecItemCopyMatching" }
        #expect(searches.count == 2)
        #expect(searches[0].keys.contains(kSecReturnData as String))
        #expect(searches[1].keys.contains(kSecReturnAttributes as String))
        #expect(!searches[1].keys.contains(kSecReturnData as String))
    }

    @Test func `4. the return keys and the limit determine the type of a result`() throws {
        #expect(keychain.add("a") == errSecSuccess)
        #expect(keychain.add("bo") == errSecSuccess)
        let keys = KeychainQueryBuilder.buildQuery(forClass: kSecClassKey)
        for tag in ["1", "2"] {
            let parameters: [String: Any] = [
                kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
                kSecAttrKeySizeInBits as String: 256,
            ]
            let key = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
            let item = keys.with(kSecValueRef, key)
                .with(kSecAttrApplicationTag, Data(tag.utf8))
            #expect(keychain.withSecItem { SecItem.add(item) } == errSecSuccess)
        }
        var contents: [String: String] = [:]
        for row in CastRow.all {
            // If two items match, a limit of one returns either of them.
            let passwords = row.limit == .one ? query("a") : query()
            let found = keychain.copy(
                KeychainQueryBuilder.buildSearch(
                    row.itemClass == .key ? keys : passwords, returning: row.returns,
                    limit: row.limit))
            #expect(found.status == errSecSuccess)
            contents["\(row): \(row.cast)"] = row.read(found.result)
            // Only a limit of all returns an array.
            let isArray = found.result is [AnyObject]
            #expect(isArray == (row.limit == .all))
        }
        #expect(
            contents == [
                "one, data: as? Data": "6 bytes",
                "all, data: as? [Data]": "6 bytes, 6 bytes",
                "one, attributes: as? [String: Any]": "a",
                "all, attributes: as? [[String: Any]]": "a, bo",
                "one, data + attributes: as? [String: Any]": "a with 6 bytes",
                "all, data + attributes: as? [[String: Any]]": "a with 6 bytes, bo with 6 bytes",
                "one, reference: == nil": "no result",
                "all, reference: as? [AnyObject]": "0 elements",
                "one, persistent: as? Data": "20 bytes",
                "all, persistent: as? [Data]": "20 bytes, 20 bytes",
                "one, reference of keys: type ID, as! SecKey": "a key of 256 bits",
                "all, reference of keys: as? [AnyObject]":
                    "a key of 256 bits, a key of 256 bits",
            ])
    }

    @MainActor
    @Test func `5. no SecItem call is made on the main actor`() async throws {
        #expect(SecItem.isOnMainActor)
        let recorder = Recorder()
        let model = AuthViewModel(keychain: manager)
        try await keychain.withSecItem {
            try await recorder.record {
                try await manager.save(Data("1".utf8), for: "token")
                await model.loadToken()
                _ = try await manager.allAccounts()
                try await manager.delete(key: "token")
            }
        }
        #expect(recorder.calls.map(\.queue) == Array(repeating: "KeychainManager", count: 4))
    }

    @Test func `5. a SecItem call on the main actor ends the program`() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            await MainActor.run {
                TestKeychain().withSecItem { _ = SecItem.delete(query("a")) }
            }
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("A SecItem function was called on the main actor."))
        await #expect(processExitsWith: .success) {
            #expect(!SecItem.isOnMainActor)
            TestKeychain().withSecItem { _ = SecItem.delete(query("a")) }
        }
    }

    /// The keys of a call do not depend on earlier calls.
    @Test func `6. no key of one call is left in the dictionary of the next call`() async throws {
        func keys(_ method: Int) async throws -> [[String]] {
            let recorder = Recorder()
            try await recorder.record {
                switch method {
                case 0: try await manager.save(Data(), for: "a")
                case 1: _ = try await manager.load(for: "a")
                case 2: _ = try await manager.allAccounts()
                default: try await manager.delete(key: "a")
                }
            }
            return recorder.calls.flatMap { [[$0.function] + $0.keys, $0.changes] }
        }
        try await keychain.withSecItem {
            for first in 0..<4 {
                for second in 0..<4 {
                    #expect(keychain.delete(query()) != errSecParam)
                    #expect(keychain.add("a") == errSecSuccess)
                    let alone = try await keys(second)
                    #expect(keychain.delete(query()) != errSecParam)
                    #expect(keychain.add("a") == errSecSuccess)
                    _ = try await keys(first)
                    if first == 3 { #expect(keychain.add("a") == errSecSuccess) }
                    #expect(try await keys(second) == alone)
                }
            }
        }
    }

    @Test func `7. keys of dictionaries are constants`() throws {
        var constantCount = 0
        for file in try SourceFile.all() {
            for line in file.lines {
                constantCount += line.matches(of: /\bkSec\w+/).count
                #expect(!SourceFile.hasLiteralKey(line), "\(file.name): \(line)")
            }
        }
        #expect(constantCount > 100)
        #expect(SourceFile.hasLiteralKey("query[\"acct\"] = account"))
        #expect(SourceFile.hasLiteralKey("    \"acct\": account,"))
        #expect(SourceFile.hasLiteralKey("\"svce\" as String: service,"))
        #expect(!SourceFile.hasLiteralKey("kSecAttrService as String: \"service\","))
    }

    @Test func `8. a query is specific: other accounts, services and classes are unaffected`()
        async throws
    {
        #expect(keychain.add("a") == errSecSuccess)
        #expect(keychain.add("b") == errSecSuccess)
        #expect(keychain.add("a", [kSecAttrService: "other"]) == errSecSuccess)
        let website = KeychainQueryBuilder.buildQuery(
            forClass: kSecClassInternetPassword, account: "a"
        ).with(kSecAttrServer, "example.org").with(kSecValueData, Data("website".utf8))
        #expect(keychain.withSecItem { SecItem.add(website) } == errSecSuccess)
        try await keychain.withSecItem {
            try await manager.save(Data("new".utf8), for: "a")
            #expect(try await manager.load(for: "a") == Data("new".utf8))
            #expect(try await manager.allAccounts() == ["a", "b"])
            try await manager.delete(key: "a")
            #expect(try await manager.allAccounts() == ["b"])
            let other = KeychainManager(service: "other")
            #expect(try await other.load(for: "a") == Data("secret".utf8))
        }
        #expect(keychain.secret("b") == "secret")
        #expect(try keychain.items().count == 3)
    }

    @Test func `9. deleting an absent item with the manager succeeds`() async throws {
        try await keychain.withSecItem {
            try await manager.delete(key: "a")
            #expect(SecItem.delete(query("a")) == errSecItemNotFound)
        }
    }

    @Test func `10. every call specifies the data protection keychain`() async throws {
        let recorder = Recorder()
        try await keychain.withSecItem { try await recorder.record { try await everyMethod() } }
        #expect(recorder.calls.count == 6)
        let key = kSecUseDataProtectionKeychain as String
        #expect(recorder.calls.allSatisfy { $0.keys.contains(key) })
        #expect(KeychainQueryBuilder.buildQuery()[key] as? Bool == true)
    }

    @Test func `11. if the keychain is locked, nothing is deleted, and a later try succeeds`()
        async throws
    {
        let recorder = Recorder()
        let reference = KeychainQueryBuilder.buildSearch(
            query("a"), returning: .persistentReference, limit: .one)
        try await keychain.withSecItem {
            try await manager.save(
                Data("secret".utf8), for: "a", accessibility: kSecAttrAccessibleWhenUnlocked)
            let before = try #require(keychain.copy(reference).result as? Data)
            try keychain.lock()
            await recorder.record {
                #expect(await status { _ = try await manager.load(for: "a") } == -25308)
                #expect(
                    await status {
                        try await manager.save(
                            Data("other".utf8), for: "a",
                            accessibility: kSecAttrAccessibleWhenUnlocked)
                    } == -25308)
                #expect(await status { _ = try await manager.allAccounts() } == -25308)
            }
            try keychain.unlock()
            #expect(try await manager.load(for: "a") == Data("secret".utf8))
            #expect(keychain.copy(reference).result as? Data == before)
            try await manager.save(
                Data("other".utf8), for: "a", accessibility: kSecAttrAccessibleWhenUnlocked)
            #expect(try await manager.load(for: "a") == Data("other".utf8))
        }
        #expect(
            recorder.calls.map(\.function)
                == ["SecItemCopyMatching", "SecItemAdd", "SecItemCopyMatching"])
    }
}
