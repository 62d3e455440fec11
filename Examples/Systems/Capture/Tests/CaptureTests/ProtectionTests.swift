// ProtectionTests: the stored protection, the effect of a lock, and what another device can read.

import CryptoKit
import Foundation
import KeychainTesting
import Security
import Testing

@testable import Capture

@Suite(.freshKeychain) struct `Protection` {
    private let service = KeychainService()

    @Test
    func `a new item is readable after the first unlock, on this device only, and not synced`()
        throws
    {
        try service.save(Data([1]), forKey: anyKey)
        let stored = try #require(try storedAttributes(forKey: anyKey))
        #expect(
            stored[kSecAttrAccessible as String] as? String
                == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String)
        #expect(stored[kSecAttrSynchronizable as String] as? Bool == false)
        let read = try #require(try service.protection(forKey: anyKey))
        #expect(
            read.accessibility == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String)
        #expect(!read.isSynchronizable)
    }

    @Test func `each value of the app is stored with the default protection`() throws {
        try service.saveDeviceId("6F1")
        try service.saveAttestationKeyId("key")
        try service.saveSymmetricKey(CryptoService.generateKey(), forKey: "rial.encryption.key")
        try service.saveDeviceState(
            DeviceState(
                deviceId: "6F1", attestationLevel: .unverified, hasLidar: false, deviceModel: "m"))
        try service.add(Data([1]), forKey: anyKey)
        for key in KeychainService.Account.all + [anyKey] {
            #expect(
                try service.isProtected(
                    forKey: key, by: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly))
        }
        #expect(try testKeychain.items().count == 5)
    }

    @Test func `a critical item can be restricted to an unlocked device`() throws {
        let accessibility = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        try service.save(Data([1]), forKey: "new", accessibility: accessibility)
        // Saving with another accessibility changes the protection of an existing item.
        try service.save(Data([1]), forKey: "old")
        try service.save(Data([2]), forKey: "old", accessibility: accessibility)
        try service.saveSymmetricKey(
            CryptoService.generateKey(), forKey: "key", accessibility: accessibility)
        for key in ["new", "old", "key"] {
            #expect(try service.isProtected(forKey: key, by: accessibility))
            #expect(
                try !service.isProtected(
                    forKey: key, by: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly))
            let stored = try #require(try storedAttributes(forKey: key))
            #expect(stored[kSecAttrAccessible as String] as? String == accessibility as String)
        }
        #expect(try service.load(forKey: "old") == Data([2]))
    }

    @Test func `saving over a critical item keeps it critical`() throws {
        let accessibility = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        try service.save(Data([1]), forKey: anyKey, accessibility: accessibility)
        try service.save(Data([2]), forKey: anyKey)
        #expect(try service.isProtected(forKey: anyKey, by: accessibility))
        #expect(try service.load(forKey: anyKey) == Data([2]))
    }

    @Test
    func `reading an item's protection opens no secret, and a missing item has no protection`()
        throws
    {
        #expect(try service.protection(forKey: anyKey) == nil)
        #expect(throws: KeychainError.itemNotFound) {
            try service.isProtected(
                forKey: anyKey, by: kSecAttrAccessibleWhenUnlockedThisDeviceOnly)
        }
        try service.save(Data([1]), forKey: anyKey)
        let count = try testKeychain.openedSecretCount
        #expect(try service.protection(forKey: anyKey) != nil)
        #expect(try testKeychain.openedSecretCount == count)
    }

    @Test func `a locked device refuses access to when-unlocked items and returns the other items`()
        throws
    {
        try service.save(Data("plain".utf8), forKey: "plain")
        try service.save(
            Data("old".utf8), forKey: "critical",
            accessibility: kSecAttrAccessibleWhenUnlockedThisDeviceOnly)
        try testKeychain.lock()
        #expect(try service.load(forKey: "plain") == Data("plain".utf8))
        #expect(throws: KeychainError.loadFailed(-25308)) { try service.load(forKey: "critical") }
        #expect(throws: KeychainError.loadFailed(-25308)) {
            try service.protection(forKey: "critical")
        }
        #expect(throws: KeychainError.saveFailed(-25308)) {
            try service.save(
                Data("new".utf8), forKey: "critical",
                accessibility: kSecAttrAccessibleWhenUnlockedThisDeviceOnly)
        }
        try testKeychain.unlock()
        #expect(try service.load(forKey: "critical") == Data("old".utf8))
    }

    @Test func `before the first unlock nothing can be read, and nothing is lost or created`()
        throws
    {
        let key = CryptoService.generateKey()
        let account = KeychainService.Account.encryptionKey
        try service.saveSymmetricKey(key, forKey: account)
        try testKeychain.setPasscode("1234")
        try testKeychain.restart()
        #expect(throws: KeychainError.loadFailed(-25308)) {
            try service.loadSymmetricKey(forKey: account)
        }
        #expect(throws: KeychainError.loadFailed(-25308)) {
            try CaptureDevice(keychain: service).seal(Data([1]))
        }
        #expect(throws: KeychainError.loadFailed(-25308)) {
            try CaptureDevice(keychain: service).register(model: "m", hasLidar: false)
        }
        try testKeychain.unlock()
        #expect(try service.loadSymmetricKey(forKey: account) == key)
        #expect(try testKeychain.items().count == 1)
    }

    // MARK: Another device

    @Test func `another device's keychain has none of the items`() throws {
        let sealed = try CaptureDevice(keychain: service).seal(Data("capture".utf8))
        try service.saveDeviceId("6F1")
        try TestKeychain().withSecItem { () throws -> Void in
            #expect(try service.loadDeviceId() == nil)
            #expect(try service.protection(forKey: KeychainService.Account.deviceId) == nil)
            #expect(throws: CaptureError.encryptionKeyNotFound) {
                try CaptureDevice(keychain: service).open(sealed)
            }
        }
        #expect(
            try CaptureDevice(keychain: service).open(sealed) == Data("capture".utf8))
    }

    @Test
    func `items aren't synchronized, and the app neither loads nor deletes synchronized items`()
        throws
    {
        try service.save(Data("ours".utf8), forKey: anyKey)
        #expect(try storedAttributes(forKey: anyKey, isSynchronizable: true) == nil)
        let synchronized: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "app.rial.keychain",
            kSecAttrAccount as String: anyKey,
            kSecAttrSynchronizable as String: true,
            kSecValueData as String: Data("of another device".utf8),
        ]
        #expect(SecItemAdd(synchronized as CFDictionary, nil) == errSecSuccess)
        #expect(try service.load(forKey: anyKey) == Data("ours".utf8))
        try service.save(Data("new".utf8), forKey: anyKey)
        try service.delete(forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == nil)
        #expect(try storedAttributes(forKey: anyKey, isSynchronizable: true) != nil)
    }
}
