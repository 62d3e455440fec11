// SecKeyCreationTests: the parameters for creating keys, and the key items that are stored.

#if !canImport(Darwin)

import Foundation
import KeychainRuntime
import KeychainAsymmetricKeys
import KeychainAuthentication
import KeychainEngine
import KeychainCore
import KeychainTesting
import Testing

@testable import KeychainServices

@Suite struct `Creating keys` {
    // MARK: Types and sizes

    @Test func `a key size is a number or text, and has a default`() {
        for (parameters, shape) in [
            (["type": "73", "bsiz": 256], KeyShape.elliptic(.p256)),
            (["type": 73, "bsiz": "384"], .elliptic(.p384)),
            (["type": kSecAttrKeyTypeEC, "bsiz": NSNumber(value: 521)], .elliptic(.p521)),
            (["type": kSecAttrKeyTypeECSECPrimeRandom], .elliptic(.p256)),
            (["type": kSecAttrKeyTypeRSA], .rsa(sizeInBits: 2048)),
            (["type": kSecAttrKeyTypeRSA, "bsiz": 1152], .rsa(sizeInBits: 1152)),
            (["type": kSecAttrKeyTypeEd25519], .ed25519),
            (["type": kSecAttrKeyTypeX25519, "bsiz": 256], .x25519),
        ] as [([String: Any], KeyShape)] {
            #expect(SecKeyCalls.create(parameters).value?.shape == shape)
        }
    }

    @Test func `missing or unknown types and invalid sizes are refused`() {
        for parameters in [
            [:], ["bsiz": 256], ["type": "abc"], ["type": 74], ["type": kSecAttrKeyTypeAES],
            ["type": kSecAttrKeyTypeDSA], ["type": Data([1])],
            ["type": "73", "bsiz": 255], ["type": "73", "bsiz": 1_000_000],
            ["type": "73", "bsiz": "many"], ["type": "73", "bsiz": -256],
            ["type": "73", "bsiz": 0],
            ["type": "42", "bsiz": 512], ["type": "42", "bsiz": 1_000_000],
            ["type": "42", "bsiz": 2047], ["type": "42", "bsiz": 1032],
            ["type": "105", "bsiz": 255],
            ["type": "106", "bsiz": 512],
        ] as [[String: Any]] {
            #expect(SecKeyCalls.create(parameters).code == errSecParam, "\(parameters)")
        }
    }

