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
    Row(459, "what an item was added without of its primary key is there, and empty") { k in
        for (name, empty) in emptyKeys {
            let added = try k.add(["class": name, "R.attrs": true]).givesDictionary()
            let found = try k.copy(["class": name, "R.attrs": true]).givesDictionary()
            #expect(found as NSDictionary == added as NSDictionary)
            for (key, value) in empty {
                #expect(found[key] as? NSObject == value, "\(key) of \(name)")
            }
            let others = ["cdat", "mdat", "agrp", "pdmn", "sync", "tomb", "musr", "accc"]
            #expect(Set(found.keys) == Set(empty.keys).union(others))
            // A dictionary with the defaults is a query as good as any, and names the same item.
            let query = found.merging(["class": name]) { $1 }
            k.copy(query).gives(0)
            k.update(query, found.merging(["labl": "L"]) { $1 }).gives(0)
            k.add(empty.merging(["class": name as NSString]) { $1 }).gives(-25299)
            k.delete(empty.merging(["class": name as NSString]) { $1 }).gives(0)
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

/// The attributes of each class's primary key, as they are where they weren't given.
private var emptyKeys: [String: [String: NSObject]] {
    let text: NSObject = NSString()
    let data: NSObject = NSData()
    let number: NSObject = NSNumber(value: 0)
    let date: NSObject = NSDate(timeIntervalSinceReferenceDate: 0)
    return [
        "genp": ["acct": text, "svce": text],
        "inet": [
            "acct": text, "sdmn": text, "srvr": text, "path": text, "atyp": text,
            "ptcl": number, "port": number,
        ],
        "cert": ["ctyp": number, "issr": data, "slnr": data],
        "keys": [
            "kcls": number, "type": number, "crtr": number, "bsiz": number, "esiz": number,
            "klbl": data, "atag": text, "sdat": date, "edat": date,
        ],
    ]
}

@Suite("U. What other libraries rely on") struct SectionU {
    @Test(.cases(4 * 3), arguments: Backend.allCases, sectionU)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }
}
