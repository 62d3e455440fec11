// SectionJ: persistent references.

import Foundation
import KeychainServices
import Testing

/// Adds an item and returns its persistent reference.
private func added(_ k: Client, _ entries: Entries) throws -> Data {
    try k.add(entries.merging(["R.pref": true]) { $1 }).givesData()
}

let sectionJ: [Row] = [
    Row(236, "an identity's reference leads to the identity") { k in
        let identity = try CertificateFixtures.shared().root.identity
        let reference = try added(k, ["ref": identity])
        #expect(reference.prefix(4) == bytes("idnt"))
        let found = k.copy(["pref": reference, "R.ref": true]).gives(0).result
        #expect(found as? SecIdentity == identity)
    },
    Row(238, "an add and each search give an identity the same reference") { k in
        let identity = try CertificateFixtures.shared().root.identity
        let reference = try added(k, ["ref": identity, "labl": "L"])
        try k.copy(["ref": identity, "R.pref": true]).givesData(reference)
        try k.copy(idnt(["labl": "L", "R.pref": true])).givesData(reference)
    },
    Row(220, "a reference finds what the attributes find") { k in
        let entries = inet(["srvr": "h", "acct": "a", "data": bytes("x")])
        let reference = try added(k, entries)
        #expect(reference.prefix(4) == bytes("inet"))
        let byReference = try k.copy(["pref": reference, "R.attrs": true]).givesDictionary()
        let byAttributes = try k.copy(entries.merging(["R.attrs": true]) { $1 }).givesDictionary()
        #expect(byReference as NSDictionary == byAttributes as NSDictionary)
    },
    Row(221, "a reference finds the data") { k in
        let reference = try added(k, inet(["srvr": "h", "data": bytes("x")]))
        try k.copy(["pref": reference, "R.data": true]).givesData(bytes("x"))
    },
    Row(223, "an update by reference changes one item and keeps the reference") { k in
        let first = try added(k, inet(["srvr": "h1", "data": bytes("1")]))
        let second = try added(k, inet(["srvr": "h2", "data": bytes("2")]))
        k.update(["pref": first], ["srvr": "new"]).gives(0)
        let changed = try k.copy(["pref": first, "R.attrs": true]).givesDictionary()
        #expect(changed["srvr"] as? String == "new")
        let other = try k.copy(["pref": second, "R.attrs": true]).givesDictionary()
        #expect(other["srvr"] as? String == "h2")
    },
    Row(224, "a delete by reference deletes one item") { k in
        let first = try added(k, inet(["srvr": "h1", "data": bytes("1")]))
        let second = try added(k, inet(["srvr": "h2", "data": bytes("2")]))
        k.delete(["pref": first]).gives(0)
        k.copy(["pref": first]).gives(-25300)
        try k.copy(["pref": second, "R.data": true]).givesData(bytes("2"))
    },
    Row(226, "a change of the primary key keeps the reference") { k in
        let reference = try added(k, GP("a", "s"))
        k.update(GP("a", "s"), ["acct": "b", "svc": "t", "agrp": "G2"]).gives(0)
        try k.copy(GP("b", "t", ["R.pref": true])).givesData(reference)
    },
    Row(227, "a search by reference may name the class of the item, but no other class") { k in
        let reference = try added(k, GP("a", "s", ["data": bytes("x")]))
        try k.copy(genp(["pref": reference, "R.data": true])).givesData(bytes("x"))
        k.copy(inet(["pref": reference])).gives(-25306)
    },
    Row(229, "a search by reference refuses attributes; an update or delete compares them") { k in
        let reference = try added(k, GP("a", "s"))
        for (name, value) in [
            ("acct", "a"), ("agrp", "G1"), ("sync", false), ("pdmn", "ak"), ("tomb", 0),
        ] as [(String, Any)] {
            k.copy(["pref": reference, name: value]).gives(-50)
        }
        k.update(["pref": reference, "acct": "a"], ["labl": "x"]).gives(0)
        k.update(["pref": reference, "acct": "b"], ["labl": "y"]).gives(-25300)
        k.delete(["pref": reference, "acct": "b"]).gives(-25300)
        k.delete(["pref": reference, "acct": "a"]).gives(0)
    },
    Row(230, "a search by reference accepts kSecAttrSynchronizableAny") { k in
        let reference = try added(k, GP("a", "s"))
        try k.copy(["pref": reference, "sync": any, "R.attrs": true, "limit": all]).givesArray(1)
    },
    Row(232, "a well-formed reference to no item finds nothing") { k in
        _ = try added(k, GP("a", "s"))
        k.copy(["pref": bytes("genp") + Data(repeating: 7, count: 16)]).gives(-25300)
    },
    Row(233, "a malformed persistent reference is refused") { k in
        _ = try added(k, GP("a", "s"))
        k.copy(["pref": Data([1, 2, 3])]).gives(-50)
        k.copy(["pref": Data()]).gives(-50)
        k.copy(["pref": bytes("xxxx") + Data(repeating: 7, count: 16)]).gives(-50)
        k.copy(["pref": bytes("genp") + Data(repeating: 7, count: 17)]).gives(-50)
        k.copy(["pref": "genp"]).gives(-50)
    },
    Row(235, "a reference finds a synchronizable item") { k in
        let reference = try added(k, GP("a", "s", ["sync": true]))
        let found = try k.copy(["pref": reference, "R.attrs": true]).givesDictionary()
        #expect(found["sync"] as? Int == 1)
    },
    Row(239, "a reference finds no item of a foreign group") { k in
        let reference = try added(k.member(of: "X"), GP("a", "s"))
        k.copy(["pref": reference]).gives(-25300)
        k.update(["pref": reference], ["labl": "x"]).gives(-25300)
        k.delete(["pref": reference]).gives(-25300)
    },
]

@Suite("J. Persistent references") struct SectionJ {
    @Test(.cases(4 * 14), arguments: Backend.allCases, sectionJ)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `a persistent reference in the older form of 12 bytes matches nothing`(on backend: Backend)
        throws
    {
        let k = Client(try backend.open(), groups: ["G1"])
        let reference = try added(k, GP("a", "s"))
        let old = bytes("genp") + Data(repeating: 0, count: 7) + [1]
        k.copy(["pref": old]).gives(-25300)
        k.update(["pref": old], ["labl": "x"]).gives(-25300)
        k.delete(["pref": old]).gives(-25300)
        k.copy(["pref": reference]).gives(0)
    }

    @Test(arguments: Backend.allCases)
    func `an add refuses a persistent reference, and adding an item again gives a new reference`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let reference = try added(k, GP("a", "s"))
        k.add(GP("b", "s", ["pref": reference])).gives(-50)
        k.delete(GP("a", "s")).gives(0)
        let again = try added(k, GP("a", "s"))
        #expect(again != reference)
        k.copy(["pref": reference]).gives(-25300)
    }
}
