// SectionH: SecItemUpdate.

import Foundation
import KeychainServices
import Testing

private func withItem(_ k: Client, _ more: Entries = [:]) {
    k.add(GP("a", "s", ["data": bytes("x")].merging(more) { $1 })).gives(0)
}

private func withThree(_ k: Client) {
    for index in 1...3 { k.add(GP("a\(index)", "s")).gives(0) }
}

let sectionH: [Row] = [
    Row(194, "the certificate and the key of an identity move to another group together") { k in
        let identity = try CertificateFixtures.shared().root.identity
        k.add(["ref": identity, "labl": "L"]).gives(0)
        k.update(idnt(["agrp": "G1", "labl": "L"]), ["agrp": "G2"]).gives(0)
        k.copy(idnt(["agrp": "G1"])).gives(-25300)
        k.copy(idnt(["agrp": "G2", "labl": "L"])).gives(0)
        k.copy(keys(["agrp": "G2", "labl": "L"])).gives(0)
        k.copy(cert(["agrp": "G2", "labl": "L"])).gives(0)
    },
    Row(196, "an identity has the label of its certificate, not of its key") { k in
        let fixture = try CertificateFixtures.shared().root
        k.add(["ref": try fixture.identity, "labl": "zomg"]).gives(0)
        k.update(["ref": fixture.key], ["labl": "zzzomg"]).gives(0)
        k.copy(idnt(["labl": "zomg"])).gives(0)
    },
    Row(197, "a new label of the certificate becomes the label of the identity") { k in
        let fixture = try CertificateFixtures.shared().root
        k.add(["ref": try fixture.identity, "labl": "zomg"]).gives(0)
        k.update(["ref": fixture.key], ["labl": "zzzomg"]).gives(0)
        k.update(["ref": fixture.certificate], ["labl": "zzzomg"]).gives(0)
        k.copy(idnt(["labl": "zomg"])).gives(-25300)
        k.copy(idnt(["labl": "zzzomg"])).gives(0)
    },
    Row(159, "the account changes") { k in
        withItem(k)
        k.update(GP("a", "s"), ["acct": "b"]).gives(0)
        k.copy(GP("a", "s")).gives(-25300)
        try k.copy(GP("b", "s", ["R.data": true])).givesData(bytes("x"))
    },
    Row(160, "the service changes") { k in
        withItem(k)
        k.update(GP("a", "s"), ["svc": "t"]).gives(0)
        k.copy(GP("a", "s")).gives(-25300)
        try k.copy(GP("a", "t", ["R.data": true])).givesData(bytes("x"))
    },
    Row(161, "the server changes") { k in
        k.add(inet(["srvr": "h1"])).gives(0)
        k.update(inet(["srvr": "h1"]), ["srvr": "h2"]).gives(0)
        k.update(inet(["srvr": "h1"]), ["srvr": "h2"]).gives(-25300)
        k.delete(inet(["srvr": "h1"])).gives(-25300)
        k.copy(inet(["srvr": "h2"])).gives(0)
    },
    Row(163, "an item moves to another group") { k in
        withItem(k, ["agrp": "G1"])
        k.update(GP("a", "s", ["agrp": "G1"]), ["agrp": "G2"]).gives(0)
        k.copy(GP("a", "s", ["agrp": "G1"])).gives(-25300)
        k.copy(GP("a", "s", ["agrp": "G2"])).gives(0)
    },
    Row(164, "an item can't move to a foreign group") { k in
        withItem(k)
        k.update(GP("a", "s"), ["agrp": "not-mine"]).gives(-34018)
        k.copy(GP("a", "s", ["agrp": "G1"])).gives(0)
    },
    Row(166, "the protection class changes") { k in
        withItem(k)
        k.update(GP("a", "s"), ["pdmn": "ck"]).gives(0)
        let found = try k.copy(GP("a", "s", ["R.attrs": true, "R.data": true])).givesDictionary()
        #expect(found["pdmn"] as? String == "ck")
        #expect(found["v_Data"] as? Data == bytes("x"))
        try k.keychain.lock()
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
    },
    Row(167, "an unknown protection class is refused in an update") { k in
        withItem(k)
        k.update(GP("a", "s"), ["pdmn": "bogus"]).gives(-50)
    },
    Row(169, "a class among the changes is refused with errSecNoSuchAttr") { k in
        withItem(k)
        k.update(GP("a", "s"), ["class": "genp"]).gives(-25303)
    },
    Row(170, "a key that is no attribute is refused among the changes") { k in
        withItem(k)
        k.update(GP("a", "s"), ["R.data": true]).gives(-25303)
        for name in ["limit", "pref", "u_AuthCtx", "u_CredRef", "ref", "banana", "x", ""] {
            k.update(GP("a", "s"), [name: bytes("x")]).gives(-25303)
        }
    },
    Row(172, "an attribute of another class is refused among the changes") { k in
        withItem(k)
        k.update(GP("a", "s"), ["srvr": "h"]).gives(-25303)
    },
    Row(173, "kSecUseDataProtectionKeychain is ignored among the changes") { k in
        withItem(k)
        k.update(GP("a", "s"), ["nleg": true, "data": bytes("y")]).gives(0)
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("y"))
    },
    Row(175, "a return key that is true is refused in an update") { k in
        withItem(k)
        for name in ["R.data", "R.attrs", "R.ref", "R.pref"] {
            k.update(GP("a", "s", [name: true]), ["labl": "x"]).gives(-50)
        }
    },
    Row(176, "a return key that is false is accepted in an update") { k in
        withItem(k)
        k.update(GP("a", "s", ["R.data": false]), ["labl": "x"]).gives(0)
    },
    Row(178, "an update takes no limit of one") { k in
        withThree(k)
        k.update(genp(["svc": "s", "limit": one]), ["labl": "x"]).gives(-50)
    },
    Row(179, "an update takes no limit of all") { k in
        withThree(k)
        k.update(genp(["svc": "s", "limit": all]), ["labl": "x"]).gives(-50)
    },
    Row(181, "an empty update changes only the modification date") { k in
        withItem(k)
        let before = try dates(k)
        k.update(GP("a", "s"), [:]).gives(0)
        let after = try dates(k)
        #expect(after.modified > before.modified)
        #expect(after.created == before.created)
    },
    Row(182, "an empty update that matches nothing finds no item") { k in
        k.update(GP("a", "s"), [:]).gives(-25300)
    },
    Row(184, "an update can change the creation date") { k in
        withItem(k)
        let date = Date(timeIntervalSinceReferenceDate: -63_000_000)
        k.update(GP("a", "s"), ["cdat": date]).gives(0)
        let after = try dates(k)
        #expect(after.created == date)
    },
    Row(185, "an update sets a later modification date, whatever date is given") { k in
        withItem(k)
        let before = try dates(k)
        let early = Date(timeIntervalSinceReferenceDate: 0)
        k.update(GP("a", "s"), ["data": bytes("y"), "mdat": early]).gives(0)
        let after = try dates(k)
        #expect(after.modified > before.modified)
        #expect(after.created == before.created)
    },
    Row(187, "data in the query of an update isn't used as a filter") { k in
        withItem(k)
        k.update(GP("a", "s", ["data": bytes("whatever")]), ["labl": "L"]).gives(0)
        k.copy(GP("a", "s", ["labl": "L"])).gives(0)
    },
    Row(188, "an update to the primary key of a tombstone removes the tombstone") { k in
        withItem(k)
        k.add(GP("b", "s")).gives(0)
        k.delete(GP("b", "s", ["useTomb": true])).gives(0)
        k.copy(GP("b", "s", ["tomb": true])).gives(0)
        k.update(GP("a", "s"), ["acct": "b"]).gives(0)
        try k.copy(GP("b", "s", ["R.data": true])).givesData(bytes("x"))
        k.copy(GP("b", "s", ["tomb": true])).gives(-25300)
    },
    Row(191, "a synchronizable item leaves a tombstone for its old primary key") { k in
        withItem(k, ["sync": true])
        k.update(GP("a", "s", ["sync": true]), ["acct": "b"]).gives(0)
        k.copy(GP("a", "s", ["sync": true])).gives(-25300)
        k.copy(GP("a", "s", ["sync": true, "tomb": true])).gives(0)
        try k.copy(GP("b", "s", ["sync": true, "R.data": true])).givesData(bytes("x"))
    },
    Row(199, "a locked item can't be updated") { k in
        withItem(k)
        try k.keychain.lock()
        k.update(GP("a", "s"), ["data": bytes("y")]).gives(-25308)
        try k.keychain.unlock()
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
    },
]

