// SectionO: what the four functions return if the storage is damaged. The cases run only with the
// engine, because `Backend.model` has no storage that could be damaged.

import Foundation
import KeychainCore
import KeychainServices
import KeychainSQLite
import Testing

/// A case that needs the engine's files.
struct DamageRow: Sendable, CustomTestStringConvertible {
    let number: Int
    let title: String
    let body: @Sendable (Client, EngineUnderTest) throws -> Void

    init(
        _ number: Int, _ title: String,
        _ body: @escaping @Sendable (Client, EngineUnderTest) throws -> Void
    ) {
        self.number = number
        self.title = title
        self.body = body
    }

    var testDescription: String { "\(number): \(title)" }
}

private func withItem(_ k: Client) {
    k.add(GP("a", "s", ["data": bytes("x")])).gives(0)
}

let sectionO: [DamageRow] = [
    DamageRow(340, "a keychain is usable again after its file mode is restored") { k, engine in
        withItem(k)
        engine.close()
        try setMode(0o644, of: engine.path(.database))
        #expect(throws: KeychainFailure.self) { try engine.restart() }
        try setMode(0o600, of: engine.path(.database))
        try engine.restart()
        try engine.unlock()
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
    },
    // Differences.md: Apple replaces the database with an empty one.
    DamageRow(341, "a database with invalid content is unavailable and is kept") { k, engine in
        withItem(k)
        engine.close()
        let garbage = Data(repeating: 0xA5, count: 64 << 10)
        try garbage.write(to: URL(fileURLWithPath: engine.path(.database)))
        try setMode(0o600, of: engine.path(.database))
        for _ in 1...2 {
            let failure = #expect(throws: KeychainFailure.self) { try engine.restart() }
            #expect(failure?.status == .notAvailable)
        }
        #expect(FileManager.default.contents(atPath: engine.path(.database)) == garbage)
    },
    // Differences.md: Apple returns -25300 and deletes the row.
    DamageRow(343, "a search reports a damaged item and doesn't delete it") { k, engine in
        withItem(k)
        try engine.damageItem()
        for _ in 1...2 {
            k.copy(GP("a", "s", ["R.data": true])).gives(-26275)
            k.copy(GP("a", "s", ["R.attrs": true, "limit": all])).gives(-26275)
        }
        try engine.damageItem()
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("x"))
    },
    DamageRow(344, "an add replaces a damaged item") { k, engine in
        withItem(k)
        try engine.damageItem()
        k.add(GP("a", "s", ["data": bytes("y")])).gives(0)
        try k.copy(GP("a", "s", ["R.data": true])).givesData(bytes("y"))
    },
    DamageRow(349, "adding a duplicate leaves the keybag unchanged") { k, engine in
        withItem(k)
        let before = FileManager.default.contents(atPath: engine.path(.keybag))
        k.add(GP("a", "s", ["data": bytes("y"), "pdmn": "cku"])).gives(-25299)
        #expect(before != nil)
        #expect(FileManager.default.contents(atPath: engine.path(.keybag)) == before)
    },
    // Differences.md: Apple returns -25300.
    DamageRow(350, "an item with the secret of another item can't be read") { k, engine in
        withItem(k)
        k.add(GP("b", "s", ["data": bytes("y")])).gives(0)
        try engine.tamper { rows in
            var mixed = rows
            mixed[0].secret = rows[1].secret
            mixed[1].secret = rows[0].secret
            return mixed
        }
        k.copy(GP("a", "s", ["R.data": true])).gives(-26275)
        k.copy(GP("b", "s", ["R.data": true])).gives(-26275)
    },
    // A case of section H. Differences.md: Apple returns -25300 and deletes the row.
    DamageRow(190, "a damaged item can't be updated, but an add replaces it") { k, engine in
        withItem(k)
        try engine.damageItem()
        k.update(GP("a", "s"), ["labl": "L"]).gives(-26275)
        k.add(GP("a", "s", ["data": bytes("y")])).gives(0)
        k.update(GP("a", "s"), ["labl": "L"]).gives(0)
    },
]

private func setMode(_ mode: Int, of path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
}

@Suite("O. Damage") struct SectionO {
    @Test(.cases(7), arguments: sectionO)
    func row(_ row: DamageRow) throws {
        let engine = try EngineUnderTest()
        try row.body(Client(engine, groups: ["G1", "G2"]), engine)
    }

    @Test func `a search returns undamaged items even if another item is damaged`() throws {
        let engine = try EngineUnderTest()
        let k = Client(engine, groups: ["G1"])
        withItem(k)
        try engine.damageItem()
        k.add(GP("b", "s", ["data": bytes("y")])).gives(0)
        let found = try k.copy(genp(["svc": "s", "R.attrs": true, "limit": all])).givesArray(1)
        #expect((found.first as? Entries)?["acct"] as? String == "b")
    }
}
