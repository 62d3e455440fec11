// ManagerTests: tests KeychainManager with a keychain in memory, which can be made to fail.

import CryptoKit
import Foundation
import KeychainTesting
import SecItemFundamentals
import Security
import Testing

@Suite struct ManagerTests {
    let keychain = TestKeychain()
    let manager = KeychainManager(service: service)

    @Test func `a saved secret is loaded, is changed by saving again and is gone when deleted`()
        async throws
    {
        try await keychain.withSecItem {
            #expect(try await manager.load(for: "alice") == nil)
            try await manager.save(Data("first".utf8), for: "alice")
            #expect(try await manager.load(for: "alice") == Data("first".utf8))
            try await manager.save(Data("second".utf8), for: "alice")
            #expect(try await manager.load(for: "alice") == Data("second".utf8))
            try await manager.delete(key: "alice")
            #expect(try await manager.load(for: "alice") == nil)
            try await manager.delete(key: "alice")
        }
    }

    @Test func `saving over an item updates it in place`() async throws {
        func item() throws -> (reference: Data, created: Date, modified: Date) {
            let search = KeychainQueryBuilder.buildSearch(
                query("alice"), returning: [.attributes, .persistentReference], limit: .one)
            let found = try #require(keychain.copy(search).result as? [String: Any])
            return (
                try #require(found[kSecValuePersistentRef as String] as? Data),
                try #require(found[kSecAttrCreationDate as String] as? Date),
                try #require(found[kSecAttrModificationDate as String] as? Date)
            )
        }
        try await keychain.withSecItem {
            try await manager.save(Data("1".utf8), for: "alice")
            let before = try item()
            try await manager.save(Data("2".utf8), for: "alice")
            let after = try item()
            #expect(after.reference == before.reference)
            #expect(after.created == before.created)
            #expect(after.modified > before.modified)
        }
    }

    @Test func `accounts are listed without opening a secret`() async throws {
        try await keychain.withSecItem {
            for account in ["c", "a", "b"] { try await manager.save(Data(), for: account) }
            #expect(try await manager.allAccounts() == ["a", "b", "c"])
        }
        #expect(keychain.openedSecretCount == 0)
        try await keychain.withSecItem { _ = try await manager.load(for: "a") }
        #expect(keychain.openedSecretCount == 1)
    }