private func dates(_ k: Client) throws -> (created: Date, modified: Date) {
    let found = try k.copy(GP("a", "s", ["R.attrs": true])).givesDictionary()
    return (
        try #require(found["cdat"] as? Date), try #require(found["mdat"] as? Date)
    )
}

@Suite("H. SecItemUpdate") struct SectionH {
    @Test(.cases(4 * 26), arguments: Backend.allCases, sectionH)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `an update changes all matching items or none`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        withThree(k)
        k.update(genp(["svc": "s"]), ["acct": "a3"]).gives(-25299)
        for index in 1...3 { k.copy(GP("a\(index)", "s")).gives(0) }
        k.update(genp(["svc": "s"]), ["labl": "L"]).gives(0)
        try k.copy(genp(["labl": "L", "R.attrs": true, "limit": all])).givesArray(3)
    }

    @Test(arguments: Backend.allCases)
    func `an update to another item's primary key fails as a duplicate`(on backend: Backend) throws
    {
        let k = Client(try backend.open(), groups: ["G1"])
        withThree(k)
        k.update(GP("a1", "s"), ["acct": "a2"]).gives(-25299)
        k.copy(GP("a1", "s")).gives(0)
        k.update(GP("a1", "s"), ["acct": "a1"]).gives(0)
    }

    @Test(arguments: Backend.allCases)
    func `a whole attribute dictionary can be used as the changes`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        withItem(k, ["labl": "L"])
        var found = try k.copy(GP("a", "s", ["R.attrs": true, "R.data": true])).givesDictionary()
        found["labl"] = "M"
        k.update(GP("a", "s"), found).gives(0)
        k.copy(GP("a", "s", ["labl": "M"])).gives(0)
    }

    @Test(arguments: Backend.allCases)
    func `synchronizable and protection class can be changed together`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        withItem(k)
        k.update(GP("a", "s"), ["sync": true]).gives(0)
        k.copy(GP("a", "s")).gives(-25300)
        k.copy(GP("a", "s", ["sync": true])).gives(0)
        k.update(GP("a", "s", ["sync": true]), ["pdmn": "aku", "sync": false]).gives(0)
        k.copy(GP("a", "s", ["pdmn": "aku"])).gives(0)
    }

    @Test(arguments: Backend.allCases)
    func `an access control without constraints sets the protection class`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        withItem(k)
        let ck = try #require(accessControl("ck"))
        k.update(GP("a", "s"), ["accc": ck]).gives(0)
        let found = try k.copy(GP("a", "s", ["R.attrs": true])).givesDictionary()
        #expect(found["pdmn"] as? String == "ck")
        #expect(found["accc"] as? SecAccessControl == ck)
    }
}
