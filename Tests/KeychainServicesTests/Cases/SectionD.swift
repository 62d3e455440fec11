// SectionD: kSecMatchLimit and several results.

import Foundation
import KeychainServices
import Testing

/// Adds three items of one service, with the accounts a1 to a3 and the data d1 to d3.
private func withThree(_ k: Client) {
    for index in 1...3 {
        k.add(GP("a\(index)", "s", ["data": bytes("d\(index)")])).gives(0)
    }
}

private func three(_ more: Entries) -> Entries {
    genp(["svc": "s"]).merging(more) { $1 }
}

let sectionD: [Row] = [
    Row(58, "the default limit is one") { k in
        withThree(k)
        let data = try k.copy(three(["R.data": true])).givesData()
        #expect(["d1", "d2", "d3"].map(bytes).contains(data))
    },
    Row(59, "a limit of one gives no array") { k in
        withThree(k)
        let data = try k.copy(three(["R.data": true, "limit": one])).givesData()
        #expect(["d1", "d2", "d3"].map(bytes).contains(data))
    },
    Row(61, "all items come as dictionaries with their data, in the order of addition") { k in
        withThree(k)
        let found = try k.copy(three(["R.data": true, "R.attrs": true, "limit": all]))
            .givesArray(3)
        let items = try #require(found as? [Entries])
        #expect(items.map { $0["acct"] as? String } == ["a1", "a2", "a3"])
        #expect(items.map { $0["v_Data"] as? Data } == ["d1", "d2", "d3"].map(bytes))
    },
    Row(62, "all references come as data") { k in
        withThree(k)
        let found = try k.copy(three(["R.pref": true, "limit": all])).givesArray(3)
        #expect((found as? [Data])?.map(\.count) == [20, 20, 20])
    },
    Row(64, "a limit of two gives two items") { k in
        withThree(k)
        try k.copy(three(["R.attrs": true, "limit": 2])).givesArray(2)
    },
    Row(65, "a limit of the number one gives no array") { k in
        withThree(k)
        let found = try k.copy(three(["R.attrs": true, "limit": 1])).givesDictionary()
        #expect((found["acct"] as? String)?.hasPrefix("a") == true)
    },
    Row(67, "a limit may exceed the number of matches") { k in
        withThree(k)
        try k.copy(three(["R.attrs": true, "limit": 100])).givesArray(3)
    },
    Row(68, "an unknown limit is refused") { k in
        withThree(k)
        k.copy(three(["R.attrs": true, "limit": "two"])).gives(-50)
        k.copy(three(["R.attrs": true, "limit": true])).gives(-50)
        k.copy(three(["R.attrs": true, "limit": -1])).gives(-50)
        k.copy(three(["R.attrs": true, "limit": 1.5])).gives(-50)
    },
    Row(70, "a search for all items without a return key gives an empty array") { k in
        withThree(k)
        try k.copy(three(["limit": all])).givesArray(0)
    },
    Row(71, "passwords have no reference objects") { k in
        withThree(k)
        try k.copy(three(["limit": all, "R.ref": true])).givesArray(0)
    },
]

@Suite("D. Limits") struct SectionD {
    @Test(.cases(4 * 10), arguments: Backend.allCases, sectionD)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `a limit of zero finds nothing, and a limit of five gives an array even for one match`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        withThree(k)
        k.copy(three(["R.attrs": true, "limit": 0])).gives(-25300)
        try k.copy(three(["acct": "a2", "R.attrs": true, "limit": 5])).givesArray(1)
        try k.copy(three(["R.data": true, "limit": all])).givesArray(3)
    }
}
