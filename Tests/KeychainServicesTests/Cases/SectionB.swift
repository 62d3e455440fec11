// SectionB: return keys and shapes of SecItemAdd.

import Foundation
import KeychainServices
import Testing

let sectionB: [Row] = [
    Row(29, "an add gives a persistent reference of 20 bytes") { k in
        let reference = try k.add(GP("a", "s", ["data": bytes("x"), "R.pref": true])).givesData()
        #expect(reference.count == 20)
        #expect(reference.prefix(4) == bytes("genp"))
        try k.copy(["pref": reference, "R.data": true]).givesData(bytes("x"))
    },
    Row(31, "the value of a return key is a boolean") { k in
        k.add(GP("a", "s", ["data": bytes("x"), "R.data": NSNumber(value: 1)])).gives(-50)
        k.copy(genp()).gives(-25300)
    },
    Row(32, "what has no place isn't given") { k in
        k.addWithoutResult(GP("a", "s", ["data": bytes("x"), "R.attrs": true])).gives(0)
        k.copy(GP("a", "s")).gives(0)
    },
]

@Suite("B. Return keys of SecItemAdd") struct SectionB {
    @Test(arguments: Backend.allCases, sectionB)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test func `3 rows ran`() { #expect(sectionB.count == 3) }

    @Test(arguments: Backend.allCases)
    func `an add without a return key gives nil`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(GP("a", "s", ["data": bytes("x")])).givesNil()
        k.add(GP("b", "s", ["R.ref": true])).givesNil()
    }

    @Test(arguments: Backend.allCases)
    func `an add gives the shapes of a search for one item`(on backend: Backend) throws {
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
