// PartyTests: the parties among which the service's threads, connections and buffers are shared,
// and the limits that apply to each party.

import KeychainCore
import Synchronization
import Testing

@testable import KeychainDaemon

@Suite struct `Limits for each program or user` {
    private func program(_ path: String, pid: Int32) -> PeerName {
        PeerName(pid: pid, uid: 7, identity: .account(command: path, unit: nil))
    }

    @Test
    func `processes of one program share limits; in the machine's service, those of one user do`() {
        let first = program("/usr/bin/a", pid: 1)
        #expect(first.party(.user) == program("/usr/bin/a", pid: 2).party(.user))
        #expect(first.party(.user) != program("/usr/bin/b", pid: 1).party(.user))
        #expect(first.party(.system) == program("/usr/bin/b", pid: 2).party(.system))
    }

    @Test func `some connections are reserved for programs that have few connections`() {
        let table = ConnectionTable()
        var limits = DaemonConfiguration.Limits()
        limits.connectionsPerUser = 100
        limits.connectionsKeptForFew = 20
        limits.connectionsOfFew = 4
        let taken = (0..<200).count { _ in table.reserve(for: 1, .program(1), limits) }
        #expect(taken == 80)
        // Other parties of the user can take the reserved places, and no more.
        let others = (2..<50).count { table.reserve(for: 1, .program($0), limits) }
        #expect(others == 20)
        // Another user's places aren't affected.
        #expect((0..<200).count { _ in table.reserve(for: 2, .program(100), limits) } == 80)
        table.release(for: 1, .program(1))
        #expect(table.reserve(for: 1, .program(60), limits))
        #expect(!table.reserve(for: 1, .program(61), limits))
    }

    @Test func `long operations never share a queue with look-ups`() {
        for code in RequestCode.allCases {
            switch code {
            case .find, .add, .update, .put, .delete, .status: #expect(code.work == .ordinary)
            case .unlock: #expect(code.work == .derivation)
            case .check, .rotate, .setPasscode: #expect(code.work == .whole)
            case .sign, .sharedSecret, .makeSecureEnclaveKey: #expect(code.work == .chip)
            default: break
            }
        }
    }

    @Test func `a caller's large messages share a memory limit, but a single message always fits`()
    {
        let held = HeldBytes()
        // A single message may have any size.
        #expect(held.change(from: 0, to: 300 << 20, of: .user(1)))
        // A second message doesn't fit, unless it is from another party.
        #expect(!held.change(from: 0, to: 1, of: .user(1)))
        #expect(held.change(from: 1, to: 0, of: .user(1)))
        #expect(held.change(from: 0, to: 300 << 20, of: .user(2)))
        #expect(held.change(from: 300 << 20, to: 0, of: .user(1)))
        // Small messages of one party fit side by side.
        #expect((0..<64).allSatisfy { _ in held.change(from: 0, to: 1 << 20, of: .user(1)) })
        #expect(!held.change(from: 0, to: 1, of: .user(1)))
    }

    @Test func `requests wait if their caller doesn't read its answers, while others don't wait`() {
        let budget = AnswerBudget(100)
        let called = Mutex(0)
        let hasRoom = { (party: Party) in
            budget.hasRoom(for: party) { called.withLock { $0 += 1 } }
        }
        budget.add(60, of: .user(1))
        #expect(hasRoom(.user(1)))
        // The answers to requests that are already being carried out may exceed the budget.
        budget.add(60, of: .user(1))
        #expect(!hasRoom(.user(1)) && !hasRoom(.user(1)) && hasRoom(.user(2)))
        budget.remove(10, of: .user(1))
        #expect(called.withLock { $0 } == 0)
        budget.remove(50, of: .user(1))
        #expect(called.withLock { $0 } == 2 && hasRoom(.user(1)))
        budget.remove(60, of: .user(1))
        #expect(called.withLock { $0 } == 2)
    }
}
