// ManagerTests: the manager over a keychain in memory, which can be locked and made to fail.

import CryptoKit
import Foundation
import KeychainTesting
import SecItemFundamentals
import Security
import Synchronization
import Testing

@Suite struct ManagerTests {
    let keychain = TestKeychain()
    let manager = KeychainManager(queries)

    @Test func `a saved secret loads, is changed by saving again and is gone when deleted`()
        async throws
    {
        try await keychain.withSecItem {
            #expect(try await manager.load(account: "alice") == nil)
            try await manager.save(Data("first".utf8), account: "alice")
            #expect(try await manager.load(account: "alice") == Data("first".utf8))
            try await manager.save(Data("second".utf8), account: "alice")
            #expect(try await manager.load(account: "alice") == Data("second".utf8))
            try await manager.delete(account: "alice")
            #expect(try await manager.load(account: "alice") == nil)
            try await manager.delete(account: "alice")
        }
    }

    @Test func `saving over an item updates it in place`() async throws {
        let query = queries.search(
            queries.item(of: "alice"), returning: [.attributes, .persistentReference], limit: .one)
        func item() throws -> (reference: Data, created: Date, modified: Date) {
            var result: CFTypeRef?
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
            let found = try #require(result as? [String: Any])
            return (
                try #require(found[kSecValuePersistentRef as String] as? Data),
                try #require(found[kSecAttrCreationDate as String] as? Date),
                try #require(found[kSecAttrModificationDate as String] as? Date)
            )
        }
        try await keychain.withSecItem {
            try await manager.save(Data("1".utf8), account: "alice")
            let before = try item()
            try await manager.save(Data("2".utf8), account: "alice")
            let after = try item()
            #expect(after.reference == before.reference)
            #expect(after.created == before.created)
            #expect(after.modified > before.modified)
        }
    }

    @Test func `accounts are listed without opening a secret`() async throws {
        try await keychain.withSecItem {
            for account in ["c", "a", "b"] { try await manager.save(Data(), account: account) }
            #expect(try await manager.listAccounts() == ["a", "b", "c"])
        }
        #expect(keychain.openedSecretCount == 0)
        try await keychain.withSecItem { _ = try await manager.load(account: "a") }
        #expect(keychain.openedSecretCount == 1)
    }

