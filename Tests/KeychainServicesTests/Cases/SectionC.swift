// SectionC: return keys and shapes of SecItemCopyMatching.

import Foundation
import KeychainServices
import Testing

private func withItem(_ k: Client) {
    k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
}

let sectionC: [Row] = [
    Row(46, "a key is returned as an object") { k in
        let key = try CertificateFixtures.shared().root.key
        k.add(["ref": key]).gives(0)
        #expect(k.copy(keys(["R.ref": true])).gives(0).result as? SecKey == key)
    },
    Row(47, "a certificate is returned as an object") { k in
        let certificate = try CertificateFixtures.shared().root.certificate
        k.add(["ref": certificate]).gives(0)
        let found = k.copy(cert(["R.ref": true])).gives(0).result
        #expect(found as? SecCertificate == certificate)
    },
    Row(52, "a key is returned with its data, its class and its attributes") { k in
        let key = try CertificateFixtures.shared().root.key
        k.add(["ref": key]).gives(0)
        let whole = try k.copy(keys(["R.ref": true, "R.data": true])).givesDictionary()
        #expect(whole["v_Ref"] as? SecKey == key)
        #expect((whole["v_Data"] as? Data)?.count == 97)
        #expect(whole["class"] as? String == "keys")
        #expect(whole["kcls"] as? NSNumber == 1)
    },
    Row(35, "a search without a return key gives nil") { k in
        withItem(k)
        k.copy(GP("a", "s")).givesNil()
    },
    Row(37, "an item without data gives nil, and is left out of an array of data") { k in
        k.add(GP("a", "s")).gives(0)
        k.copy(GP("a", "s", ["R.data": true])).givesNil()
        try k.copy(GP("a", "s", ["R.data": true, "limit": all])).givesArray(0)
        k.add(GP("b", "s", ["data": Data()])).gives(0)
        try k.copy(genp(["svc": "s", "R.data": true, "limit": all])).givesArray(1)
        try k.copy(GP("b", "s", ["R.data": true])).givesData(Data())
    },
    Row(38, "an add without data gives empty data") { k in
        try k.add(GP("a", "s", ["R.data": true])).givesData(Data())
    },
    Row(40, "attributes and data are returned in one dictionary") { k in
        withItem(k)
        let found = try k.copy(GP("a", "s", ["R.attrs": true, "R.data": true])).givesDictionary()
        #expect(found["v_Data"] as? Data == bytes("x"))
        #expect(found["acct"] as? String == "a")
    },
    Row(41, "the dictionary of an item without data has no entry for data") { k in
        k.add(GP("a", "s")).gives(0)
        let found = try k.copy(genp(["R.attrs": true, "R.data": true, "limit": all])).givesArray(1)
        let item = try #require(found.first as? Entries)
        #expect(item["v_Data"] == nil)
        #expect(item["acct"] as? String == "a")
    },
    Row(43, "a persistent reference and data are returned in one dictionary") { k in
        withItem(k)
        let found = try k.copy(GP("a", "s", ["R.pref": true, "R.data": true])).givesDictionary()
        #expect((found["v_PersistentRef"] as? Data)?.count == 20)
        #expect(found["v_Data"] as? Data == bytes("x"))
    },
    Row(44, "a persistent reference and attributes are returned in one dictionary") { k in
        withItem(k)
        let found = try k.copy(GP("a", "s", ["R.pref": true, "R.attrs": true])).givesDictionary()
        #expect((found["v_PersistentRef"] as? Data)?.count == 20)
        #expect(found["acct"] as? String == "a")
        #expect(found["v_Data"] == nil)
    },
    Row(49, "the attributes that all items have are returned, but not UUID and persistref") { k in
        withItem(k)
        let found = try k.copy(GP("a", "s", ["R.attrs": true])).givesDictionary()
        #expect(found["UUID"] == nil)
        #expect(found["persistref"] == nil)
        #expect(found["agrp"] as? String == "G1")
        #expect(found["pdmn"] as? String == "ak")
        #expect(found["sync"] as? Int == 0)
        #expect(found["tomb"] as? Int == 0)
        #expect(found["cdat"] is Date)
        #expect(found["mdat"] is Date)
        #expect(found["musr"] is Data)
        #expect(found["accc"] is SecAccessControl)
    },
    Row(50, "an item's SHA-1 digest is returned only together with its data") { k in
        withItem(k)
        let without = try k.copy(GP("a", "s", ["R.attrs": true])).givesDictionary()
        #expect(without["sha1"] == nil)
        let with = try k.copy(GP("a", "s", ["R.attrs": true, "R.data": true])).givesDictionary()
        #expect((with["sha1"] as? Data)?.count == 20)
    },
    Row(53, "attributes don't name the class") { k in
        withItem(k)
        let found = try k.copy(GP("a", "s", ["R.attrs": true])).givesDictionary()
        #expect(found["class"] == nil)
    },
    Row(55, "a search for all items that finds none fails with errSecItemNotFound") { k in
        k.copy(GP("a", "s", ["R.attrs": true, "limit": all])).gives(-25300)
    },
    Row(56, "an unknown return key is refused") { k in
        withItem(k)
        k.copy(GP("a", "s", ["r_Foo": true])).gives(-50)
    },
]

@Suite("C. Return keys of SecItemCopyMatching") struct SectionC {
    @Test(.cases(4 * 15), arguments: Backend.allCases, sectionC)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `for a password, kSecReturnRef alone gives nil, and with kSecReturnData a dictionary`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        withItem(k)
        k.copy(GP("a", "s", ["R.ref": true])).givesNil()
        let found = try k.copy(GP("a", "s", ["R.ref": true, "R.data": true])).givesDictionary()
        #expect(found["class"] as? String == "genp")
        #expect(found["acct"] as? String == "a")
        #expect(found["v_Data"] as? Data == bytes("x"))
        #expect(found["v_Ref"] == nil)
    }
}
