// LedgerTests: single rules of the ledger and the roster, in situations that each test constructs
// by itself. `ModelTests` tries sequences of events instead.

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

    /// A circle of two machines. A third one was removed, and the signer of the removal had read
    /// only the first entry of the log of `me`, and no entry of the log of `other`.
    private func roster() -> Roster {
        var roster = Roster(founder: me)
        let removed = MachineID(Bytes16(high: 0, low: 3))
        _ = roster.apply(.add(other), at: 2)
        _ = roster.apply(.add(removed), at: 3)
        _ = roster.apply(.remove(removed, [me: 1]), at: 4)
        return roster
    }

    @Test func `the index of the first needed entry doesn't decrease after a void entry`() throws {
        var ledger = Ledger(me: me, roster: roster())
        // The second entry, which is void, made the first one unneeded.
        _ = ledger.take(entry(me, 1, known: 3, [name: stamp(1)]))
        _ = ledger.take(entry(me, 2, known: 3, first: 2, [name: stamp(1)]))
        let plan = try #require(ledger.plan(compacts: false))
        #expect(plan.first == 2)
        #expect(plan.versions == [name: stamp(1)])
    }

    @Test func `a restart after a void entry doesn't change what the next entry acknowledges`()
        throws
    {
        func read(_ ledger: inout Ledger) {
            _ = ledger.take(entry(other, 1, known: 4, [name: stamp(1)]))
            var acknowledging = entry(me, 1, known: 3)
            acknowledging.acknowledged = [other: 1]
            _ = ledger.take(acknowledging)
            _ = ledger.take(entry(me, 2, known: 3))
        }
        var before = Roster(founder: me)
        let removed = MachineID(Bytes16(high: 0, low: 3))
        _ = before.apply(.add(other), at: 2)
        _ = before.apply(.add(removed), at: 3)
        var running = Ledger(me: me, roster: before)
        read(&running)
        running.revise(roster())
        var restarted = Ledger(me: me, roster: roster())
        read(&restarted)
        for ledger in [running, restarted] {
            let plan = try #require(ledger.plan(compacts: false))
            #expect(plan.acknowledged == [other: 1])
        }
    }

    @Test func `an older copy of a keychain doesn't count its own new entries as missed`() throws {
        var ledger = Ledger(me: me, roster: roster())
        ledger.isOldCopy = true
        _ = ledger.take(entry(me, 1, known: 4))
        #expect(!ledger.mayHaveMissedDeletions)
        ledger.append(ledger.emptyPlan, knowing: 4)
        #expect(!ledger.mayHaveMissedDeletions)
        _ = ledger.take(entry(other, 2, known: 4))
        #expect(ledger.mayHaveMissedDeletions)
    }

    @Test func `an entry that makes earlier ones unneeded states all acknowledgements again`()
        throws
    {
        var ledger = Ledger(me: me, roster: roster())
        _ = ledger.take(entry(other, 1, known: 4, [name: stamp(1)]))
        for value in 2...3 {
            ledger.write(name, stamp(Double(value)))
            let plan = try #require(ledger.plan(compacts: false))
            #expect(plan.acknowledged == (value == 2 ? [other: 1] : [:]))
            ledger.append(plan, knowing: 4)
        }
        let plan = try #require(ledger.plan(compacts: true))
        #expect(plan.first > 1)
        #expect(plan.acknowledged == [other: 1])
    }

    @Test func `a log is compacted if outdated versions keep it from being clean after a removal`()
        throws
    {
        var ledger = Ledger(me: me, roster: Roster(founder: me))
        for value in 1...2 {
            ledger.write(name, stamp(Double(value)))
            ledger.append(try #require(ledger.plan(compacts: false)), knowing: 1)
        }
        #expect(!ledger.isWorthCompacting)
        ledger.revise(roster())
        #expect(ledger.isWorthCompacting)
    }

    /// The third machine copied the removed machine's log into its own, and retired the removed
    /// machine's log. The server hid the copies from the machine that later removed the third one.
    /// So the copies are void, and the retired log, which is gone, counts again.
    @Test func `an item isn't deleted if a log that counts again is gone`() {
        let third = MachineID(Bytes16(high: 0, low: 4))
        let fourth = MachineID(Bytes16(high: 0, low: 5))
        var roster = Roster(founder: third)
        _ = roster.apply(.add(me), at: 2)
        _ = roster.apply(.add(other), at: 3)
        _ = roster.apply(.remove(other, [other: 1, third: 2, me: 1]), at: 4)
        _ = roster.apply(.retire(other, [other: 1, third: 3, me: 1], signer: third), at: 5)
        _ = roster.apply(.suspend(me, [me: 2]), at: 6)
        _ = roster.apply(.add(fourth), at: 7)
        _ = roster.apply(.remove(third, [third: 2, me: 2, other: 1, fourth: 5]), at: 8)
        var ledger = Ledger(
            me: me, roster: roster, reached: [me: 2, other: 1, third: 3], decided: 2)
        _ = ledger.take(entry(me, 1, known: 3))
        _ = ledger.take(entry(me, 2, known: 5))
        _ = ledger.take(entry(third, 1, known: 3))
        _ = ledger.take(entry(third, 2, known: 4))
        _ = ledger.take(entry(fourth, 5, known: 8, first: 5))
        ledger.hold(name, stamp(1), until: [third: 2, other: 1, fourth: 5])
        #expect(ledger.mayHaveMissedDeletions)
        #expect(ledger.settle() == [])
        #expect(ledger.items[name]?.isPending == true)
    }

    @Test func `a log becomes clean although an entry has an outdated version and a needed one`()
        throws
    {
        let second = Bytes16(high: 0, low: 8)
        var ledger = Ledger(me: me, roster: Roster(founder: me))
        ledger.write(name, stamp(1))
        ledger.write(second, stamp(1))
        ledger.append(try #require(ledger.plan(compacts: false)), knowing: 1)
        ledger.write(name, stamp(2))
        ledger.append(try #require(ledger.plan(compacts: false)), knowing: 1)
        let plan = try #require(ledger.plan(compacts: true))
        #expect(plan.isClean && plan.first == 2)
        #expect(plan.versions == [second: stamp(1)])
        ledger.append(plan, knowing: 1)
        #expect(ledger.plan(compacts: true) == nil)
    }

    @Test func `an entry that was void before its log was retired stays void`() {
        var roster = roster()
        _ = roster.apply(.suspend(other, [other: 2]), at: 5)
        _ = roster.apply(.retire(other, [other: 2, me: 1], signer: me), at: 6)
        #expect(roster.standing(of: other, at: 1, knowing: 4) == .retired)
        // This entry's writer didn't know of the removal, and the removal's signer had not read the
        // entry.
        #expect(roster.standing(of: other, at: 2, knowing: 3) == .void)
    }

    @Test func `a retired log counts again if the copies of its entries become void`() {
        let third = MachineID(Bytes16(high: 0, low: 4))
        let fourth = MachineID(Bytes16(high: 0, low: 5))
        var roster = Roster(founder: me)
        for (index, machine) in [other, third, fourth].enumerated() {
            _ = roster.apply(.add(machine), at: UInt64(index) + 2)
        }
        // The fourth machine has copies of the third one's copies.
        _ = roster.apply(.suspend(other, [other: 1]), at: 5)
        _ = roster.apply(.retire(other, [other: 1, third: 5], signer: third), at: 6)
        _ = roster.apply(.suspend(third, [third: 5]), at: 7)
        _ = roster.apply(.retire(third, [third: 5, fourth: 3], signer: fourth), at: 8)
        for (writer, index) in [(other, 1), (third, 5)] as [(MachineID, UInt64)] {
            #expect(roster.standing(of: writer, at: index, knowing: 4) == .retired)
        }
        // The signer of this suspension has read all copies.
        _ = roster.apply(.suspend(fourth, [fourth: 3]), at: 9)
        #expect(roster.lapseCount == 0)
        // The signer of this removal has read neither the third machine's copies nor the fourth
        // one's.
        _ = roster.apply(.remove(fourth, [me: 9, other: 1, third: 4, fourth: 2]), at: 10)
        #expect(roster.lapseCount == 2)
        #expect(roster.standing(of: other, at: 1, knowing: 4) == .counts)
        #expect(roster.standing(of: third, at: 4, knowing: 4) == .counts)
        #expect(roster.standing(of: third, at: 5, knowing: 4) == .void)
        #expect(roster.machines[other]?.retired == 0)
        #expect(roster.machines[other]?.retiredInto == [:])
        let isRetiredAgain = roster.apply(.retire(other, [other: 1, me: 9], signer: me), at: 11)
        #expect(isRetiredAgain)
        #expect(roster.standing(of: other, at: 1, knowing: 4) == .retired)
    }

    @Test
    func `a log's retirement is final once every present machine has acknowledged the copies`()
        throws
    {
        let third = MachineID(Bytes16(high: 0, low: 4))
        let fourth = MachineID(Bytes16(high: 0, low: 5))
        var roster = Roster(founder: me)
        for (index, machine) in [other, third, fourth].enumerated() {
            _ = roster.apply(.add(machine), at: UInt64(index) + 2)
        }
        _ = roster.apply(.remove(other, [other: 1]), at: 5)
        _ = roster.apply(.retire(other, [other: 1, third: 2], signer: third), at: 6)
        var ledger = Ledger(me: me, roster: roster)
        func acknowledge(_ writer: MachineID, _ index: UInt64, _ read: LogIndexes) {
            var entry = entry(writer, index, known: 6)
            entry.acknowledged = read
            _ = ledger.take(entry)
        }
        #expect(roster.isRetired(other) && !ledger.isCopied(other))
        _ = ledger.take(entry(third, 1, known: 5, [name: stamp(1)]))
        // This entry has no versions, but the retirement names it.
        _ = ledger.take(entry(third, 2, known: 5))
        acknowledge(fourth, 1, [third: 2])
        #expect(!ledger.isCopied(other))
        ledger.append(try #require(ledger.plan(compacts: false)), knowing: 6)
        #expect(ledger.isCopied(other))
        // A removal names the copies. Then the log with the copies is retired too, and deleted.
        _ = roster.apply(.remove(third, [me: 1, third: 2, fourth: 1]), at: 7)
        _ = roster.apply(.retire(third, [third: 2, fourth: 2], signer: fourth), at: 8)
        ledger = Ledger(me: me, roster: roster)
        #expect(!ledger.isCopied(other) && !ledger.isCopied(third))
        _ = ledger.take(entry(fourth, 2, known: 7, [name: stamp(1)]))
        #expect(!ledger.isCopied(other) && !ledger.isCopied(third))
        ledger.append(try #require(ledger.plan(compacts: false)), knowing: 8)
        #expect(ledger.isCopied(other) && ledger.isCopied(third))
        #expect(ledger.plan(compacts: false) == nil)
    }

    /// This machine was suspended. Its second entry, which repeats the first one, was stored only
    /// after that, so this entry is void. The machine can't append the item again, and the third
    /// machine hasn't acknowledged the copy.
    @Test
    func `a void entry stays while its item is otherwise only in a copy that may become void`()
        throws
    {
        let (third, second) = (MachineID(Bytes16(high: 0, low: 3)), Bytes16(high: 0, low: 8))
        var roster = Roster(founder: other)
        _ = roster.apply(.add(me), at: 2)
        _ = roster.apply(.add(third), at: 3)
        _ = roster.apply(.suspend(me, [me: 1]), at: 4)
        _ = roster.apply(.retire(me, [me: 1, other: 5], signer: other), at: 5)
        var ledger = Ledger(me: me, roster: roster)
        _ = ledger.take(entry(me, 2, known: 3, first: 2, [name: stamp(1)]))
        _ = ledger.take(entry(other, 5, known: 4, [name: stamp(1)]))
        ledger.appendRepeated(except: [])
        #expect(ledger.items[name]?.isPending == true)
        ledger.abandon(name)
        for value in 1...2 {
            ledger.write(second, stamp(Double(value)))
            let plan = try #require(ledger.plan(compacts: true, unloadable: [name]))
            #expect(plan.first == 2)
            ledger.append(plan, knowing: 5)
        }
        ledger.write(name, stamp(2))
        #expect(ledger.plan(compacts: true)?.first == 4)
    }

    /// The machine was removed, or was suspended and then returns.
    @Test(arguments: [true, false])
    func `a deletion stays until nothing in an absent machine's log can count again`(
        isRemoved: Bool
    ) throws {
        let absent = MachineID(Bytes16(high: 0, low: 3))
        var roster = Roster(founder: me)
        _ = roster.apply(.add(other), at: 2)
        _ = roster.apply(.add(absent), at: 3)
        let ends: LogIndexes = [absent: 1, me: 1, other: 1]
        _ = roster.apply(isRemoved ? .remove(absent, ends) : .suspend(absent, [absent: 1]), at: 4)
        var ledger = Ledger(me: me, roster: roster)
        func take(_ writer: MachineID, _ index: UInt64, known: UInt64, _ read: LogIndexes) {
            var entry = entry(writer, index, known: known)
            entry.acknowledged = read
            _ = ledger.take(entry)
        }
        let deletion = VersionStamp(modified: 2, isDeletion: true, digest: .zero)
        _ = ledger.take(entry(me, 1, known: 4, [name: deletion]))
        take(other, 1, known: 4, [me: 1])
        #expect(ledger.plan(compacts: true) == nil)
        take(other, 2, known: 4, [me: 1])
        _ = roster.apply(.retire(absent, [absent: 1, me: 1, other: 2], signer: other), at: 5)
        ledger.revise(roster)
        if !isRemoved { take(absent, 2, known: 5, [me: 1, other: 2]) }
        // This machine hasn't acknowledged the copies yet.
        let acknowledgement = try #require(ledger.plan(compacts: true))
        #expect(acknowledgement.first == 1 && acknowledgement.acknowledged[other] == 2)
        ledger.append(acknowledgement, knowing: 5)
        #expect(ledger.plan(compacts: true)?.first == 3)
    }

    /// The third machine copied another machine's log into its own log. Then the fourth machine
    /// copied and retired the third machine's log. Only after that did the third machine retire the
    /// log that it had copied.
    @Test func `a log's retirement can be final even if the log with its copies was retired first`()
        throws
    {
        let third = MachineID(Bytes16(high: 0, low: 4))
        let fourth = MachineID(Bytes16(high: 0, low: 5))
        var roster = Roster(founder: me)
        for (index, machine) in [other, third, fourth].enumerated() {
            _ = roster.apply(.add(machine), at: UInt64(index) + 2)
        }
        _ = roster.apply(.suspend(third, [third: 4]), at: 5)
        _ = roster.apply(.suspend(other, [other: 2]), at: 6)
        _ = roster.apply(.retire(third, [third: 4, fourth: 3], signer: fourth), at: 7)
        _ = roster.apply(.retire(other, [other: 2, third: 4], signer: third), at: 8)
        let ends: LogIndexes = [me: 0, other: 2, third: 4, fourth: 3]
        _ = roster.apply(.remove(third, ends), at: 9)
        _ = roster.apply(.remove(other, ends), at: 10)
        var ledger = Ledger(me: me, roster: roster)
        _ = ledger.take(entry(fourth, 3, known: 7, [name: stamp(1)]))
        ledger.append(try #require(ledger.plan(compacts: false)), knowing: 10)
        #expect(ledger.isCopied(third) && ledger.isCopied(other))
    }

    @Test func `a log counts again although it was retired again later`() {
        let third = MachineID(Bytes16(high: 0, low: 4))
        let fourth = MachineID(Bytes16(high: 0, low: 5))
        var roster = Roster(founder: me)
        for (index, machine) in [other, third, fourth].enumerated() {
            _ = roster.apply(.add(machine), at: UInt64(index) + 2)
        }
        _ = roster.apply(.suspend(other, [other: 5]), at: 5)
        _ = roster.apply(.retire(other, [other: 5, third: 4], signer: third), at: 6)
        _ = roster.apply(.remove(other, [other: 6, third: 4, fourth: 3]), at: 7)
        _ = roster.apply(.retire(other, [other: 6, third: 4, fourth: 3], signer: fourth), at: 8)
        #expect(roster.standing(of: other, at: 3, knowing: 4) == .retired)
        // The signer of the second retirement hasn't copied what the signer of the first one had.
        _ = roster.apply(.remove(third, [other: 6, third: 3, fourth: 3]), at: 9)
        #expect(roster.standing(of: other, at: 3, knowing: 4) == .counts)
        #expect(roster.lapseCount == 2)
    }

    @Test func `the entries of two machines that retired each other's logs are retired`() {
        let third = MachineID(Bytes16(high: 0, low: 4))
        var roster = Roster(founder: me)
        _ = roster.apply(.add(other), at: 2)
        _ = roster.apply(.add(third), at: 3)
        // Each of the two machines learns that it was suspended. Then it signs the retirement of
        // the other machine's log, before it appends an entry to its own log.
        _ = roster.apply(.suspend(other, [other: 2]), at: 4)
        _ = roster.apply(.suspend(third, [third: 2]), at: 5)
        _ = roster.apply(.retire(other, [other: 2, third: 2], signer: third), at: 6)
        _ = roster.apply(.retire(third, [third: 2, other: 2], signer: other), at: 7)
        for writer in [other, third] {
            #expect(roster.standing(of: writer, at: 2, knowing: 3) == .retired)
        }
        let own = roster.apply(.retire(other, [other: 2], signer: other), at: 8)
        #expect(!own)
    }

    @Test func `a retirement by the recovery code doesn't end, whatever heads it names`() {
        let (third, code) = (
            MachineID(Bytes16(high: 0, low: 4)), MachineID(Bytes16(high: 0, low: 9))
        )
        var roster = Roster(founder: me)
        _ = roster.apply(.add(other), at: 2)
        _ = roster.apply(.add(third), at: 3)
        _ = roster.apply(.suspend(other, [other: 2]), at: 4)
        _ = roster.apply(.retire(other, [other: 2, code: 7], signer: code), at: 5)
        _ = roster.apply(.remove(third, [other: 2]), at: 6)
        #expect(roster.standing(of: other, at: 2, knowing: 3) == .retired)
        #expect(roster.lapseCount == 0)
    }

    @Test func `a deletion that no log contains is appended again if a log has an older version`() {
        var ledger = Ledger(me: me, roster: Roster(founder: me))
        var roster = Roster(founder: me)
        let third = MachineID(Bytes16(high: 0, low: 3))
        _ = roster.apply(.add(other), at: 2)
        _ = roster.apply(.add(third), at: 3)
        ledger.revise(roster)
        let deletion = VersionStamp(modified: 2, isDeletion: true, digest: .zero)
        _ = ledger.take(entry(other, 1, known: 3, [name: stamp(1)]))
        _ = ledger.take(entry(third, 1, known: 3, [name: deletion]))
        _ = ledger.take(entry(third, 2, known: 3, first: 2))
        #expect(ledger.settle() == [])
        #expect(ledger.items[name]?.stamp == deletion)
        #expect(ledger.items[name]?.isPending == true)
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
