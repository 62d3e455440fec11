// SectionL: access groups.

import Foundation
import KeychainServices
import Testing

let sectionL: [Row] = [
    Row(262, "an item without a group is added to the caller's first group") { k in
        k.member(of: "A", "B").add(GP("a", "s", ["data": bytes("x")])).gives(0)
        let found = try k.member(of: "B", "A").copy(GP("a", "s", ["R.attrs": true]))
            .givesDictionary()
        #expect(found["agrp"] as? String == "A")
    },
    Row(263, "one group suffices to add, find and delete an item") { k in
        let x = k.member(of: "X")
        x.copy(GP("a", "s", ["agrp": "X"])).gives(-25300)
        x.add(GP("a", "s", ["agrp": "X"])).gives(0)
        x.delete(GP("a", "s", ["agrp": "X"])).gives(0)
    },
    Row(269, "a group that the caller no longer has can't be searched or updated") { k in
        k.member(of: "A").add(GP("a", "s")).gives(0)
        k.member(of: "B").copy(GP("a", "s", ["agrp": "A"])).gives(-34018)
        k.member(of: "B").update(GP("a", "s", ["agrp": "A"]), ["labl": "x"]).gives(-34018)
    },
    Row(271, "no item is added to a foreign group") { k in
        k.member(of: "A").add(GP("a", "s", ["agrp": "B"])).gives(-34018)
        k.member(of: "B").copy(GP("a", "s")).gives(-25300)
    },
    Row(272, "a foreign group can't be searched") { k in
        k.member(of: "A").copy(GP("a", "s", ["agrp": "B"])).gives(-34018)
    },
    Row(274, "a search covers all groups of the caller") { k in
        k.member(of: "A").add(GP("a", "s")).gives(0)
        k.member(of: "B", "A").copy(GP("a", "s")).gives(0)
    },
    Row(275, "items with the same primary key in two groups are different") { k in
        k.member(of: "A").add(GP("a", "s")).gives(0)
        k.member(of: "B").add(GP("a", "s")).gives(0)
        let found = try k.member(of: "A", "B").copy(GP("a", "s", ["limit": all, "R.attrs": true]))
            .givesArray(2)
        #expect((found as? [Entries])?.compactMap { $0["agrp"] as? String } == ["A", "B"])
    },
    Row(277, "a caller can't find or change an item of a foreign group") { k in
        k.member(of: "A").add(GP("a", "s")).gives(0)
        let b = k.member(of: "B")
        b.copy(GP("a", "s")).gives(-25300)
        b.update(GP("a", "s"), ["labl": "x"]).gives(-25300)
        b.delete(GP("a", "s")).gives(-25300)
        b.add(GP("a", "s")).gives(0)
    },
    Row(278, "a caller with the group * sees the items of every group") { k in
        k.member(of: "A").add(GP("a", "s")).gives(0)
        let everyone = k.member(of: "*")
        everyone.copy(GP("a", "s", ["agrp": "A"])).gives(0)
        everyone.copy(GP("a", "s")).gives(0)
        everyone.copy(GP("a", "s", ["agrp": "anything"])).gives(-25300)
    },
    Row(280, "the token group can't be written to") { k in
        let token = k.member(of: "com.apple.token")
        token.add(GP("a", "s")).gives(-34018)
        token.add(GP("a", "s", ["agrp": "com.apple.token"])).gives(-34018)
        token.copy(GP("a", "s")).gives(-25300)
        k.member(of: "A", "com.apple.token").add(GP("a", "s", ["agrp": "com.apple.token"]))
            .gives(-34018)
    },
]

@Suite("L. Access groups") struct SectionL {
    @Test(.cases(4 * 10), arguments: Backend.allCases, sectionL)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `a caller without an access group can't do anything`(on backend: Backend) throws {
        let groupless = Client(try backend.open(), groups: [])
        groupless.add(GP("a", "s")).gives(-34018)
        groupless.copy(GP("a", "s")).gives(-34018)
        groupless.update(GP("a", "s"), ["labl": "x"]).gives(-34018)
        groupless.delete(GP("a", "s")).gives(-34018)
    }
}
