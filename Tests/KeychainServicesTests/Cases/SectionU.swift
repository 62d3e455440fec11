// SectionU: behavior that tests of other libraries rely on, and that Apple's own tests don't show.

import Foundation
import KeychainServices
import Testing

let sectionU: [Row] = [
    Row(457, "a synchronizable item may have a class for this device only") { k in
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
    Row(458, "an update can make an item synchronizable with a class for this device only") { k in
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
    Row(459, "attributes of the primary key that an add omits get empty values") { k in
        for (name, empty) in emptyKeys {
            let added = try k.add(["class": name, "R.attrs": true]).givesDictionary()
            let found = try k.copy(["class": name, "R.attrs": true]).givesDictionary()
            #expect(found as NSDictionary == added as NSDictionary)
            for (key, value) in empty {
                #expect(found[key] as? NSObject == value, "\(key) of \(name)")
            }
            let others = ["cdat", "mdat", "agrp", "pdmn", "sync", "tomb", "musr", "accc"]
            #expect(Set(found.keys) == Set(empty.keys).union(others))
            // A dictionary with the default values is also a valid query for the same item.
            let query = found.merging(["class": name]) { $1 }
            k.copy(query).gives(0)
            k.update(query, found.merging(["labl": "L"]) { $1 }).gives(0)
            k.add(empty.merging(["class": name as NSString]) { $1 }).gives(-25299)
            k.delete(empty.merging(["class": name as NSString]) { $1 }).gives(0)
        }
    },
    Row(460, "a call with an identity object can return only a persistent reference") { k in
        let identity = try fixture().identity
        for returns in manyReturns {
            k.add(returns.merging(["ref": identity]) { $1 }).givesNil()
            k.copy(returns.merging(["ref": identity]) { $1 }).givesNil()
            k.copy(returns.merging(["ref": identity, "limit": all]) { $1 }).givesNil()
            k.delete(["ref": identity]).gives(0)
        }
        let added = try k.add(["ref": identity, "R.pref": true]).givesData()
        try k.copy(["ref": identity, "R.pref": true]).givesData(added)
        k.copy(["ref": identity, "R.pref": true, "limit": all]).givesNil()
        k.copy(["ref": try CertificateFixtures.shared().intermediate.identity, "R.data": true])
            .gives(-25300)
    },
    Row(461, "a search for only the attributes of an identity omits the certificate's data") { k in
        let fixture = try fixture()
        k.add(["ref": try fixture.identity]).gives(0)
        // A filter reads the certificate's data, but the result must still not contain the data.
        for filter: Entries in [[:], ["validOn": CertificateFixtures.today]] {
            let query = idnt(filter).merging(["R.attrs": true]) { $1 }
            let found = try k.copy(query).givesDictionary()
            #expect(found["subj"] != nil)
            #expect(found["certdata"] == nil)
            #expect(found["v_Data"] == nil)
        }
        for returns in ["R.data", "R.ref"] {
            let found = try k.copy(idnt(["R.attrs": true, returns: true])).givesDictionary()
            #expect(found["certdata"] as? Data == fixture.der)
        }
    },
    Row(462, "an issuer may be given as a whole DER name") { k in
        let fixture = try fixture()
        k.add(["ref": try fixture.identity]).gives(0)
        let whole =
            try #require(
                SecCertificateCopyNormalizedIssuerSequence(fixture.certificate)) as Data
        try k.copy(cert(["issr": whole, "R.data": true])).givesData(fixture.der)
        k.copy(idnt(["issr": whole])).gives(0)
        for other in [name("Fixture Root"), whole + [0]] {
            k.copy(cert(["issr": other])).gives(-25300)
            k.copy(idnt(["issr": other])).gives(-25300)
        }
        let added = try k.add(cert(["issr": name("Some  Issuer"), "R.attrs": true]))
            .givesDictionary()
        #expect(added["issr"] as? Data == name("SOME ISSUER").dropFirst(2))
        k.copy(cert(["issr": name("some issuer")])).gives(0)
    },
    Row(463, "an add refuses a persistent reference in an older form or to a token") { k in
        for reference in [bytes("genp") + Data(repeating: 1, count: 8), bytes("tkpr0")] {
            k.add(GP("a", "s", ["pref": reference, "data": bytes("x")])).gives(-50)
            k.add(["pref": reference, "data": bytes("x")]).gives(-50)
        }
        k.copy(genp()).gives(-25300)
    },
]

private let thisDeviceOnly = ["aku", "cku", "dku", "akpu"]

/// Expects a synchronizable item with the protection class and the data "x".
private func expectSynchronizable(
    _ k: Client, _ entries: Entries, _ protection: String
) throws {
    let every: Entries = ["sync": true, "R.attrs": true, "R.data": true]
    let found = try k.copy(entries.merging(every) { $1 }).givesDictionary()
    #expect(found["sync"] as? Int == 1)
    #expect(found["pdmn"] as? String == protection)
    #expect(found["v_Data"] as? Data == bytes("x"))
}

/// The attributes of each class's primary key, with the values that they have if an add omits them.
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

/// A distinguished name in DER with one short printable string.
private func name(_ text: String) -> Data {
    func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag, UInt8(content.count)] + content
    }
    let commonName: [UInt8] = [0x06, 3, 0x55, 4, 3]
    let attribute = element(0x30, commonName + element(0x13, Array(text.utf8)))
    return Data(element(0x30, element(0x31, attribute)))
}

/// All combinations of return keys except none and the persistent reference alone.
private var manyReturns: [Entries] {
    let names = ["R.data", "R.attrs", "R.ref", "R.pref"]
    return (1..<16).map { bits in
        names.indices.reduce(into: Entries()) { entries, index in
            if bits & 1 << index != 0 { entries[names[index]] = true }
        }
    }.filter { Array($0.keys) != ["R.pref"] }
}

private func fixture() throws -> FixtureIdentity { try CertificateFixtures.shared().root }

@Suite("U. What other libraries rely on") struct SectionU {
    @Test(.cases(4 * 7), arguments: Backend.allCases, sectionU)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }
}