    @Test func `of many saves at once none is lost`() async throws {
        try await keychain.withSecItem {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        try await manager.save(Data("\(number)".utf8), account: "\(number % 10)")
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await manager.listAccounts().count == 10)
        }
    }

    @MainActor
    @Test func `the manager never works on the main thread`() async throws {
        let threads = Mutex<[Bool]>([])
        let manager = KeychainManager(queries) { _ in
            threads.withLock { $0.append(Thread.isMainThread) }
        }
        try await keychain.withSecItem {
            try await manager.save(Data(), account: "alice")
            _ = try await manager.listAccounts()
        }
        #expect(threads.withLock { $0 } == [false, false])
    }

    @Test func `a log holds calls, keys and statuses and no value`() async throws {
        let lines = Mutex<[String]>([])
        let manager = KeychainManager(QueryBuilder(service: "SERVICE-7")) { line in
            lines.withLock { $0.append(line) }
        }
        try await keychain.withSecItem {
            try await manager.save(Data("SECRET-7".utf8), account: "ACCOUNT-7")
            try await manager.save(Data("SECRET-7".utf8), account: "ACCOUNT-7")
            _ = try await manager.load(account: "ACCOUNT-7")
            _ = try await manager.listAccounts()
            try await manager.delete(account: "ACCOUNT-7")
        }
        let log = lines.withLock { $0 }
        #expect(log.count == 6)
        #expect(log.last == "SecItemDelete [acct class nleg svce] 0")
        #expect(log[1] == "SecItemAdd [acct class nleg pdmn svce v_Data] -25299")
        for line in log { #expect(!line.contains("-7]") && !line.contains("-7 ")) }
        #expect(!log.joined().contains("SECRET"))
        #expect(!log.joined().contains("ACCOUNT"))
        #expect(!log.joined().contains("SERVICE"))
    }

    // MARK: Locked, denied, cancelled

    @Test func `a locked device is reported and nothing is deleted or made anew`() async throws {
        try await keychain.withSecItem {
            try await manager.save(
                Data("secret".utf8), account: "alice", accessibility: .whenUnlocked)
            try keychain.lock()
            #expect(await status { _ = try await manager.load(account: "alice") } == -25308)
            #expect(
                await status {
                    try await manager.save(
                        Data("other".utf8), account: "alice", accessibility: .whenUnlocked)
                } == -25308)
            #expect(await status { _ = try await manager.listAccounts() } == -25308)
            try keychain.unlock()
            #expect(try await manager.load(account: "alice") == Data("secret".utf8))
        }
    }

    @Test(arguments: [errSecUserCanceled, errSecAuthFailed, errSecMissingEntitlement, -34])
    func `a status that is no answer is thrown as it is`(status expected: OSStatus) async throws {
        keychain.inject(.failure(.init(rawValue: expected)))
        await keychain.withSecItem {
            let statuses = [
                await status { _ = try await manager.load(account: "alice") },
                await status { try await manager.save(Data(), account: "alice") },
                await status { try await manager.delete(account: "alice") },
                await status { _ = try await manager.listAccounts() },
            ]
            #expect(statuses == [expected, expected, expected, expected])
        }
    }

    @Test func `an item that another process deletes during a save is added after all`()
        async throws
    {
        try await keychain.withSecItem {
            try await manager.save(Data("1".utf8), account: "alice")
            keychain.inject(.failure(.init(rawValue: errSecItemNotFound)), into: .update, times: 1)
            try await manager.save(Data("2".utf8), account: "alice")
            #expect(try await manager.load(account: "alice") == Data("2".utf8))
        }
    }

    // MARK: Protection

    @Test(arguments: Accessibility.allCases)
    func `an item has the accessibility that was asked for`(_ accessibility: Accessibility)
        async throws
    {
        try keychain.setPasscode("1234")
        try await keychain.withSecItem {
            try await manager.save(Data(), account: "a", accessibility: .afterFirstUnlock)
            try await manager.save(Data(), account: "a", accessibility: accessibility)
        }
        #expect(
            try keychain.items().map(\.accessibility.rawValue)
                == [accessibility.attribute as String])
    }

    @Test(arguments: Accessibility.allCases)
    func `an item is readable in the states that its accessibility names`(
        _ accessibility: Accessibility
    ) async throws {
        try keychain.setPasscode("1234")
        let isAfterFirstUnlock =
            accessibility == .afterFirstUnlock || accessibility == .afterFirstUnlockThisDeviceOnly
        try await keychain.withSecItem {
            try await manager.save(Data(), account: "a", accessibility: accessibility)
            try keychain.lock()
        }
        await keychain.withSecItem {
            let whileLocked = await status { _ = try await manager.load(account: "a") }
            #expect(whileLocked == (isAfterFirstUnlock ? errSecSuccess : -25308))
        }
        try keychain.restart()
        try await keychain.withSecItem {
            #expect(await status { _ = try await manager.load(account: "a") } == -25308)
            try keychain.unlock()
            #expect(try await manager.load(account: "a") == Data())
        }
    }

    @Test func `an item that needs a passcode vanishes with the passcode`() async throws {
        try await keychain.withSecItem {
            let early = await status {
                try await manager.save(
                    Data(), account: "late", accessibility: .whenPasscodeSetThisDeviceOnly)
            }
            #expect(early == errSecAuthFailed)
            try keychain.setPasscode("1234")
            try await manager.save(
                Data(), account: "late", accessibility: .whenPasscodeSetThisDeviceOnly)
            try await manager.save(Data(), account: "plain")
            #expect(try await manager.listAccounts() == ["late", "plain"])
            #expect(try keychain.removePasscode() == 1)
            #expect(try await manager.listAccounts() == ["plain"])
        }
    }

    // MARK: CryptoKit

    @Test func `a loaded symmetric key opens what was sealed before it was saved`() async throws {
        let key = SymmetricKey(size: .bits256)
        let sealed = try AES.GCM.seal(Data("message".utf8), using: key)
        try await keychain.withSecItem {
            try await manager.save(key: key, account: "key")
            let loaded = try #require(
                try await manager.load(key: SymmetricKey.self, account: "key"))
            #expect(try AES.GCM.open(sealed, using: loaded) == Data("message".utf8))
            try await manager.save(Data(), account: "key")
            await #expect(throws: CryptoKitError.self) {
                try await manager.load(key: SymmetricKey.self, account: "key")
            }
        }
    }

    @Test func `a loaded P-256 key is the one that was saved, and other bytes are an error`()
        async throws
    {
        let key = P256.Signing.PrivateKey()
        try await keychain.withSecItem {
            try await manager.save(key: key, account: "key")
            let loaded = try #require(
                try await manager.load(key: P256.Signing.PrivateKey.self, account: "key"))
            #expect(loaded.rawRepresentation == key.rawRepresentation)
            try await manager.save(Data("no key".utf8), account: "key")
            await #expect(throws: (any Error).self) {
                try await manager.load(key: P256.Signing.PrivateKey.self, account: "key")
            }
            #expect(try await manager.load(account: "key") == Data("no key".utf8))
        }
    }

    nonisolated(nonsending) private func status(of body: () async throws -> Void) async -> OSStatus?
    {
        do {
            try await body()
            return errSecSuccess
        } catch {
            return (error as? SecurityError)?.status
        }
    }
}
