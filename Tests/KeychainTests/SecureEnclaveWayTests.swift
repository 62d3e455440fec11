// Keys of the Secure Enclave, through the engine and through the SecItem functions. Keys created
// through one of them can be used through the other.

#if !canImport(Darwin)

import Crypto
import Foundation
import KeychainEngine
import KeychainAuthentication
import KeychainCore
import KeychainSecItem
import KeychainTesting
import Testing

@testable import Keychain

@Suite struct SecureEnclaveWayTests {
    private let test = TestKeychain()

    init() throws {
        test.hasSecureEnclave = true
        test.now = Date(timeIntervalSinceReferenceDate: 0)
        try test.setPasscode("1234")
        test.person = .owner
    }

    private func keychain(_ way: Way) -> Keychain {
        Keychain(
            service: "s", in: way == .typedInMemory ? test.database : test.secItemDatabase)
    }

    /// The only key in the keychain, with its attributes but without its data.
    private func stored() throws -> ItemSnapshot {
        let found = try test.engine.perform(
            FindItems(ItemQuery(itemClass: .key), Retrieval(limit: nil)),
            as: AccessGroups(["default"]))
        #expect(found.count == 1)
        return try #require(found.first)
    }

    @Test(arguments: [Way.typedInMemory, .secItemInMemory])
    func `a context supplies the password of a new key`(way: Way) throws {
        test.person = TestKeychain.Person(passcodes: [])
        let context = LAContext()
        #expect(context.setCredential(Data("open".utf8), type: .applicationPassword))
        let keychain = keychain(way).authenticating(with: context)
        let key = try keychain.createSecureEnclaveKey(
            "a", accessibility: .whenUnlockedThisDeviceOnly, accessControl: .applicationPassword)
        let message = Data("message".utf8)
        #expect(
            try key.publicKey.isValidSignature(key.signature(for: message), for: message))
        #expect(test.askedQuestions.isEmpty)
    }

    @Test func `a service and a server with the same name have different keys`() throws {
        let keychains = [
            Keychain(service: "host", in: test.database),
            Keychain(server: Keychain.Server("host"), in: test.database),
            Keychain(server: Keychain.Server("host", port: 1), in: test.database),
            Keychain(server: Keychain.Server("host", path: "1"), in: test.database),
        ]
        for (index, keychain) in keychains.enumerated() {
            try keychain.createSecureEnclaveKey("a")
            let found = try keychains.indices.filter {
                try keychains[$0].loadSecureEnclaveKey("a") != nil
            }
            #expect(found == [index])
            #expect(try keychain.deleteSecureEnclaveKey("a"))
        }
        for keychain in keychains { try keychain.createSecureEnclaveKey("a") }
        #expect(try keychains[1].deleteSecureEnclaveKey("a"))
        let left = try keychains.map { try $0.loadSecureEnclaveKey("a") != nil }
        #expect(left == [true, false, true, true])
    }

    @Test(arguments: [
        nil, Keychain.AccessControl.userPresence, .devicePasscode, .biometryAny,
        .biometryCurrentSet, .applicationPassword, .devicePasscode.withApplicationPassword,
    ])
    func `the engine and the SecItem functions store the same item for a key`(
        accessControl: Keychain.AccessControl?
    ) throws {
        test.biometry = TestKeychain.Biometry()
        test.person = TestKeychain.Person(applicationPassword: "open")
        var items: [ItemSnapshot] = []
        for way in [Way.typedInMemory, .secItemInMemory] {
            try keychain(way).createSecureEnclaveKey(
                "a", accessibility: .whenUnlockedThisDeviceOnly, accessControl: accessControl)
            items.append(try stored())
            #expect(try keychain(way).deleteSecureEnclaveKey("a"))
        }
        #expect(items[0].attributes == items[1].attributes)
        #expect(items[0].constraints == items[1].constraints)
        #expect(items[0].protection == items[1].protection)
        #expect(items[0].accessGroup == items[1].accessGroup)
        #expect(items[0].isSynchronizable == items[1].isSynchronizable)
    }

    @Test(arguments: [Way.typedInMemory, .secItemInMemory])
    func `a key made through the engine is found, used and deleted through SecItem, and vice versa`(
        maker: Way
    ) throws {
        let other = keychain(maker == .typedInMemory ? .secItemInMemory : .typedInMemory)
        let made = try keychain(maker).createSecureEnclaveKey("a")
        let found = try #require(try other.loadSecureEnclaveKey("a"))
        let message = Data("message".utf8)
        #expect(made.publicKey.isValidSignature(try found.signature(for: message), for: message))
        // The hardware signs 32 bytes: the first 32 bytes of a longer digest, or a shorter digest
        // with leading zeros.
        let long = SHA384.hash(data: message)
        #expect(made.publicKey.isValidSignature(try found.signature(for: long), for: long))
        let short = Insecure.SHA1.hash(data: message)
        #expect(made.publicKey.isValidSignature(try found.signature(for: short), for: short))
        let peer = P256.KeyAgreement.PrivateKey()
        #expect(
            try found.sharedSecret(with: peer.publicKey)
                == peer.sharedSecretFromKeyAgreement(with: made.agreementPublicKey))
        #expect(try other.deleteSecureEnclaveKey("a"))
        #expect(try keychain(maker).loadSecureEnclaveKey("a") == nil)
    }

    @Test(arguments: [Way.typedInMemory, .secItemInMemory])
    func `a key object still works after its item was deleted`(way: Way) throws {
        let keychain = keychain(way)
        let made = try keychain.createSecureEnclaveKey("a")
        let loaded = try #require(try keychain.loadSecureEnclaveKey("a"))
        #expect(try keychain.deleteSecureEnclaveKey("a"))
        let message = Data("message".utf8)
        for key in [made, loaded] {
            let signature = try key.signature(for: message)
            #expect(made.publicKey.isValidSignature(signature, for: message))
        }
    }

    @Test func `a second SecItem handler finds a key by the reference in the key's blob`() throws {
        let first = SecItemHandler { test.connection }
        let second = SecItemHandler { test.connection }
        let caller = AccessGroups(["default"])
        try Keychain(service: "s", in: test.secItemDatabase).createSecureEnclaveKey("a")
        let query = ItemQuery(itemClass: .key, attributes: [.label: .string("a")])
        let found = try first.perform(
            FindItems(query, Retrieval(includesData: true)), as: caller
        ).first
        let blob = try #require(found?.data)
        let digest = Data(SHA256.hash(data: Data("message".utf8)))
        #expect(try second.perform(SignDigest(digest, with: blob), as: caller).count == 64)
        #expect(throws: KeychainFailure.damagedSecureEnclaveKey) {
            try second.perform(SignDigest(digest, with: Data("no blob".utf8)), as: caller)
        }
        // Only a key created on this hardware can be stored.
        let imported = NewItem(
            itemClass: .key, attributes: [.label: .string("b")], data: blob + [0])
        #expect(throws: KeychainFailure.self) {
            try second.perform(AddItem(imported), as: caller)
        }
    }

    @Test func `with the SecItem functions a key can be stored after many others were`() throws {
        let handler = SecItemHandler { test.connection }
        let caller = AccessGroups(["default"])
        func make() throws -> Data {
            let new = NewSecureEnclaveKey(constraints: .privateKeyUsage)
            return try handler.perform(MakeSecureEnclaveKey(new), as: caller).blob
        }
        func store(_ blob: Data, _ label: String) throws {
            let item = NewItem(
                itemClass: .key, attributes: [.label: .string(label)],
                constraints: .privateKeyUsage, data: blob)
            _ = try handler.perform(AddItem(item), as: caller)
        }
        let first = try make()
        // The handler holds at most 64 keys that were stored or found.
        for number in 1...65 { try store(try make(), "\(number)") }
        try store(first, "first")
        let digest = Data(SHA256.hash(data: Data("message".utf8)))
        let query = ItemQuery(itemClass: .key, attributes: [.label: .string("first")])
        let found = try handler.perform(
            FindItems(query, Retrieval(includesData: true)), as: caller
        ).first
        let blob = try #require(found?.data)
        #expect(found?.hasData == true)
        #expect(try handler.perform(SignDigest(digest, with: blob), as: caller).count == 64)
    }

    @Test func `with the SecItem functions a key can be stored after a failed attempt`() throws {
        let handler = SecItemHandler { test.connection }
        let caller = AccessGroups(["default"])
        let new = NewSecureEnclaveKey(constraints: .privateKeyUsage)
        let made = try handler.perform(MakeSecureEnclaveKey(new), as: caller)
        let item = NewItem(
            itemClass: .key, attributes: [.label: .string("a")], constraints: .privateKeyUsage,
            data: made.blob)
        test.inject(.locked, into: .add, times: 1)
        let locked = #expect(throws: KeychainFailure.self) {
            try handler.perform(AddItem(item), as: caller)
        }
        #expect(locked?.status == .interactionNotAllowed)
        let added = try handler.perform(AddItem(item), as: caller)
        let digest = Data(SHA256.hash(data: Data("message".utf8)))
        let blob = try #require(added.data)
        #expect(try handler.perform(SignDigest(digest, with: blob), as: caller).count == 64)
        // The stored key has a new blob, so the handler no longer knows the blob that the key had
        // before it was stored.
        let again = #expect(throws: KeychainFailure.self) {
            try handler.perform(AddItem(item), as: caller)
        }
        #expect(again?.status == .param)
    }
}

#endif
