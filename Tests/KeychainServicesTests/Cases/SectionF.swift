// SectionF: types of values and their conversion.

import Foundation
import KeychainServices
import Testing

let sectionF: [Row] = [
    Row(118, "a date attribute takes dates only") { k in
        k.add(keys(["sdat": "2020"])).gives(-50)
        k.add(keys(["sdat": Date(timeIntervalSince1970: 0)])).gives(0)
    },
    Row(119, "a key class is given as text and comes back as a number") { k in
        k.add(keys(["kcls": "1"])).gives(0)
        let attributes = try k.copy(keys(["kcls": "1", "R.attrs": true])).givesDictionary()
        #expect(attributes["kcls"] as? NSNumber == 1)
    },
    Row(106, "data finds text with the same bytes") { k in
        k.add(genp(["acct": "x"])).gives(0)
        let found = try k.copy(genp(["acct": bytes("x"), "R.attrs": true])).givesDictionary()
        #expect(found["acct"] as? String == "x")
    },
    Row(107, "text and data with the same bytes are duplicates") { k in
        k.add(GP("x", "s")).gives(0)
        k.add(GP(bytes("x"), "s")).gives(-25299)
    },
    Row(109, "an account may be a number") { k in
        k.add(genp(["acct": 5])).gives(0)
        let found = try k.copy(genp(["acct": 5, "R.attrs": true])).givesDictionary()
        #expect(found["acct"] as? Int == 5)
        #expect(!(found["acct"] is String))
    },
    Row(110, "a blob attribute accepts no boolean, date, null, UUID, array or fraction") { k in
        for value in [true, Date(), NSNull(), UUID(), [1], 1.5] as [Any] {
            k.add(genp(["acct": value])).gives(-50)
            k.copy(genp(["acct": value])).gives(-50)
        }
    },
    Row(112, "digits in a number attribute become a number") { k in
        k.add(inet(["port": "80"])).gives(0)
        let found = try k.copy(inet(["port": 80, "R.attrs": true])).givesDictionary()
        #expect(found["port"] as? Int == 80)
        #expect(!(found["port"] is String))
    },
    Row(113, "a boolean in a number attribute becomes a number") { k in
        k.add(inet(["port": true])).gives(0)
        let found = try k.copy(inet(["port": 1, "R.attrs": true])).givesDictionary()
        #expect(found["port"] as? Int == 1)
    },
    Row(115, "other text in a number attribute stays text") { k in
        k.add(inet(["ptcl": "htps", "atyp": "form"])).gives(0)
        let found = try k.copy(inet(["ptcl": "htps", "atyp": "form", "R.attrs": true]))
            .givesDictionary()
        #expect(found["ptcl"] as? String == "htps")
        #expect(found["atyp"] as? String == "form")
    },
    Row(116, "a number attribute accepts no data") { k in
        k.add(inet(["port": bytes("80")])).gives(-50)
    },
    // Differences.md: Apple's platforms accept an access group given as data only in a search.
    Row(121, "a text attribute accepts data only if the data are UTF-8") { k in
        k.add(GP("a", "s", ["agrp": bytes("G1")])).gives(0)
        let found = try k.copy(GP("a", "s", ["agrp": "G1", "R.attrs": true])).givesDictionary()
        #expect(found["agrp"] as? String == "G1")
        k.add(GP("b", "s", ["agrp": Data([0xFF, 0xFE])])).gives(-50)
    },
    Row(122, "a text attribute accepts no number") { k in
        k.add(GP("a", "s", ["agrp": 5])).gives(-50)
    },
    Row(124, "an update refuses text, null or a number as the data") { k in
        k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
        k.update(GP("a", "s"), ["data": "string"]).gives(-50)
        k.update(GP("a", "s"), ["data": NSNull()]).gives(-50)
        k.update(GP("a", "s"), ["data": 1]).gives(-50)
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
    },
    Row(125, "an update changes the data") { k in
        k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
        k.update(GP("a", "s"), ["data": bytes("y")]).gives(0)
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("y"))
    },
    Row(127, "text is not normalized") { k in
        let composed = "\u{FC}"
        let decomposed = "u\u{308}"
        k.add(GP(composed, "s", ["labl": composed])).gives(0)
        k.copy(genp(["labl": decomposed])).gives(-25300)
        k.copy(genp(["labl": composed])).gives(0)
        k.add(GP(decomposed, "s")).gives(0)
    },
    Row(128, "text is compared case-sensitively") { k in
        k.add(GP("A", "s")).gives(0)
        k.copy(genp(["acct": "a"])).gives(-25300)
    },
]

