// OpeningOrderTests: what a machine knows doesn't depend on when it reads entries and opens
// versions. Keys can arrive late, and the last version in a log needn't be the greatest one.

import Foundation
import KeychainCore
import KeychainSynchronization
import TestPrograms
import Testing

@Suite struct `Versions of one item in any order` {
    private let me = MachineID(Bytes16(high: 0, low: 1))
    private let name = Bytes16(high: 0, low: 7)

    private struct Place: Hashable {
        let writer: MachineID
        let index: UInt64
        let stamp: VersionStamp
    }

    /// A circle of this machine and two others.
    private var roster: Roster {
        var roster = Roster(founder: me)
        for number in 2...3 {
            let machine = MachineID(Bytes16(high: 0, low: UInt64(number)))
            _ = roster.apply(.add(machine), at: UInt64(number))
        }
        return roster
    }

    private func ledger(opening places: [Place]) -> Ledger {
        var ledger = Ledger(me: me, roster: roster)
        for number in 1...3 as ClosedRange<UInt64> {
            for index in 1...3 as ClosedRange<UInt64> {
                let entry = Ledger.Entry(
                    writer: MachineID(Bytes16(high: 0, low: number)), index: index, known: 3,
                    first: 1, acknowledged: [:], isClean: true, versions: [:], isOfInterest: true)
                _ = ledger.take(entry)
            }
        }
        for place in places {
            _ = ledger.take([name: place.stamp], of: place.writer, at: place.index)
        }
        _ = ledger.settle()
        return ledger
    }

    @Test(arguments: 1...500 as ClosedRange<UInt64>)
    func `the greatest version counts, and is in a log or yet to be appended`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var places: [Place] = []
        for number in 1...3 as ClosedRange<UInt64> {
            for index in 1...3 as ClosedRange<UInt64> {
                for _ in 0..<Int.random(in: 0...2, using: &random) {
                    places.append(
                        Place(
                            writer: MachineID(Bytes16(high: 0, low: number)), index: index,
                            stamp: VersionStamp(
                                modified: Double(Int.random(in: 1...4, using: &random)),
                                isDeletion: .random(using: &random), digest: .zero)))
                }
            }
        }
        guard let greatest = places.map(\.stamp).max() else { return }
        let inOrder = ledger(opening: places)
        let shuffled = ledger(opening: places.shuffled(using: &random))
        #expect(shuffled.items == inOrder.items)
        let held = try #require(inOrder.items[name])
        #expect(held.stamp == greatest)
        #expect(held.isPending != !held.places.isEmpty)
        for (writer, index) in held.places {
            #expect(places.contains(Place(writer: writer, index: index, stamp: greatest)))
        }
    }
}

@Suite struct `Entries that become void after a machine has read them` {
    private let server = TestServer()

