// Protection: what is stored about it, and what it does.

import ExampleTesting
import Foundation
import Keychain
import KeychainServices
import KeychainTesting
import Testing

@testable import Capture

@Suite struct `Protection` {
    @Test(arguments: Place.allCases)
    func `an item is for after the first unlock, this device only, and not synchronized`(
        _ place: Place
    ) throws {
        let service = place.service()
        try service.save(Data([1]), forKey: anyKey)
        let item = try #require(try service.attributes(forKey: anyKey))
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        #expect(!item.isSynchronizable)
        #expect(try service.isProtected(.afterFirstUnlockThisDeviceOnly, forKey: anyKey))
        #expect(try !service.isProtected(.whenUnlockedThisDeviceOnly, forKey: anyKey))
    }

    @Test(arguments: Place.allCases)
    func `a critical item can ask for when unlocked, this device only`(_ place: Place) throws {
        let service = place.service()
        try service.save(Data([1]), forKey: "saved", protection: .whenUnlockedThisDeviceOnly)
        try service.add(Data([1]), forKey: "added", protection: .whenUnlockedThisDeviceOnly)
        try service.saveSymmetricKey(
            CryptoService().generateKey(), forKey: "key", protection: .whenUnlockedThisDeviceOnly)
        for key in ["saved", "added", "key"] {
            #expect(
                try service.attributes(forKey: key)?.accessibility == .whenUnlockedThisDeviceOnly)
            #expect(try service.isProtected(.whenUnlockedThisDeviceOnly, forKey: key))
        }
    }

    @Test func `Apple's functions read the same attributes`() throws {
        let test = TestKeychain()
        let service = KeychainService.quiet(in: test.database)
        for (protection, expected) in [
            (.afterFirstUnlockThisDeviceOnly, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly),
            (.whenUnlockedThisDeviceOnly, kSecAttrAccessibleWhenUnlockedThisDeviceOnly),
        ] as [(KeychainService.Protection, CFString)] {
            try service.save(Data([1]), forKey: anyKey, protection: protection)
            let item = test.withSecItem { () -> [String: Any]? in
                let query: [CFString: Any] = [
                    kSecClass: kSecClassGenericPassword, kSecAttrService: "app.rial.keychain",
                    kSecAttrAccount: anyKey, kSecReturnAttributes: true,
                ]
                var result: CFTypeRef?
                // SAFETY: the result is written within the call.
                let status = unsafe SecItemCopyMatching(query as CFDictionary, &result)
                return status == errSecSuccess ? result as? [String: Any] : nil
            }
            let accessible = item?[kSecAttrAccessible as String] as? String
            #expect(accessible == expected as String)
            #expect(item?[kSecAttrSynchronizable as String] as? Bool != true)
        }
    }

    @Test(arguments: Place.allCases)
    func `the protection of an absent item is not found`(_ place: Place) throws {
        let service = place.service()
        #expect(try service.attributes(forKey: anyKey) == nil)
        let protection = KeychainService.Protection.whenUnlockedThisDeviceOnly
        let error = try #require(
            failure { _ = try service.isProtected(protection, forKey: anyKey) })
        #expect(error.reason == .itemNotFound)
        #expect(error.status == -25300)
    }

    @Test func `a locked device keeps what is for when unlocked, and gives the rest`() throws {
        let test = TestKeychain()
        let service = KeychainService.quiet(in: test.database)
        try service.save(Data("plain".utf8), forKey: "plain")
        try service.save(
            Data("old".utf8), forKey: "critical", protection: .whenUnlockedThisDeviceOnly)
        try test.lock()
        #expect(try service.load(forKey: "plain") == Data("plain".utf8))
        let load = failure { _ = try service.load(forKey: "critical") }
        #expect(load?.reason == .loadFailed)
        #expect(load?.status == -25308)
        let save = failure {
            try service.save(
                Data("new".utf8), forKey: "critical", protection: .whenUnlockedThisDeviceOnly)
        }
        #expect(save?.reason == .saveFailed)
        #expect(save?.status == -25308)
        try test.unlock()
        #expect(try service.load(forKey: "critical") == Data("old".utf8))
    }

    @Test func `before the first unlock nothing can be read, and nothing is lost`() throws {
        let test = TestKeychain()
        let service = KeychainService.quiet(in: test.database)
        try service.save(Data("plain".utf8), forKey: "plain")
        try test.setPasscode("1234")
        try test.restart()
        #expect(failure { _ = try service.load(forKey: "plain") }?.status == -25308)
        try test.unlock()
        #expect(try service.load(forKey: "plain") == Data("plain".utf8))
    }

    @Test func `the files hold the secret in encrypted form only`() throws {
        let folder = TemporaryFolder.new()
        let secret = Data("a secret of this device".utf8)
        let service = KeychainService.quiet(in: KeychainDatabase(directory: folder))
        try service.save(secret, forKey: KeychainService.Account.encryptionKey)
        let files = try FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil)
        let contents = try files.map { try Data(contentsOf: $0) }
        #expect(contents.joined().count > secret.count)
        for text in [secret, Data(KeychainService.Account.encryptionKey.utf8)] {
            #expect(contents.allSatisfy { $0.range(of: text) == nil })
        }
    }

    @Test func `a copy of the files is useless with another device's key`() throws {
        let (here, there) = (TemporaryFolder.new(), TemporaryFolder.new())
        let service = KeychainService.quiet(in: KeychainDatabase(directory: here))
        try service.save(Data("secret".utf8), forKey: anyKey)
        // The other device has a keychain of its own, and gets the backup over it.
        let other = TemporaryFolder.new()
        try KeychainService.quiet(in: KeychainDatabase(directory: other))
            .save(Data("theirs".utf8), forKey: anyKey)
        try FileManager.default.createDirectory(
            at: there, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        for name in try FileManager.default.contentsOfDirectory(atPath: here.path) {
            let source = name == "device.key" ? other : here
            try FileManager.default.copyItem(
                at: source.appending(path: name), to: there.appending(path: name))
        }
        let copy = KeychainService.quiet(in: KeychainDatabase(directory: there))
        #expect(throws: KeychainError.self) { _ = try copy.load(forKey: anyKey) }
        #expect(try service.load(forKey: anyKey) == Data("secret".utf8))
    }
}