@Suite("F. Types of values") struct SectionF {
    @Test(.cases(4 * 16), arguments: Backend.allCases, sectionF)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `blob attributes keep a value's type, and number and text attributes convert the value`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let date = Date(timeIntervalSinceReferenceDate: 700_000_123.456)
        let given: Entries = [
            "acct": Data([0, 255, 0]), "svce": "", "labl": 7, "desc": "d\u{0}e",
            "icmt": "\u{1F511}",
            "gena": Data(), "crtr": 1_668_246_895, "type": "16", "invi": true, "nega": false,
            "vwht": bytes("view"), "alis": "x",
        ]
        k.add(genp(given)).gives(0)
        k.update(genp(), ["cdat": date]).gives(0)
        let found = try k.copy(genp(["R.attrs": true])).givesDictionary()
        #expect(found["acct"] as? Data == Data([0, 255, 0]))
        #expect(found["svce"] as? String == "")
        #expect(found["labl"] as? Int == 7)
        #expect(found["desc"] as? String == "d\u{0}e")
        #expect(found["icmt"] as? String == "\u{1F511}")
        #expect(found["gena"] as? Data == Data())
        #expect(found["crtr"] as? Int == 1_668_246_895)
        #expect(found["type"] as? Int == 16)
        #expect(found["invi"] as? Int == 1)
        #expect(found["nega"] as? Int == 0)
        #expect(found["vwht"] as? String == "view")
        #expect(found["cdat"] as? Date == date)
    }

    @Test(arguments: Backend.allCases)
    func `a text attribute accepts a UUID`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let identifier = UUID()
        k.add(GP("a", "s", ["vwht": identifier])).gives(0)
        let found = try k.copy(GP("a", "s", ["R.attrs": true])).givesDictionary()
        #expect(found["vwht"] as? String == identifier.uuidString)
    }

    // SecDbItem.c, copyNumber, accepts text only in the exact form in which a 32-bit integer is
    // printed.
    @Test(arguments: Backend.allCases)
    func `a port given as text is stored as a number if it is a canonical 32-bit integer`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        let rows: [(text: String, number: Int?)] = [
            ("0", 0), ("-7", -7), ("2147483647", 2_147_483_647), ("-2147483648", -2_147_483_648),
            ("2147483648", nil), ("-2147483649", nil), ("99999999999999999999", nil),
            ("+5", nil), (" 5", nil), ("05", nil), ("-0", nil), ("5.0", nil), ("", nil),
        ]
        for (text, number) in rows {
            k.add(inet(["port": text])).gives(0)
            let found = try k.copy(inet(["port": text, "R.attrs": true])).givesDictionary()
            #expect(found["port"] as? String == (number == nil ? text : nil), "\(text)")
            if let number {
                #expect(found["port"] as? Int == number, "\(text)")
                k.copy(inet(["port": number])).gives(0)
            }
        }
    }

    // SecDbItem.c, copyUUID; SecDbQuery.c, query_update_applier.
    @Test(arguments: Backend.allCases)
    func `the user attribute must be a UUID or empty, and is ignored in an update`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(GP("a", "s")).gives(0)
        for none in [Data(), NSNull()] as [Any] { k.copy(genp(["musr": none])).gives(0) }
        for other in [UUID(), Data(repeating: 1, count: 16)] as [Any] {
            k.copy(genp(["musr": other])).gives(-25300)
        }
        for wrong in [bytes("x"), "user", 5, true] as [Any] {
            k.copy(genp(["musr": wrong])).gives(-50)
            k.update(GP("a", "s"), ["musr": wrong, "labl": "x"]).gives(0)
        }
    }

    @Test(arguments: Backend.allCases)
    func `a token identifier must be text`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(GP("a", "s", ["tkid": bytes("t")])).gives(-50)
        k.copy(genp(["tkid": 1])).gives(-50)
    }

    @Test(arguments: Backend.allCases)
    func `a date attribute accepts only a date`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(GP("a", "s")).gives(0)
        k.update(GP("a", "s"), ["cdat": "2020"]).gives(-50)
        k.update(GP("a", "s"), ["cdat": 5]).gives(-50)
        k.copy(genp(["mdat": NSNull()])).gives(-50)
    }

    @Test(arguments: Backend.allCases)
    func `null doesn't clear an attribute`(on backend: Backend) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(GP("a", "s", ["labl": "x"])).gives(0)
        for name in ["labl", "acct", "crtr", "agrp", "pdmn", "sync", "tomb"] {
            k.update(GP("a", "s"), [name: NSNull()]).gives(-50)
        }
        k.copy(GP("a", "s", ["labl": "x"])).gives(0)
    }
}
