// SectionK: kSecAttrSynchronizable and tombstones.

import Foundation
import KeychainServices
import Testing

private func withSynchronizable(_ k: Client) {
    k.add(GP("a", "s", ["sync": true, "data": bytes("x")])).gives(0)
}

/// Adds a synchronizable item, and replaces it with a tombstone.
private func withTombstone(_ k: Client) {
    withSynchronizable(k)
    k.delete(GP("a", "s", ["sync": true, "useTomb": true])).gives(0)
}

let sectionK: [Row] = [
    Row(241, "a search finds only local items by default") { k in
        withSynchronizable(k)
        k.copy(GP("a", "s", ["R.data": true])).gives(-25300)
    },
    Row(242, "a search that asks for synchronizable items finds one") { k in
        withSynchronizable(k)
        try k.copy(GP("a", "s", ["sync": true, "R.data": true])).givesData(bytes("x"))
        try k.copy(GP("a", "s", ["sync": any, "R.data": true])).givesData(bytes("x"))
    },
    Row(244, "a search that asks for local items finds no synchronizable item") { k in
        withSynchronizable(k)
        k.copy(GP("a", "s", ["sync": false])).gives(-25300)
    },
    Row(245, "an update changes only local items by default") { k in
        withSynchronizable(k)
        k.update(GP("a", "s"), ["data": bytes("y")]).gives(-25300)
    },
    Row(247, "a delete deletes only local items by default") { k in
        withSynchronizable(k)
        k.delete(GP("a", "s")).gives(-25300)
    },
    Row(248, "a delete that asks for synchronizable items deletes one") { k in
        withSynchronizable(k)
        k.delete(GP("a", "s", ["sync": true])).gives(0)
        k.copy(GP("a", "s", ["sync": any])).gives(-25300)
    },
    Row(250, "kSecAttrSynchronizable may be a boolean, a number or digits") { k in
        k.add(GP("a", "s", ["sync": 1])).gives(0)
        k.add(GP("b", "s", ["sync": "1"])).gives(0)
        for account in ["a", "b"] {
            k.copy(GP(account, "s")).gives(-25300)
            k.copy(GP(account, "s", ["sync": true])).gives(0)
        }
        k.add(GP("c", "s", ["sync": "yes"])).gives(-50)
        k.add(GP("c", "s", ["sync": bytes("1")])).gives(-50)
    },
    Row(251, "an add with kSecAttrSynchronizableAny adds a local item") { k in
        k.add(GP("a", "s", ["sync": any])).gives(0)
        let found = try k.copy(GP("a", "s", ["R.attrs": true])).givesDictionary()
        #expect(found["sync"] as? Int == 0)
    },
    Row(253, "deleting a synchronizable item with kSecUseTombstones leaves a tombstone") { k in
        withTombstone(k)
        k.copy(GP("a", "s", ["sync": true, "tomb": true])).gives(0)
        k.copy(GP("a", "s", ["sync": true, "tomb": true, "R.data": true])).givesNil()
    },
    Row(254, "a search finds no tombstones by default, and an add replaces them") { k in
        withTombstone(k)
        k.copy(GP("a", "s", ["sync": true])).gives(-25300)
        withSynchronizable(k)
    },
    Row(256, "a delete that asks for tombstones deletes one") { k in
        withTombstone(k)
        k.delete(GP("a", "s", ["sync": true, "tomb": true])).gives(0)
        k.copy(GP("a", "s", ["sync": true, "tomb": true])).gives(-25300)
    },
    Row(257, "deleting a tombstone with kSecUseTombstones leaves a tombstone") { k in
        k.add(GP("a", "s")).gives(0)
        k.delete(GP("a", "s", ["useTomb": true])).gives(0)
        k.delete(GP("a", "s", ["tomb": true, "useTomb": true])).gives(0)
        k.copy(GP("a", "s", ["tomb": true])).gives(0)
    },
    Row(259, "deleting a local item leaves no tombstone by default") { k in
        k.add(GP("a", "s")).gives(0)
        k.delete(GP("a", "s")).gives(0)
        k.copy(GP("a", "s", ["tomb": true])).gives(-25300)
    },
    Row(260, "deleting a local item with kSecUseTombstones leaves a tombstone") { k in
        k.add(GP("a", "s")).gives(0)
        k.delete(GP("a", "s", ["useTomb": true])).gives(0)
        k.copy(GP("a", "s", ["tomb": true])).gives(0)
        k.copy(GP("a", "s")).gives(-25300)
    },
]

@Suite("K. Synchronizable items and tombstones") struct SectionK {
    @Test(.cases(4 * 14), arguments: Backend.allCases, sectionK)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `deleting a synchronizable item leaves a tombstone unless kSecUseTombstones is false`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        withSynchronizable(k)
        k.delete(GP("a", "s", ["sync": true])).gives(0)
        k.copy(GP("a", "s", ["sync": true, "tomb": true])).gives(0)
        withSynchronizable(k)
        k.delete(GP("a", "s", ["sync": true, "useTomb": false])).gives(0)
        k.copy(GP("a", "s", ["sync": true, "tomb": true])).gives(-25300)
        k.delete(genp(["useTomb": 1])).gives(-50)
    }
}
