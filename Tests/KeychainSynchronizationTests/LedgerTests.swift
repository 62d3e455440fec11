// LedgerTests: rules that need more than one item or more than three machines, which `ModelTests`
// doesn't have.

import KeychainCore
import KeychainSynchronization
import Testing

@Suite struct `A machine's ledger` {
    private let me = MachineID(Bytes16(high: 0, low: 1))
    private let other = MachineID(Bytes16(high: 0, low: 2))
    private let name = Bytes16(high: 0, low: 7)

    private func stamp(_ modified: Double) -> VersionStamp {
        VersionStamp(modified: modified, isDeletion: false, digest: .zero)
    }

    private func entry(
        _ writer: MachineID, _ index: UInt64, known: UInt64 = 2, first: UInt64 = 1,
        _ versions: [Bytes16: VersionStamp] = [:]
    ) -> Ledger.Entry {
        Ledger.Entry(
            writer: writer, index: index, known: known, first: first, acknowledged: [:],
            isClean: true, versions: versions)
    }

    /// A circle of two machines. Another machine was removed, with only the first entry of this
    /// machine's log read.
    private func roster() -> Roster {
        var roster = Roster(founder: me)
        let removed = MachineID(Bytes16(high: 0, low: 3))
        _ = roster.apply(.add(other), at: 2)
        _ = roster.apply(.add(removed), at: 3)
        _ = roster.apply(.remove(removed, [me: 1]), at: 4)
        return roster
    }

    @Test func `the first needed entry doesn't decrease after an entry that is void`() throws {
        var ledger = Ledger(me: me, roster: roster())
        // The second entry, which is void, made the first one unneeded.
        _ = ledger.take(entry(me, 1, known: 3, [name: stamp(1)]))
        _ = ledger.take(entry(me, 2, known: 3, first: 2, [name: stamp(1)]))
        let plan = try #require(ledger.plan(compacts: false))
        #expect(plan.first == 2)
        #expect(plan.versions == [name: stamp(1)])
    }

    @Test func `a version that is earlier than the current one isn't recorded as written`() {
        var ledger = Ledger(me: me, roster: roster())
        _ = ledger.take(entry(other, 1, known: 4, [name: stamp(2)]))
        ledger.write(name, stamp(1))
        #expect(ledger.items[name]?.stamp == stamp(2))
        #expect(ledger.items[name]?.isPending == false)
    }

    @Test func `a version that is written again stays in the log that has it`() {
        var ledger = Ledger(me: me, roster: roster())
        _ = ledger.take(entry(other, 1, known: 4, [name: stamp(2)]))
        ledger.write(name, stamp(2))
        #expect(ledger.items[name]?.places == [other: 1])
        #expect(ledger.items[name]?.earlier == [:])
    }
}
