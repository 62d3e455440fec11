// HostileServerTests: a server that withholds, replays, swaps, drops, reorders and alters records,
// and shows forks of logs. No machine accepts anything wrong, and what can be noticed is reported.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSynchronization
import Testing

@Suite struct HostileServerTests {
    private let server = TestServer()
    private let a: TestMachine
    private let b: TestMachine

    init() throws {
        (a, b) = try TestMachine.pair(server)
    }

    /// Makes entries of a machine's log that are not on the server.
    private func entries(of machine: TestMachine, _ count: Int) throws -> [LogEntry] {
        try (0..<count).map { number in
            try machine.set("new \(number)", "\(number)")
            let entry = try #require(
                try machine.replica.nextEntry(compacts: false) { machine.items[$0] })
            machine.replica.confirm()
            return entry
        }
    }

    private func failure(_ entry: LogEntry, by machine: TestMachine) -> SynchronizationFailure? {
        do {
            _ = try machine.replica.take(entry)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a skipped entry that is shown later is refused, but not reported as a fork`()
        throws
    {
        let late = try entries(of: a, 3)
        b.replica.skip(a.id, to: late[2].index)
        #expect(failure(late[1], by: b) != nil)
        #expect(b.replica.notices == [])
        #expect(failure(late[2], by: b) == nil)
    }

    @Test func `an entry is refused until all entries before it have been read`() throws {
        let new = try entries(of: a, 3)
        guard case .gap = failure(new[1], by: b), case .gap = failure(new[2], by: b) else {
            Issue.record("taken out of order")
            return
        }
        #expect(failure(new[0], by: b) == nil)
        guard case .gap = failure(new[2], by: b) else {
            Issue.record("taken out of order")
            return
        }
        #expect(failure(new[1], by: b) == nil)
        b.store(try b.replica.take(new[2]))
        #expect(b.values["new 2"] == "2")
        #expect(b.replica.notices.isEmpty)
    }

    @Test func `an entry that the server shows again is refused as repeated`() throws {
        let new = try entries(of: a, 2)
        #expect(failure(new[0], by: b) == nil)
        #expect(failure(new[1], by: b) == nil)
        for entry in new {
            guard case .repeated = failure(entry, by: b) else {
                Issue.record("taken twice")
                return
            }
        }
        #expect(b.replica.notices == [])
    }

    @Test func `a second, different entry at the same index is refused as a fork`() throws {
        let c = try a.add("third")
        try converge(a, b, c)
        let copy = TestMachine(a.replica, server)
        copy.items = a.items
        let one = try entries(of: a, 2)
        try copy.set("other", "value")
        let other = try entries(of: copy, 2)
        #expect(failure(one[0], by: b) == nil)
        guard case .fork = failure(other[0], by: b), case .fork = failure(other[1], by: b) else {
            Issue.record("a fork is joined")
            return
        }
        #expect(b.replica.notices.count == 2)
        #expect(failure(one[1], by: b) == nil)
        // The first machine itself learns that a copy of it exists from a machine that was shown
        // the copy's entries.
        #expect(failure(other[0], by: c) == nil)
        #expect(failure(other[1], by: c) == nil)
        let entry = try #require(try c.replica.nextEntry(compacts: false) { c.items[$0] })
        guard case .fork = failure(entry, by: a) else {
            Issue.record("a machine doesn't notice its copy")
            return
        }
    }

    @Test func `an entry under another machine's name is refused`() throws {
        let c = try a.add("third")
        try converge(a, b, c)
        let entry = try entries(of: a, 1)[0]
        var frame = entry.frame
        frame.writer = c.id
        let forged = try LogEntry(frame, entry.parts, by: a.replica.keys)
        #expect(failure(forged, by: b) != nil)
        frame.writer = a.id
        let signedByOther = try LogEntry(frame, entry.parts, by: c.replica.keys)
        guard case .badSignature = failure(signedByOther, by: b) else {
            Issue.record("another machine's signature is taken")
            return
        }
    }

    @Test func `a member's entry that contains another machine's version changes nothing`() throws {
        let c = try a.add("third")
        try converge(a, b, c)
        let entry = try entries(of: a, 1)[0]
        let stolen = try #require(
            entry.parts.first { part in
                if case .version = part { true } else { false }
            })
        // A member can sign any entry. But the member can't pass off another machine's version as
        // the member's own.
        try b.set("mine", "value")
        let own = try #require(try b.replica.nextEntry(compacts: false) { b.items[$0] })
        let forged = try LogEntry(own.frame, [stolen], by: b.replica.keys)
        // The third machine doesn't have the version yet.
        for machine in [a, c] {
            let changes = try machine.replica.take(forged)
            #expect(changes == [])
            #expect(machine.replica.notices.count == 1)
        }
    }

    @Test func `an entry with one altered bit anywhere is refused`() throws {
        let entry = try entries(of: a, 1)[0]
        let bytes = entry.bytes
        let before = b.replica.ledger
        for position in bytes.indices {
            var altered = bytes
            altered[position] ^= 1 << UInt8(position % 8)
            guard let read = try? LogEntry(decoding: altered) else { continue }
            #expect(failure(read, by: b) != nil, "position \(position)")
        }
        #expect(b.replica.ledger == before)
        #expect(failure(entry, by: b) == nil)
    }

    @Test func `a membership entry with one altered bit anywhere is refused`() throws {
        let circle = try server.circle()
        let entry = try a.replica.change(
            try #require(
                a.replica.addition(
                    of: MachineKeys.random().description, name: "n", scope: .all)), created: 0)
        let bytes = entry.bytes
        for position in bytes.indices {
            var altered = bytes
            altered[position] ^= 1 << UInt8(position % 8)
            guard let read = try? MembershipEntry(decoding: altered) else { continue }
            var copy = circle
            #expect(throws: SynchronizationFailure.self, "position \(position)") {
                try copy.append(read)
            }
        }
        var copy = circle
        try copy.append(entry)
    }

    @Test func `a fork of the membership log is refused, as are entries based on it`() throws {
        let change = { (machine: MachineKeys) throws in
            try a.replica.change(
                try #require(
                    a.replica.addition(of: machine.description, name: "n", scope: .all)),
                created: 0)
        }
        let one = try change(.random())
        let other = try change(.random())
        try b.replica.take(one)
        #expect(throws: SynchronizationFailure.self) { try b.replica.take(other) }
        #expect(b.replica.notices.count == 1)
        // An entry whose writer knew the other membership log is not taken either.
        try a.replica.take(other)
        guard case .fork = failure(try entries(of: a, 1)[0], by: b) else {
            Issue.record("an entry under a forked membership log is taken")
            return
        }
    }

    @Test func `withheld entries are noticed from the entries of other machines`() throws {
        let c = try a.add("third")
        try converge(a, b, c)
        try a.set("two", "2")
        try a.exchange()
        try c.exchange()
        // The last entry of the first machine's log is hidden from the second machine.
        let hidden = server.logs[a.id]
        let last = try #require(hidden?.keys.max())
        server.logs[a.id]?[last] = nil
        try b.read()
        #expect(b.values["two"] == nil)
        #expect(b.replica.withheld[a.id] == 1)
        server.logs[a.id] = hidden
        try b.read()
        #expect(b.values["two"] == "2")
        #expect(b.replica.withheld.isEmpty)
    }

    @Test
    func `a signed head reveals withheld entries; older and altered heads are refused`() throws {
        let early = try a.replica.signedHead(moment: 1000)
        try a.set("two", "2")
        try a.exchange()
        let late = try a.replica.signedHead(moment: 2000)
        try b.replica.take(SignedHead(decoding: late.bytes))
        #expect(b.replica.withheld[a.id] == 1)
        #expect(throws: SynchronizationFailure.self) { try b.replica.take(early) }
        #expect(b.replica.heads[a.id]?.moment == 2000)
        for position in late.bytes.indices {
            var altered = late.bytes
            altered[position] ^= 1
            guard let read = try? SignedHead(decoding: altered) else { continue }
            #expect(throws: SynchronizationFailure.self) { try b.replica.take(read) }
        }
    }

    /// The offsets are those of Documentation/Synchronization.md, "Heads".
    @Test func `a head with index 0 and a digest isn't taken for that of an empty log`() throws {
        var bytes = try a.replica.signedHead(moment: 1000).bytes
        bytes.replaceSubrange(56..<64, with: repeatElement(0, count: 8))
        #expect(throws: SynchronizationFailure.self) { try SignedHead(decoding: bytes) }
        bytes.replaceSubrange(64..<96, with: repeatElement(0, count: 32))
        #expect(try SignedHead(decoding: bytes).log == .empty)
    }

    @Test func `a signed head that is dated earlier is accepted once the log has grown`()
        throws
    {
        try b.replica.take(a.replica.signedHead(moment: 2000))
        #expect(throws: SynchronizationFailure.self) {
            try b.replica.take(a.replica.signedHead(moment: 1000))
        }
        try a.set("two", "2")
        try converge(a, b)
        try b.replica.take(a.replica.signedHead(moment: 1000))
        #expect(b.replica.heads[a.id]?.moment == 1000)
    }

    @Test func `a new machine notices if logs are shorter than when it was added`() throws {
        let early = server.logs
        try a.set("two", "2")
        try converge(a, b)
        let c = try a.add("third")
        let full = server.logs
        server.logs = early
        try c.read()
        #expect(!c.replica.withheld.isEmpty)
        server.logs = full
        try c.read()
        #expect(c.replica.withheld.isEmpty)
    }

    /// An earlier session has read the membership log, but not the entries that the membership log
    /// names.
    @Test(arguments: [false, true])
    func `a new session notices if logs are shorter than when a machine was removed or suspended`(
        isRemoval: Bool
    ) throws {
        let c = try a.add("third")
        try converge(a, b, c)
        let early = server.logs
        try c.set("three", "3")
        try c.exchange()
        try a.exchange()
        let suspension = try #require(a.replica.suspension(of: c.id))
        try a.carryOut(isRemoval ? .remove(a.replica.closing(of: c.id)) : suspension)
        server.logs = early
        try b.read()
        let withheld = b.replica.withheld
        #expect(withheld[c.id] ?? 0 > 0)
        let again = TestMachine(
            Replica(
                b.replica.keys, b.replica.circle, circleKey: b.replica.circleKey,
                remembering: b.replica.settledHeads, decided: b.replica.ledger.decided), server)
        again.replica.isRestoring = true
        try again.read()
        #expect(again.replica.withheld == withheld)
    }

    @Test func `machines keep their items if the server has lost everything`() throws {
        let before = b.values
        server.logs = [:]
        try b.read()
        #expect(b.values == before)
        try b.set("two", "2")
        try b.exchange()
        #expect(b.values == ["one": "1", "two": "2"])
    }

    @Test func `a log whose first needed entry is missing isn't treated as complete`() throws {
        try a.set("two", "2")
        let entry = try #require(try a.replica.nextEntry(compacts: false) { a.items[$0] })
        server.append(entry)
        a.replica.confirm()
        let first = try #require(server.logs[a.id]?.keys.min())
        server.logs[a.id]?[first] = nil
        let c = try a.add("third")
        try c.read()
        #expect(c.replica.cursors[a.id]?.isWhole == false)
    }

    @Test func `in a log with gaps, only the missing entries count as withheld`()
        throws
    {
        for (number, entry) in try entries(of: a, 5).enumerated() {
            // Every other entry is missing.
            guard number.isMultiple(of: 2) else { continue }
            b.replica.skip(a.id, to: entry.index)
            _ = try b.replica.take(entry)
        }
        #expect(b.replica.skipped[a.id] == 2)
        #expect(b.replica.withheld[a.id] == 2)
    }

    @Test func `entries that a machine has skipped aren't acknowledged`() throws {
        // The second machine's log has a deletion, and the server shows the first machine only what
        // follows.
        b.clock = a.clock
        try b.delete("one")
        while try b.append() {}
        let deletion = try #require(server.logs[b.id]?.keys.max())
        try b.set("two", "2")
        while try b.append() {}
        let shown = server.logs[b.id]
        server.logs[b.id] = shown?.filter { $0.key > deletion }
        try a.exchange()
        #expect(a.values == ["one": "1", "two": "2"])
        #expect(a.replica.skipped[b.id] ?? 0 > 0)
        server.logs[b.id] = shown
        try b.exchange()
        // The deletion stays until the first machine's version is gone.
        let c = try b.add("third")
        try b.exchange()
        try c.exchange()
        #expect(c.values == ["two": "2"])
    }

    // MARK: Void entries

    @Test func `void entries are needed until all their versions are appended again`() throws {
        let c = try a.add("third")
        try converge(a, b, c)
        // Most entries of the first machine's log contain no version, so that compacting the log is
        // worthwhile.
        for number in 0..<62 {
            try b.set("one", "\(number)")
            try b.exchange()
            try a.exchange()
        }
        for number in 0..<300 { try a.set("item \(number)", "1") }
        while try a.append() {}
        // The second machine hasn't read these entries.
        try b.carryOut(.remove(b.replica.closing(of: c.id)))
        try a.read()
        let first = a.replica.firstNeeded
        for _ in 0..<2 {
            #expect(try a.append())
            #expect(a.replica.firstNeeded == first)
        }
        try converge(a, b)
        #expect(b.values.count == 301)
    }
}
