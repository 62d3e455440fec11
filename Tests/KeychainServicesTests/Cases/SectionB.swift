// SectionB: return keys and shapes of SecItemAdd.

import Foundation
import KeychainServices
import Testing

/// A certificate to add by reference.
private func certificate(_ more: Entries = [:]) throws -> Entries {
    let entries: Entries = ["ref": try CertificateFixtures.shared().root.certificate]
    return entries.merging(more) { $1 }
}

let sectionB: [Row] = [
    Row(22, "a certificate's persistent reference finds the certificate's bytes") { k in
        let reference = try k.add(try certificate(["R.pref": true])).givesData()
        #expect(reference.prefix(4) == bytes("cert"))
        try k.copy(["pref": reference, "R.data": true])
            .givesData(try CertificateFixtures.shared().root.der)
    },
    Row(23, "an add returns a certificate as an object") { k in
        let added = k.add(try certificate(["R.ref": true])).gives(0)
        let root = try CertificateFixtures.shared().root.certificate
        #expect(added.result as? SecCertificate == root)
    },
    Row(25, "numeric attributes of a certificate are returned as numbers") { k in
        let attributes = try k.add(try certificate(["R.attrs": true])).givesDictionary()
        #expect(attributes["ctyp"] as? NSNumber == 3)
        #expect(attributes["cenc"] as? NSNumber == 3)
        for absent in ["v_Data", "v_Ref", "v_PersistentRef"] { #expect(attributes[absent] == nil) }
    },
    Row(26, "all requested results are in one dictionary") { k in
        let every: Entries = ["R.attrs": true, "R.data": true, "R.ref": true, "R.pref": true]
        let whole = try k.add(try certificate(every)).givesDictionary()
        let root = try CertificateFixtures.shared().root
        #expect(whole["v_Data"] as? Data == root.der)
        #expect(whole["v_Ref"] as? SecCertificate == root.certificate)
        #expect((whole["v_PersistentRef"] as? Data)?.count == 20)
        #expect(whole["class"] as? String == "cert")
        #expect(whole["labl"] as? String == "Fixture Root")
    },
    Row(28, "a certificate can be added only once") { k in
        k.add(try certificate()).gives(0)
        for key in ["R.attrs", "R.data", "R.ref", "R.pref"] {
            k.add(try certificate([key: true])).gives(-25299)
        }
    },
    Row(29, "an add gives a persistent reference of 20 bytes") { k in
        let reference = try k.add(GP("a", "s", ["data": bytes("x"), "R.pref": true])).givesData()
        #expect(reference.count == 20)
        #expect(reference.prefix(4) == bytes("genp"))
        try k.copy(["pref": reference, "R.data": true]).givesData(bytes("x"))
    },
    Row(31, "a return key whose value isn't a boolean is refused") { k in
        k.add(GP("a", "s", ["data": bytes("x"), "R.data": NSNumber(value: 1)])).gives(-50)
        k.copy(genp()).gives(-25300)
    },
    Row(32, "an add needs no result pointer") { k in
        k.addWithoutResult(GP("a", "s", ["data": bytes("x"), "R.attrs": true])).gives(0)
        k.copy(GP("a", "s")).gives(0)
    },
]

@Suite("B. Return keys of SecItemAdd") struct SectionB {
    @Test(.cases(4 * 8), arguments: Backend.allCases, sectionB)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `an add of a password gives no result for kSecReturnRef or without a return key`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(GP("a", "s", ["data": bytes("x")])).givesNil()
        k.add(GP("b", "s", ["R.ref": true])).givesNil()
    }

    @Test(arguments: Backend.allCases)
    func `an add gives results of the same shapes as a search for one item`(on backend: Backend)
        throws
    {
        let k = Client(try backend.open(), groups: ["G1"])
        let item: (String) -> Entries = { GP($0, "s", ["data": bytes("x")]) }
        try k.add(item("1").merging(["R.data": true]) { $1 }).givesData(bytes("x"))
        let attributes = try k.add(item("2").merging(["R.attrs": true]) { $1 }).givesDictionary()
        #expect(attributes["acct"] as? String == "2")
        #expect(attributes["v_Data"] == nil)
        let every: Entries = ["R.data": true, "R.attrs": true, "R.pref": true, "R.ref": true]
        let whole = try k.add(item("3").merging(every) { $1 }).givesDictionary()
        #expect(whole["v_Data"] as? Data == bytes("x"))
        #expect((whole["v_PersistentRef"] as? Data)?.count == 20)
        #expect(whole["class"] as? String == "genp")
        k.add(item("3").merging(every) { $1 }).gives(-25299)
    }
}
