// The cases about keys of a token: 34, 424, 425, 445 and 446. They run on keychains with simulated
// hardware.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

/// The token's two names.
private let tokens = ["com.apple.setoken", "com.apple.setoken:aks"]

private func token(_ more: Entries = [:], _ name: String = tokens[0]) -> Entries {
    keys(["tkid": name, "type": "73"]).merging(more) { $1 }
}

let secureEnclaveCases: [Row] = [
    Row(34, "adding a key with a token and no data generates the key") { k in
        for name in tokens {
            let added = k.add(token(["R.ref": true], name))
            added.gives(0)
            let key = try #require(added.result as? SecKey)
            #expect(key.isPrivate)
            k.copy(token(["R.ref": true], name)).gives(0)
            let signed = SecKeyCalls.sign(key, .ecdsaSignatureMessageX962SHA256, bytes("message"))
            #expect(
                SecKeyCalls.refusal(
                    try key.publicHalf(), .ecdsaSignatureMessageX962SHA256, bytes("message"),
                    try #require(signed.value)) == nil)
        }
        try k.copy(keys(["R.attrs": true, "limit": all])).givesArray(2)
    },
    Row(424, "the public key of a token's key is exported as 65 bytes") { k in
        let key = try #require(k.add(token(["R.ref": true])).result as? SecKey)
        let half = try key.publicHalf()
        let data = try #require(SecKeyCalls.external(half).value)
        #expect(data.count == 65 && data.first == 4)
        #expect(SecKeyCalls.external(key).code == -4)
    },
    Row(425, "a token's key has the attributes of a private key in hardware") { k in
        let key = try #require(k.add(token(["R.ref": true])).result as? SecKey)
        let attributes = SecKeyCalls.attributes(key)
        #expect(attributes["kcls"] as? String == "1")
        #expect(attributes["tkid"] as? String == tokens[0])
        #expect(attributes["type"] as? String == "73")
        #expect((attributes["bsiz"] as? NSNumber)?.intValue == 256)
        for (name, value) in [
            "sens": true, "asen": true, "extr": false, "next": true, "sign": true, "decr": true,
            "drve": true, "perm": true, "priv": true,
        ] {
            #expect(attributes[name] as? Bool == value, "\(name)")
        }
        #expect(attributes["klbl"] as? Data == key.publicKeyHash)
        #expect(attributes["v_Data"] == nil)
    },
    Row(445, "a pair is generated even if the caller requests only one of its keys") { k in
        for place: Entries in [[:], ["tkid": tokens[0]]] {
            let parameters: Entries = [
                "type": "73", "bsiz": 256, "labl": "L", "private": ["perm": true],
                "public": ["perm": false],
            ].merging(place) { $1 }
            for wanted in [KeyHalf.privateKey, .publicKey] {
                let pair = k.generatePair(parameters, wanted: [wanted])
                #expect(pair.status == 0)
                #expect((pair.privateKey != nil) == (wanted == .privateKey))
                #expect((pair.publicKey != nil) == (wanted == .publicKey))
                let found = k.copy(keys(["labl": "L", "R.ref": true]))
                let stored = try #require(found.result as? SecKey)
                #expect((stored.secureEnclaveKey != nil) == !place.isEmpty)
                let half = try stored.publicHalf()
                let made = try pair.publicKey ?? pair.privateKey?.publicHalf()
                #expect(half == made)
                #expect(stored != half)
                k.delete(keys(["labl": "L"])).gives(0)
                k.copy(keys()).gives(-25300)
            }
        }
    },
    Row(446, "a token's key is permanent unless kSecAttrIsPermanent is false") { k in
        for name in tokens {
            let parameters: Entries = ["type": "73", "bsiz": 256, "tkid": name]
            let key = try #require(k.withKeychain { SecKeyCalls.create(parameters).value })
            #expect(k.copy(token(["R.ref": true], name)).result as? SecKey == key)
            k.delete(keys(["tkid": name])).gives(0)
            k.copy(keys(["tkid": name])).gives(-25300)
            let own: Entries = ["perm": false]
            let passing = parameters.merging(["private": own]) { $1 }
            #expect(k.withKeychain { SecKeyCalls.create(passing).value } != nil)
            k.copy(keys()).gives(-25300)
        }
    },
]

@Suite("Keys of a token") struct SecureEnclaveCases {
    @Test(.cases(3 * 5), arguments: Backend.withSecureEnclave, secureEnclaveCases)
    func row(on backend: Backend, _ row: Row) throws {
        try row.body(Client(try backend.openWithSecureEnclave(), groups: ["G1", "G2"]))
    }
}

#endif
