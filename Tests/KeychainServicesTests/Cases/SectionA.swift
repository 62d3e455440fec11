// SectionA: basic add, find and delete.

import Foundation
import KeychainServices
import Testing

let sectionA: [Row] = [
    Row(1, "nothing is found in an empty keychain") { k in
        for returns in ["R.data", "R.attrs", "R.ref", "R.pref"] {
            k.copy(genp(["svc": "unique-3f2c", returns: true])).gives(-25300)
        }
    },
    Row(2, "an item is added without a result pointer") { k in
        k.addWithoutResult(GP("a", "s", ["data": bytes("x")])).gives(0)
        k.copy(GP("a", "s")).gives(0)
    },
    Row(4, "account and service may be missing") { k in
        k.add(genp(["data": bytes("x")])).gives(0)
        k.copy(genp(["acct": "", "svc": ""])).gives(0)
    },
    Row(5, "missing account and service take part in uniqueness") { k in
        k.add(genp(["data": bytes("x")])).gives(0)
        k.add(genp(["data": bytes("y")])).gives(-25299)
        k.add(GP("", "", ["data": bytes("y")])).gives(-25299)
    },
    Row(7, "a duplicate leaves the item unchanged") { k in
        k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
        k.add(GP("a", "s", ["data": bytes("y")])).gives(-25299)
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
    },
    Row(8, "label, generic and description don't make an item different") { k in
        k.add(GP("a", "s", ["labl": "1"])).gives(0)
        k.add(GP("a", "s", ["labl": "2", "gena": "g", "desc": "d"])).gives(-25299)
    },
    Row(10, "an internet password can be added only once") { k in
        k.add(jdoe).gives(0)
        k.add(jdoe).gives(-25299)
    },
    Row(11, "an internet password is found by all the attributes it was added with") { k in
        k.add(jdoe).gives(0)
        try k.copy(jdoe.merging(["R.data": true]) { $1 }).givesData(bytes("test"))
    },
    Row(12, "attributes come without the data") { k in
        k.add(jdoe).gives(0)
        let found = try k.copy(jdoe.merging(["R.attrs": true]) { $1 }).givesDictionary()
        #expect(found["v_Data"] == nil)
        #expect(found["srvr"] as? String == "corey.com")
        #expect(found["port"] as? Int == 80)
    },
    Row(13, "a returned attribute dictionary is a valid query") { k in
        k.add(jdoe).gives(0)
        for returns in [["R.attrs": true], ["R.attrs": true, "R.data": true]] {
            var query = try k.copy(jdoe.merging(returns) { $1 }).givesDictionary()
            query["class"] = "inet"
            query["R.data"] = true
            try k.copy(query).givesData(bytes("test"))
        }
    },
    Row(14, "an item is deleted with the dictionary that added it") { k in
        k.add(jdoe).gives(0)
        k.delete(jdoe).gives(0)
        k.copy(jdoe).gives(-25300)
    },
    Row(16, "there is nothing to update in an empty keychain") { k in
        k.update(GP("a", "s"), ["labl": "x"]).gives(-25300)
    },
    Row(17, "an item of 20 MiB is kept whole") { k in
        // The data has 320 parts. Each part ends with its own number.
        let part = Data((0..<65_534).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        let data = (0..<320).reduce(into: Data()) { data, number in
            data.append(part)
            data.append(contentsOf: [UInt8(number >> 8), UInt8(number & 0xFF)])
        }
        #expect(data.count == 20 << 20)
        k.add(GP("a", "s", ["data": data])).gives(0)
        let found = try k.copy(GP("a", "s", ["R.data": true])).givesData()
        #expect(found == data, "the bytes differ")
    },
    Row(19, "a search needs no result pointer") { k in
        k.add(GP("a", "s")).gives(0)
        k.copyWithoutResult(GP("a", "s", ["R.attrs": true])).gives(0)
    },
    Row(20, "the keychain sets both dates of a new item") { k in
        let old = Date(timeIntervalSinceReferenceDate: 0)
        k.add(GP("a", "s", ["cdat": old, "mdat": old])).gives(0)
        let found = try k.copy(GP("a", "s", ["R.attrs": true])).givesDictionary()
        let created = try #require(found["cdat"] as? Date)
        #expect(created > old)
        #expect(found["mdat"] as? Date == created)
    },
]

private var jdoe: Entries {
    inet([
        "srvr": "corey.com", "acct": "jdoe", "port": 80, "ptcl": "http", "atyp": "dflt",
        "data": bytes("test"),
    ])
}

@Suite("A. Basic add, find and delete") struct SectionA {
    @Test(.cases(4 * 15), arguments: Backend.allCases, sectionA)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }
}