    /// The numbers of the types that the test's name lists, in the same order.
    @Test(arguments: ["107", "108", "109", "110", "111"])
    func `for keys of Ed448, X448, Kyber, ML-KEM and ML-DSA, the error is errSecUnimplemented`(
        type: String
    ) {
        #expect(SecKeyCalls.create(["type": type]).code == errSecUnimplemented)
        #expect(
            SecKeyCalls.read(Data(count: 32), ["type": type, "kcls": "1"]).code
                == errSecUnimplemented)
    }

    @Test func `a request for a hardware key never gives a software key`() {
        let token: [String: Any] = ["tkid": kSecAttrTokenIDSecureEnclave]
        let parameters: [String: Any] = ["type": "73", "bsiz": 256]
        // By default, a test keychain uses no hardware, even on a machine with a TPM.
        using(TestKeychain()) {
            for all in [
                parameters.merging(token) { old, _ in old },
                parameters.merging(["private": token]) { old, _ in old },
            ] {
                let answer = SecKeyCalls.create(all)
                #expect(answer.code == errSecUnimplemented)
            }
            #expect(
                SecKeyCalls.read(Data(), token.merging(["kcls": "1"]) { old, _ in old }).code
                    == errSecUnimplemented)
        }
    }

    @Test func `each new key is different`() {
        let first = SecKeyCalls.create(["type": "73"]).value
        let second = SecKeyCalls.create(["type": "73"]).value
        #expect(first != nil && second != nil && first != second)
    }

    // MARK: Attributes

    @Test func `attributes given when a key is created are kept`() throws {
        let key = try #require(
            SecKeyCalls.create([
                "type": "73", "labl": "top", "atag": Data("tag".utf8),
                "private": ["labl": "own", "sign": false, "klbl": Data([1, 2])],
            ]).value)
        let attributes = SecKeyCalls.attributes(key)
        #expect(attributes["labl"] as? String == "own")
        #expect(attributes["atag"] as? Data == Data("tag".utf8))
        #expect(attributes["sign"] as? Bool == false)
        #expect(attributes["klbl"] as? Data == Data([1, 2]))
        // The key itself determines its class, type and size.
        #expect(attributes["kcls"] as? String == "1")
        #expect(attributes["type"] as? String == "73")
        #expect(attributes["bsiz"] as? Int == 256)
    }

    // MARK: Storing

    /// The attributes of each key item in a keychain.
    private func stored(_ keychain: TestKeychain) -> [Attributes] {
        let items = try? keychain.connection.handler.perform(
            FindItems(ItemQuery(itemClass: .key), Retrieval(limit: nil)),
            as: keychain.connection.caller)
        return items?.map(\.attributes) ?? []
    }

    private func using<Result>(
        _ keychain: TestKeychain, _ body: () throws -> Result
    ) rethrows -> Result {
        try KeychainContext.$connection.withValue(keychain.connection, operation: body)
    }

    @Test func `a key is stored only if it is to be permanent`() throws {
        let keychain = TestKeychain()
        try using(keychain) {
            _ = try #require(SecKeyCalls.create(["type": "73"]).value)
            #expect(stored(keychain).isEmpty)
            let key = try #require(
                SecKeyCalls.create(["type": "73", "perm": true, "labl": "one"]).value)
            #expect(stored(keychain).count == 1)
            let item = try #require(stored(keychain).first)
            #expect(item[.label] == .string("one"))
            #expect(item[.keyClass] == .number(1))
            #expect(item[.applicationLabel] == .data(key.publicKeyHash))
        }
    }

    @Test func `the public key is stored too if its own dictionary requests it`() throws {
        let keychain = TestKeychain()
        try using(keychain) {
            _ = try #require(
                SecKeyCalls.create([
                    "type": "73", "private": ["perm": true, "labl": "private half"],
                    "public": ["perm": true, "labl": "public half"],
                ]).value)
            let items = stored(keychain)
            #expect(items.map { $0[.keyClass] } == [.number(0), .number(1)])
            #expect(
                items.map { $0[.label] } == [.string("public half"), .string("private half")])
        }
    }

    @Test func `if a key can't be stored, nothing is stored`() {
        let keychain = TestKeychain()
        using(keychain) {
            let foreign = SecKeyCalls.create([
                "type": "73", "perm": true, "agrp": "nonexistent-access-group",
            ])
            #expect(foreign.code == errSecMissingEntitlement)
            #expect(stored(keychain).isEmpty)
            // The public key can be stored, and the private one can't.
            let second = SecKeyCalls.create([
                "type": "73", "public": ["perm": true],
                "private": ["perm": true, "agrp": "nonexistent-access-group"],
            ])
            #expect(second.code == errSecMissingEntitlement)
            #expect(stored(keychain).isEmpty)
            let impossible = SecKeyCalls.create(["type": "73", "bsiz": 1_000_000, "perm": true])
            #expect(impossible.code == errSecParam)
            #expect(stored(keychain).isEmpty)
        }
    }

    @Test func `a stored key that is found equals the created one and has its attributes`() throws {
        let keychain = TestKeychain()
        try using(keychain) {
            for type in ["42", "73", "105", "106"] {
                let key = try #require(
                    SecKeyCalls.create([
                        "type": type, "perm": true, "atag": Data(type.utf8), "sign": false,
                    ]).value)
                let items = try keychain.connection.handler.perform(
                    FindItems(
                        ItemQuery(
                            itemClass: .key,
                            attributes: [.applicationTag: .data(Data(type.utf8))]),
                        Retrieval(includesData: true)), as: keychain.connection.caller)
                let found = try SecKey(
                    try #require(items.first),
                    in: keychain.connection.authenticating(AuthenticationOptions()))
                #expect(found == key)
                #expect(SecKeyCalls.external(found).value == SecKeyCalls.external(key).value)
                let attributes = SecKeyCalls.attributes(found)
                #expect(attributes["atag"] as? Data == Data(type.utf8))
                #expect(attributes["sign"] as? Bool == false)
                #expect(attributes["type"] as? String == type)
            }
        }
    }

    /// Case 415 in Documentation/Cases.md.
    @Test func `both keys of a pair are added, found and deleted by reference`() throws {
        let keychain = TestKeychain()
        try using(keychain) {
            for sample in [SampleKey.rsa2048, .p256, .ed25519, .x25519] {
                for key in [sample.publicKey, sample.privateKey] {
                    let query: [String: Any] = ["v_Ref": key]
                    // SAFETY: the variable outlives the calls.
                    var result: CFTypeRef?
                    #expect(SecItemAdd(query as CFDictionary, nil) == errSecSuccess)
                    #expect(SecItemAdd(query as CFDictionary, nil) == errSecDuplicateItem)
                    let search = query.merging(["r_Ref": true]) { old, _ in old }
                    #expect(
                        unsafe SecItemCopyMatching(search as CFDictionary, &result)
                            == errSecSuccess)
                    let found = try #require(result as? SecKey)
                    #expect(found == key)
                    #expect(found.isPrivate == key.isPrivate)
                }
                for key in [sample.publicKey, sample.privateKey] {
                    let query: [String: Any] = ["v_Ref": key]
                    #expect(SecItemDelete(query as CFDictionary) == errSecSuccess)
                    #expect(SecItemDelete(query as CFDictionary) == errSecItemNotFound)
                }
            }
        }
    }

    @Test func `creation parameters can't change the class and size of the stored keys`() throws {
        let keychain = TestKeychain()
        try using(keychain) {
            _ = try #require(
                SecKeyCalls.create([
                    "type": "73", "perm": true, "kcls": "0", "esiz": 7, "r_Data": true,
                    "public": ["perm": true],
                ]).value)
            let items = stored(keychain)
            #expect(items.map { $0[.keyClass] } == [.number(0), .number(1)])
            #expect(items.map { $0[.effectiveKeySize] } == [.number(256), .number(256)])
        }
    }

    @Test func `invalid attributes of a key are refused, and no key is created`() throws {
        let keychain = TestKeychain()
        let control: SecAccessControl? = nil
        let unreadable: [[String: Any]] = [
            ["private": "text"], ["private": NSNull()], ["private": [1]], ["public": true],
            ["private": ["accc": control as Any]], ["public": ["accc": "text"]],
            ["private": ["accc": NSNull(), "perm": false] as [String: Any]], ["accc": ["ak"]],
        ]
        using(keychain) {
            for attributes in unreadable {
                let parameters: [String: Any] = ["type": "73", "perm": true]
                    .merging(attributes) { _, new in new }
                #expect(SecKeyCalls.create(parameters).code == errSecParam, "\(attributes)")
                let pair = olderKeyFunctions.generate(
                    parameters as CFDictionary, wanted: [.publicKey, .privateKey])
                #expect(pair.status == errSecParam, "\(attributes)")
                #expect(pair.privateKey == nil && pair.publicKey == nil)
            }
            #expect(stored(keychain).isEmpty)
        }
    }

    @Test func `the error for a key that can't be stored states the reason`() throws {
        let keychain = TestKeychain()
        try keychain.setPasscode("1234")
        try keychain.lock()
        using(keychain) {
            let parameters: [String: Any] = ["type": "73", "perm": true]
            var error: Unmanaged<CFError>?
            #expect(unsafe SecKeyCreateRandomKey(parameters as CFDictionary, &error) == nil)
            let text = unsafe error?.takeRetainedValue().localizedDescription
            let reason = KeychainFailure.locked(.whenUnlocked).reason
            #expect(text?.hasSuffix(reason) == true, "\(text ?? "")")
        }
    }

    @Test func `an item without a supported key's data and attributes can't become a key`() throws {
        func item(_ attributes: Attributes, _ data: Data?) -> ItemSnapshot {
            ItemSnapshot(
                itemClass: .key, reference: .random(), attributes: attributes, accessGroup: "g",
                protection: .whenUnlocked, isSynchronizable: false, isTombstone: false,
                hasData: data != nil, data: data)
        }
        for (attributes, data, status) in [
            ([:], Data([1]), -50), ([.keyClass: .number(1), .type: .number(73)], nil, -50),
            ([.keyClass: .number(1), .type: .number(73)], Data([1]), -50),
            ([.keyClass: .number(2), .type: .number(2_147_483_649)], Data([1]), -50),
            ([.keyClass: .number(2), .type: .number(73)], Data([1]), -4),
            ([.keyClass: .string("x"), .type: .number(73)], Data([1]), -50),
            (
                [
                    .keyClass: .number(1), .type: .number(73),
                    .tokenID: .string("com.apple.setoken"),
                ], Data([1]), -26275
            ),
        ] as [(Attributes, Data?, Int32)] {
            let failure = #expect(throws: KeychainFailure.self) {
                try SecKey(
                    item(attributes, data),
                    in: TestKeychain().connection.authenticating(AuthenticationOptions()))
            }
            #expect(failure?.status.rawValue == status)
        }
    }
}

#endif
