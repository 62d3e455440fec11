// HeldItemTests: items of a keychain that no log contains any more, when a machine begins a new
// session.

import KeychainCore
import KeychainSynchronization
import Testing

@Suite struct `Items that no log contains` {
    private let server = TestServer()
    private let name = Bytes16(high: 1, low: 2)
    private let stamp = VersionStamp(modified: 1, isDeletion: false, digest: .zero)

    /// Why the second machine may have missed a deletion.
    enum Absence: CaseIterable {
        /// The first machine has suspended the second one.
        case suspension
        /// The second machine uses an older copy of its keychain.
        case olderCopy
    }

    /// Two machines. The second one begins a new session, and remembers how far it had read. In the
    /// meantime, the first one has dropped entries of its log.
    private func begunAgain(
        after absence: Absence? = nil
    ) throws -> (one: TestMachine, two: TestMachine) {
        let one = try TestMachine.founder(server)
        let two = try one.add("two")
        try one.set("a", "1")
        try converge(one, two)
        if absence == .suspension { try one.carryOut(#require(one.replica.suspension(of: two.id))) }
        for value in 2...4 {
            try one.set("a", "\(value)")
            try one.exchange()
        }
        let again = TestMachine(
            Replica(
                two.replica.keys, try server.circle(), circleKey: two.replica.circleKey,
                remembering: two.replica.readHeads, decided: two.replica.ledger.decided), server)
        again.replica.isRestoring = true
        while let bytes = server.logs[two.id]?[again.replica.nextIndex(of: two.id)] {
            _ = try again.replica.restore(LogEntry(decoding: bytes))
        }
        again.replica.isRestoring = false
        if absence == .olderCopy { again.replica.noteOldCopy() }
        return (one, again)
    }

    private func isPending(on machine: TestMachine) -> Bool {
        machine.replica.ledger.items[name]?.isPending ?? false
    }

    @Test func `a machine that was always present appends an item that no log contains`() throws {
        let (one, two) = try begunAgain()
        #expect(server.logs[one.id]?[1] == nil)
        try two.read(one.id)
        two.replica.hold(name, stamp)
        #expect(two.replica.settle() == [])
        #expect(isPending(on: two))
    }

    @Test(arguments: Absence.allCases)
    func `a machine that may have missed deletions deletes an item that no log contains`(
        absence: Absence
    ) throws {
        let (one, two) = try begunAgain(after: absence)
        try two.read(one.id)
        two.replica.hold(name, stamp)
        #expect(two.replica.settle() == [.delete(name)])
        #expect(two.replica.settle() == [])
        // After this decision, the machine no longer counts as one that may have missed deletions.
        two.replica.hold(name, stamp)
        #expect(two.replica.settle() == [])
        #expect(isPending(on: two))
    }

    @Test(arguments: Absence.allCases)
    func `an absent machine that has missed no entry appends an item that no log contains`(
        absence: Absence
    ) throws {
        let one = try TestMachine.founder(server)
        let two = try one.add("two")
        try one.set("a", "1")
        try converge(one, two)
        switch absence {
        case .suspension: try one.carryOut(#require(one.replica.suspension(of: two.id)))
        case .olderCopy: two.replica.noteOldCopy()
        }
        try two.read(one.id)
        two.replica.hold(name, stamp)
        #expect(two.replica.settle() == [])
        #expect(isPending(on: two))
    }

    @Test func `an older copy of a keychain doesn't bring back an item deleted later`() throws {
        let one = try TestMachine.founder(server)
        try one.set("a", "1")
        try one.exchange()
        let item = try #require(one.items.values.first)
        let old = one.replica
        try one.delete("a")
        for value in 1...3 {
            try one.set("b", "\(value)")
            try one.exchange()
        }
        var copy = Replica(
            old.keys, try server.circle(), circleKey: old.circleKey,
            groupKeys: Array(old.groupKeys.values), remembering: old.readHeads,
            decided: old.ledger.decided)
        copy.isRestoring = true
        let log = server.logs[one.id, default: [:]]
        copy.skip(one.id, to: try #require(log.keys.min()))
        for (_, bytes) in log.sorted(by: { $0.key < $1.key }) {
            _ = try copy.restore(LogEntry(decoding: bytes))
        }
        copy.isRestoring = false
        copy.noteOldCopy()
        copy.hold(item.name, item.stamp)
        #expect(copy.settle() == [.delete(item.name)])
    }

    @Test func `no item is deleted while entries that were read before are missing`() throws {
        let (one, two) = try begunAgain(after: .suspension)
        let entries = server.logs[one.id]
        server.logs[one.id] = nil
        let earlier = VersionStamp(modified: 0, isDeletion: false, digest: .zero)
        let item = try #require(one.items.keys.first)
        two.replica.hold(item, earlier)
        #expect(two.replica.settle() == [])
        server.logs[one.id] = entries
        try two.read()
        #expect(two.values == ["a": "4"])
    }
}