    @Test func `an item without data is not reported as absent`() async throws {
        #expect(keychain.withSecItem { SecItem.add(query("a")) } == errSecSuccess)
        await keychain.withSecItem {
            #expect(
                await status { _ = try await manager.load(for: "a") } == errSecDataNotAvailable)
        }
    }

    // MARK: Serialization

    /// Each concurrent save is an addition that finds a duplicate, followed by an update. If the
    /// saves were not carried out one at a time, a call of one save could occur between the two
    /// calls of another.
    @Test func `concurrent saves are carried out one at a time, and none is lost`()
        async throws
    {
        let recorder = Recorder()
        try await keychain.withSecItem {
            for number in 0..<10 { try await manager.save(Data(), for: "\(number)") }
            try await recorder.record {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<50 {
                        group.addTask {
                            try await manager.save(
                                Data("\(number)".utf8), for: "\(number % 10)")
                        }
                    }
                    try await group.waitForAll()
                }
            }
            for number in 0..<10 {
                let data = try #require(try await manager.load(for: "\(number)"))
                let last = try #require(Int(String(decoding: data, as: UTF8.self)))
                #expect(last % 10 == number)
            }
        }
        let functions = recorder.calls.map(\.function)
        #expect(functions.count == 100)
        #expect(
            functions
                == (0..<50).flatMap { _ in ["SecItemAdd", "SecItemUpdate"] })
        #expect(recorder.calls.allSatisfy { $0.queue == "KeychainManager" })
    }

    // MARK: Failures

    @Test(arguments: [errSecUserCanceled, errSecAuthFailed, errSecMissingEntitlement, -34])
    func `an unexpected status is thrown unchanged by all four methods`(status expected: OSStatus)
        async throws
    {
        keychain.inject(.failure(.init(rawValue: expected)))
        await keychain.withSecItem {
            let statuses = [
                await status { _ = try await manager.load(for: "alice") },
                await status { try await manager.save(Data(), for: "alice") },
                await status { try await manager.delete(key: "alice") },
                await status { _ = try await manager.allAccounts() },
            ]
            #expect(statuses == [expected, expected, expected, expected])
        }
    }

    @Test func `an item that another process deletes during a save is added again`()
        async throws
    {
        let recorder = Recorder()
        try await keychain.withSecItem {
            try await manager.save(Data("1".utf8), for: "alice")
            try await SecItem.$observer.withValue({ call in
                if call.function == "SecItemAdd", call.status == errSecDuplicateItem {
                    // Simulate a deletion by another process before the update.
                    #expect(keychain.delete(query("alice")) == errSecSuccess)
                }
            }) {
                try await manager.save(Data("2".utf8), for: "alice")
            }
            #expect(try await manager.load(for: "alice") == Data("2".utf8))
            try await recorder.record { try await manager.save(Data("3".utf8), for: "alice") }
        }
        #expect(recorder.calls.map(\.status) == [errSecDuplicateItem, errSecSuccess])
    }

    @Test func `a save that can't update reports the status of the update`() async throws {
        try await keychain.withSecItem {
            try await manager.save(Data("1".utf8), for: "alice")
            keychain.inject(.diskFull, into: .update, times: 1)
            #expect(await status { try await manager.save(Data("2".utf8), for: "alice") } == -34)
            #expect(try await manager.load(for: "alice") == Data("1".utf8))
        }
    }

    // MARK: Logs

    @Test func `a log contains functions, dictionary keys and statuses, but no values`()
        async throws
    {
        let recorder = Recorder()
        let manager = KeychainManager(service: "SERVICE-7")
        try await keychain.withSecItem {
            try await recorder.record {
                try await manager.save(Data("SECRET-7".utf8), for: "ACCOUNT-7")
                try await manager.save(Data("SECRET-7".utf8), for: "ACCOUNT-7")
                _ = try await manager.load(for: "ACCOUNT-7")
                _ = try await manager.allAccounts()
                try await manager.delete(key: "ACCOUNT-7")
            }
        }
        #expect(
            recorder.calls.map(\.description) == [
                "SecItemAdd [acct class nleg pdmn svce v_Data] 0",
                "SecItemAdd [acct class nleg pdmn svce v_Data] -25299",
                "SecItemUpdate [acct class nleg svce] [pdmn v_Data] 0",
                "SecItemCopyMatching [acct class m_Limit nleg r_Data svce] 0",
                "SecItemCopyMatching [class m_Limit nleg r_Attributes svce] 0",
                "SecItemDelete [acct class nleg svce] 0",
            ])
    }

    @Test func `an error shows neither the secret nor the account nor the service`() async throws {
        let manager = KeychainManager(service: "SERVICE-7")
        keychain.inject(.denied)
        await keychain.withSecItem {
            do {
                try await manager.save(Data("SECRET-7".utf8), for: "ACCOUNT-7")
                Issue.record("The save was not refused.")
            } catch {
                var dumped = ""
                dump(error, to: &dumped)
                let text = "\(error) \(error.localizedDescription) \(dumped)"
                #expect(text.contains("-25293"))
                #expect(!text.contains("-7"))
            }
        }
    }

    // MARK: CryptoKit

    @Test func `a loaded symmetric key opens what was sealed before the key was saved`()
        async throws
    {
        let key = SymmetricKey(size: .bits256)
        let sealed = try AES.GCM.seal(Data("message".utf8), using: key)
        try await keychain.withSecItem {
            try await manager.save(key: key, for: "key")
            let loaded = try #require(
                try await manager.load(key: SymmetricKey.self, for: "key"))
            #expect(try AES.GCM.open(sealed, using: loaded) == Data("message".utf8))
            #expect(try await manager.load(key: SymmetricKey.self, for: "none") == nil)
            try await manager.save(Data(), for: "key")
            await #expect(throws: CryptoKitError.self) {
                try await manager.load(key: SymmetricKey.self, for: "key")
            }
        }
    }

    @Test func `a P-256 key loads as it was saved, and other bytes cause an error`()
        async throws
    {
        let key = P256.Signing.PrivateKey()
        try await keychain.withSecItem {
            try await manager.save(key: key, for: "key")
            let loaded = try #require(
                try await manager.load(key: P256.Signing.PrivateKey.self, for: "key"))
            #expect(loaded.rawRepresentation == key.rawRepresentation)
            try await manager.save(Data("no key".utf8), for: "key")
            await #expect(throws: CryptoKitError.self) {
                try await manager.load(key: P256.Signing.PrivateKey.self, for: "key")
            }
            #expect(try await manager.load(for: "key") == Data("no key".utf8))
        }
    }
}
