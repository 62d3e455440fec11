// SectionG: what makes an item unique.

import Foundation
import KeychainServices
import Testing

private var base: Entries {
    GP("a", "s", ["data": bytes("x"), "gena": "g", "labl": "l", "pdmn": "ak", "agrp": "G1"])
}

private var internetBase: Entries {
    inet([
        "acct": "a", "sdmn": "d", "srvr": "h", "ptcl": "htps", "atyp": "form", "port": 443,
        "path": "/p", "data": bytes("x"), "labl": "l", "icmt": "c", "desc": "e",
    ])
}

/// Adds the base item. Then adds, for each attribute in `names`, an item that differs from the base
/// item only in this attribute.
private func differing(
    _ number: Int, _ base: @escaping @Sendable @autoclosure () -> Entries,
    in names: [(String, any Sendable)], _ status: OSStatus
) -> Row {
    let list = names.map(\.0).joined(separator: " or ")
    return Row(
        number, "items that differ only in \(list) are \(status == 0 ? "different" : "duplicates")"
    ) { k in
        k.add(base()).gives(0)
        for (name, value) in names {
            k.add(base().merging([name: value]) { $1 }).gives(status)
        }
    }
}

private var certificateBase: Entries {
    cert(["issr": bytes("i"), "slnr": bytes("1"), "ctyp": 3, "labl": "l", "data": bytes("x")])
}

private var keyBase: Entries {
    keys([
        "kcls": "1", "klbl": bytes("l"), "atag": bytes("t"), "type": "73", "bsiz": 256,
        "labl": "l", "data": bytes("x"),
    ])
}

let sectionG: [Row] = [
    differing(
        146, certificateBase,
        in: [("issr", bytes("j")), ("slnr", bytes("2")), ("ctyp", 1)], 0),
    differing(148, keyBase, in: [("kcls", "0")], 0),
    differing(149, keyBase, in: [("klbl", bytes("other"))], 0),
    differing(151, keyBase, in: [("type", "42")], 0),
    differing(152, keyBase, in: [("bsiz", 384)], 0),
    differing(154, keyBase, in: [("crtr", 7)], 0),
    differing(155, keyBase, in: [("sdat", Date(timeIntervalSinceReferenceDate: 1))], 0),
    differing(
        157, keyBase, in: [("labl", "other"), ("encr", 1), ("decr", 0), ("sign", 0)], -25299),
    Row(158, "a private key and its public key are two items") { k in
        let key = try CertificateFixtures.shared().root.key
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        k.add(["ref": key]).gives(0)
        k.add(["ref": publicKey]).gives(0)
        let both = try k.copy(keys(["R.attrs": true, "limit": all])).givesArray(2)
        let labels = try both.map { try #require(($0 as? Entries)?["klbl"] as? Data) }
        #expect(Set(labels).count == 1)
    },
    differing(130, base, in: [("svc", "t")], 0),
    differing(131, base, in: [("agrp", "G2")], 0),
    differing(133, base, in: [("gena", "other")], -25299),
    differing(134, base, in: [("pdmn", "ck")], -25299),
    differing(136, base, in: [("data", bytes("y"))], -25299),
    differing(137, base, in: [("vwht", "v"), ("tkid", "t")], 0),
    differing(139, internetBase, in: [("srvr", "other")], 0),
    differing(140, internetBase, in: [("sdmn", "other")], 0),
    differing(142, internetBase, in: [("atyp", "http")], 0),
    differing(143, internetBase, in: [("ptcl", "http")], 0),
    differing(
        145, internetBase, in: [("labl", "other"), ("icmt", "other"), ("desc", "other")], -25299),
]

@Suite("G. Uniqueness") struct SectionG {
    @Test(.cases(4 * 20), arguments: Backend.allCases, sectionG)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test(arguments: Backend.allCases)
    func `items that differ in account, port, path or synchronizable are different`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(internetBase).gives(0)
        for (name, value) in [("acct", "b"), ("port", 80), ("path", "/q"), ("sync", true)]
            as [(String, Any)]
        {
            k.add(internetBase.merging([name: value]) { $1 }).gives(0)
            k.add(internetBase.merging([name: value]) { $1 }).gives(-25299)
        }
        try k.copy(inet(["sync": any, "R.attrs": true, "limit": all])).givesArray(5)
    }

    @Test(arguments: Backend.allCases)
    func `items whose date is -0.0, 0 or missing are duplicates`(
        on backend: Backend
    ) throws {
        let k = Client(try backend.open(), groups: ["G1"])
        k.add(keyBase.merging(["sdat": Date(timeIntervalSinceReferenceDate: -0.0)]) { $1 }).gives(0)
        k.add(keyBase.merging(["sdat": Date(timeIntervalSinceReferenceDate: 0)]) { $1 })
            .gives(-25299)
        k.add(keyBase).gives(-25299)
    }
}
