// Keys of the Secure Enclave over both backends: it is one key, whichever made it.

import Crypto
import Foundation
import KeychainEngine
import KeychainCore
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

    /// The one key of the keychain, without what is its own.
    private func stored() throws -> ItemSnapshot {
        let found = try test.engine.perform(
            FindItems(ItemQuery(itemClass: .key), Retrieval(limit: nil)),
            as: AccessGroups(["default"]))
        #expect(found.count == 1)
        return try #require(found.first)
    }

    @Test(arguments: [
        Keychain.UseCondition.none, .userPresence, .devicePasscode, .biometryAny,
        .biometryCurrentSet,
    ])
    func `both backends store the same item for a key`(
        condition: Keychain.UseCondition
    ) throws {
        test.biometry = TestKeychain.Biometry()
        var items: [ItemSnapshot] = []
        for way in [Way.typedInMemory, .secItemInMemory] {
            try keychain(way).createSecureEnclaveKey(
                "a", accessibility: .whenUnlockedThisDeviceOnly, condition: condition)
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
    func `a key that one backend made is found, used and deleted by the other`(
        maker: Way
    ) throws {
        let other = keychain(maker == .typedInMemory ? .secItemInMemory : .typedInMemory)
        let made = try keychain(maker).createSecureEnclaveKey("a")
        let found = try #require(try other.loadSecureEnclaveKey("a"))
        let message = Data("message".utf8)
        #expect(made.publicKey.isValidSignature(try found.signature(for: message), for: message))
        // The hardware signs 32 bytes: the first of a longer digest, and zeros before a shorter one.
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
}
