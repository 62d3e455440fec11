// StoreTests: tests SecKeyStore and GenericPasswordStore with a keychain in memory, which can be
// locked and made to fail.

import CryptoKit
import Foundation
import KeyStores
import KeychainTesting
import LocalAuthentication
import Security
import Testing

@Suite struct SecKeyStoreTests {
    let keychain = TestKeychain()
    let store = SecKeyStore()

    @Test func `a key of every kind comes back as it was stored`() throws {
        try keychain.withSecItem {
            try roundTrip(P256.Signing.PrivateKey())
            try roundTrip(P256.KeyAgreement.PrivateKey())
            try roundTrip(P384.Signing.PrivateKey())
            try roundTrip(P384.KeyAgreement.PrivateKey())
            try roundTrip(P521.Signing.PrivateKey())
            try roundTrip(P521.KeyAgreement.PrivateKey())
        }
    }

    private func roundTrip<Key: SecKeyConvertible>(_ key: Key) throws {
        #expect(try store.read(Key.self, label: "label") == nil)
        try store.store(key, label: "label")
        let loaded = try store.read(Key.self, label: "label")
        #expect(loaded?.x963Representation == key.x963Representation)
        #expect(try store.read(Key.self, label: "other") == nil)
        try store.delete(Key.self, label: "label")
        #expect(try store.read(Key.self, label: "label") == nil)
        try store.delete(Key.self, label: "label")
    }

    @Test func `storing a second key of the same size and label fails and keeps the first key`()
        throws
    {
        let first = P256.Signing.PrivateKey()
        try keychain.withSecItem {
            try store.store(first, label: "label")
            #expect(throws: SecurityError(errSecDuplicateItem)) {
                try store.store(P256.Signing.PrivateKey(), label: "label")
            }
            let large = P384.Signing.PrivateKey()
            try store.store(large, label: "label")
            #expect(
                try store.read(P256.Signing.PrivateKey.self, label: "label")?.rawRepresentation
                    == first.rawRepresentation)
            #expect(
                try store.read(P384.Signing.PrivateKey.self, label: "label")?.rawRepresentation
                    == large.rawRepresentation)
        }
    }

    @Test func `the original public key verifies a signature by the stored key`() throws {
        let key = P384.Signing.PrivateKey()
        let message = Data("message".utf8)
        try keychain.withSecItem {
            try store.store(key, label: "label")
            let secKey = try #require(
                try store.reference(to: P384.Signing.PrivateKey.self, label: "label"))
            let signature = try #require(
                SecKeyCreateSignature(
                    secKey, .ecdsaSignatureMessageX962SHA384, message as CFData, nil) as Data?)
            #expect(
                key.publicKey.isValidSignature(
                    try P384.Signing.ECDSASignature(derRepresentation: signature), for: message))
        }
    }

    @Test func `reading a key from a locked keychain reports the lock and keeps the key`() throws {
        let key = P256.Signing.PrivateKey()
        try keychain.setPasscode("1234")
        try keychain.withSecItem {
            try store.store(key, label: "label")
            try keychain.lock()
            #expect(throws: SecurityError(errSecInteractionNotAllowed)) {
                try store.read(P256.Signing.PrivateKey.self, label: "label")
            }
            try keychain.unlock()
            #expect(
                try store.read(P256.Signing.PrivateKey.self, label: "label")?.rawRepresentation
                    == key.rawRepresentation)
        }
    }

    @Test func `if storing a key fails, nothing is left in the keychain`() throws {
        keychain.inject(.diskFull, times: 1)
        try keychain.withSecItem {
            #expect(throws: SecurityError(errSecDiskFull)) {
                try store.store(P256.Signing.PrivateKey(), label: "label")
            }
            let left = try store.read(P256.Signing.PrivateKey.self, label: "label")
            #expect(left == nil)
        }
        #expect(try keychain.items().isEmpty)
    }
}

@Suite struct GenericPasswordStoreTests {
    let keychain = TestKeychain()
    let store = GenericPasswordStore(service: "service")

    @Test func `a key of every kind comes back as it was stored`() throws {
        try keychain.withSecItem {
            try roundTrip(Curve25519.Signing.PrivateKey())
            try roundTrip(Curve25519.KeyAgreement.PrivateKey())
            try roundTrip(SymmetricKey(size: .bits128))
            try roundTrip(SymmetricKey(size: .bits256))
        }
    }

    private func roundTrip<Key: GenericPasswordConvertible>(_ key: Key) throws {
        #expect(try store.read(Key.self, account: "account") == nil)
        try store.store(key, account: "account")
        let loaded = try store.read(Key.self, account: "account")
        #expect(loaded?.rawRepresentation == key.rawRepresentation)
        #expect(try store.contains(account: "account"))
        try store.delete(account: "account")
        #expect(try !store.contains(account: "account"))
        try store.delete(account: "account")
    }

    @Test func `reading a key as another type throws CryptoKit's error and keeps the key`() throws {
        let key = SymmetricKey(size: .bits128)
        try keychain.withSecItem {
            try store.store(key, account: "account")
            #expect(throws: CryptoKitError.self) {
                try store.read(Curve25519.Signing.PrivateKey.self, account: "account")
            }
            #expect(try store.read(SymmetricKey.self, account: "account") == key)
        }
    }

    @Test func `a key protected by an application password can be read only with that password`()
        throws
    {
        let key = SymmetricKey(size: .bits256)
        let accessControl = try #require(
            SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlocked, [.applicationPassword], nil))
        try keychain.withSecItem {
            try store.store(
                key, account: "account", accessControl: accessControl, context: context("right"))
            #expect(
                try store.read(SymmetricKey.self, account: "account", context: context("right"))
                    == key)
            #expect(throws: SecurityError(errSecAuthFailed)) {
                try store.read(SymmetricKey.self, account: "account", context: context("wrong"))
            }
            #expect(throws: SecurityError(errSecInteractionNotAllowed)) {
                try store.read(SymmetricKey.self, account: "account", context: context(nil))
            }
            #expect(try store.contains(account: "account"))
        }
    }

    @Test func `a key that requires user presence can be read only after the owner authenticates`()
        throws
    {
        let key = SymmetricKey(size: .bits256)
        let accessControl = try #require(
            SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlocked, [.userPresence], nil))
        try keychain.setPasscode("1234")
        try keychain.withSecItem {
            try store.store(key, account: "account", accessControl: accessControl)
            #expect(throws: SecurityError(errSecInteractionNotAllowed)) {
                try store.read(SymmetricKey.self, account: "account")
            }
            keychain.person = .declining
            #expect(throws: SecurityError(errSecUserCanceled)) {
                try store.read(SymmetricKey.self, account: "account")
            }
            keychain.person = .stranger
            #expect(throws: SecurityError(errSecAuthFailed)) {
                try store.read(SymmetricKey.self, account: "account")
            }
            keychain.person = .owner
            let context = LAContext()
            let before = keychain.askedQuestions.count
            for _ in 0..<2 {
                #expect(
                    try store.read(SymmetricKey.self, account: "account", context: context)
                        == key)
            }
            #expect(keychain.askedQuestions.count == before + 1)
            #expect(try store.contains(account: "account"))
            #expect(keychain.askedQuestions.count == before + 1)
        }
    }

    private func context(_ password: String?) -> LAContext {
        let context = LAContext()
        context.interactionNotAllowed = true
        if let password {
            context.setCredential(Data(password.utf8), type: .applicationPassword)
        }
        return context
    }
}