    /// Gives the machine a new replica, which has read the machine's own log.
    private func restart(_ machine: TestMachine) throws {
        let old = machine.replica
        machine.replica = Replica(
            old.keys, try server.circle(), circleKey: old.circleKey,
            groupKeys: Array(old.groupKeys.values), remembering: old.readHeads)
        let log = try #require(server.logs[machine.id])
        machine.replica.skip(machine.id, to: try #require(log.keys.min()))
        for (_, bytes) in log.sorted(by: { $0.key < $1.key }) {
            machine.store(try machine.replica.restore(LogEntry(decoding: bytes)))
        }
    }

    @Test func `a machine must read all logs again if a void entry made earlier entries unneeded`()
        throws
    {
        let a = try TestMachine.founder(server)
        let (b, c) = (try a.add("second"), try a.add("third"))
        let d = try a.add("fourth")
        try converge(a, b, c, d)
        for value in ["1", "2"] {
            try b.set("item", value)
            _ = try b.append()
        }
        // For machine b itself, later entries in its log make earlier ones unneeded, even if the
        // later entries are void.
        try restart(b)
        let before = c.replica.ledger.first(of: b.id)
        try c.read()
        #expect(c.replica.ledger.first(of: b.id) > before)
        #expect(!c.replica.lacksEntries)
        // Machine a has not read the entries of machine b.
        try a.carryOut(.remove(a.replica.closing(of: d.id)))
        try c.read()
        try b.read()
        #expect(c.replica.lacksEntries)
        #expect(!b.replica.lacksEntries)
        try restart(c)
        try c.read()
        #expect(!c.replica.lacksEntries)
        try converge(a, b, c)
        for machine in [a, b, c] { #expect(machine.values == ["item": "2"]) }
    }
}

@Suite struct `Versions in a removed machine's log` {
    /// The server doesn't show the last entry of the removed machine's log, so that the versions in
    /// the entries before it are held back. One of these versions is later than the version that
    /// the second machine's log drops.
    @Test func `an item isn't taken for deleted while its current version is held back`() throws {
        let server = TestServer()
        let a = try TestMachine.founder(server)
        let (b, c) = (try a.add("second"), try a.add("third"))
        try converge(a, b, c)
        for value in ["0", "1"] {
            try b.set("x", value)
            _ = try b.append()
        }
        try c.exchange()
        c.clock = b.clock
        try c.set("x", "2")
        _ = try c.append()
        let end = try #require(server.logs[c.id]?.keys.max())
        try b.read(c.id)
        try c.set("y", "1")
        _ = try c.append()
        try a.exchange()
        let d = try a.add("fourth")
        _ = try a.append()
        try a.carryOut(.remove(a.replica.closing(of: c.id)))
        let hidden = server.logs[c.id]?.removeValue(forKey: end + 1)
        #expect(hidden != nil)
        try d.read()
        #expect(d.values == ["x": "1"])

        // The second machine's log drops its version.
        try b.exchange()
        try a.exchange()
        try d.read()
        #expect(d.values == ["x": "1"])
        server.logs[c.id]?[end + 1] = hidden
        try d.read()
        #expect(d.values == ["x": "2", "y": "1"])
    }

    /// The removed machine still has its keys, and has replaced the entry before a gap with another
    /// entry. The last entry of its log is void, and says that the entries before the last entry
    /// aren't needed.
    @Test func `versions before a gap don't count, even if a void entry says they aren't needed`()
        throws
    {
        let server = TestServer()
        let a = try TestMachine.founder(server)
        let (b, c) = (try a.add("second"), try a.add("third"))
        let d = try a.add("fourth")
        try a.set("other", "1")
        try converge(a, b, c, d)
        try c.set("x", "1")
        _ = try c.append()
        try a.read(c.id)
        let log = try #require(server.logs[c.id])
        let index = try #require(log.keys.max())
        let entry = try LogEntry(decoding: try #require(log[index]))
        try a.carryOut(.remove(a.replica.closing(of: d.id)))
        for value in ["2", "3"] {
            try c.set("x", value)
            _ = try c.append()
            try a.read(c.id)
        }
        try a.carryOut(.remove(a.replica.closing(of: c.id)))
        #expect(a.replica.ledger.isVoid(c.id, index + 2))

        let key = try #require(c.replica.groupKeys.values.first)
        let forged = try #require(
            SynchronizedItem(
                TestMachine.record("x", at: 900_000_000), .whenUnlocked,
                data: Data("forged".utf8)))
        let version = SealedVersion(forged, under: key, at: entry.place(ofPart: 0))
        let anew = try LogEntry(entry.frame, [.version(version)], by: c.replica.keys)
        let last = try #require(server.logs[c.id]?[index + 2])
        server.logs[c.id] = [index: anew.bytes]
        try b.read()
        b.replica.skip(c.id, to: index + 2)
        b.store(try b.replica.take(LogEntry(decoding: last)))
        while let changes = b.replica.openConfirmed() { b.store(changes) }
        #expect(b.replica.nextIndex(of: c.id) == index + 3)
        #expect(b.values == ["other": "1"])
    }
}
