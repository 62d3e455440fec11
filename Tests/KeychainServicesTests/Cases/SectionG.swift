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

/// Adds the base and then a second item that differs in one attribute.
private func differing(
    _ number: Int, _ base: @escaping @Sendable @autoclosure () -> Entries,
    in names: [(String, any Sendable)], _ status: OSStatus
) -> Row {
    Row(number, "\(names.map(\.0)) \(status == 0 ? "makes" : "does not make") an item different") {
        k in
        k.add(base()).gives(0)
        for (name, value) in names {
            k.add(base().merging([name: value]) { $1 }).gives(status)
        }
    }
}

let sectionG: [Row] = [
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
    @Test(arguments: Backend.allCases, sectionG)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }

    @Test func `11 rows ran`() { #expect(sectionG.count == 11) }

    @Test(arguments: Backend.allCases)
    func `account, port, path and synchronizable make an item different`(
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
}
