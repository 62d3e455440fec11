// SectionU: what tests of other libraries rely on, and Apple's own do not show.

import Foundation
import KeychainServices
import Testing

let sectionU: [Row] = [
    Row(457, "a synchronizable item may be of a class of this device only") { k in
        for protection in thisDeviceOnly {
            let control = try #require(accessControl(protection))
            for (name, value) in [("pdmn", protection), ("accc", control)] as [(String, Any)] {
                k.add(GP(protection, name, ["sync": true, name: value, "data": bytes("x")]))
                    .gives(0)
                k.copy(GP(protection, name)).gives(-25300)
                try expectSynchronizable(k, GP(protection, name), protection)
            }
        }
    },
    Row(458, "an item becomes synchronizable and of a class of this device only") { k in
        for protection in thisDeviceOnly {
            k.add(GP(protection, "1", ["sync": true, "data": bytes("x")])).gives(0)
            k.update(GP(protection, "1", ["sync": true]), ["pdmn": protection]).gives(0)
            try expectSynchronizable(k, GP(protection, "1"), protection)
            k.add(GP(protection, "2", ["data": bytes("x")])).gives(0)
            k.update(GP(protection, "2"), ["sync": true, "pdmn": protection]).gives(0)
            k.copy(GP(protection, "2")).gives(-25300)
            try expectSynchronizable(k, GP(protection, "2"), protection)
        }
    },
]

private let thisDeviceOnly = ["aku", "cku", "dku", "akpu"]

/// Expects a synchronizable item of a class, with its data.
private func expectSynchronizable(
    _ k: Client, _ entries: Entries, _ protection: String
) throws {
    let every: Entries = ["sync": true, "R.attrs": true, "R.data": true]
    let found = try k.copy(entries.merging(every) { $1 }).givesDictionary()
    #expect(found["sync"] as? Int == 1)
    #expect(found["pdmn"] as? String == protection)
    #expect(found["v_Data"] as? Data == bytes("x"))
}

@Suite("U. What other libraries rely on") struct SectionU {
    @Test(.cases(4 * 2), arguments: Backend.allCases, sectionU)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }
}
