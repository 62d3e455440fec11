// RepeatedGrantTests: keys are granted again where a grant is missing, and only there.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSynchronization
import Testing

@Suite struct `Grants that are lost or repeated` {
    private let server = TestServer()

    /// Adds machines that read and write nothing.
    private func addSilent(_ count: Int, to machine: TestMachine) throws {
        for number in 0..<count {
            let change = try #require(
                machine.replica.addition(
                    of: MachineKeys.random().description, name: "\(number)", scope: .all))
            try machine.carryOut(change)
        }
    }

    private func entries(of machine: TestMachine) throws -> [LogEntry] {
        try (server.logs[machine.id] ?? [:]).values.map { try LogEntry(decoding: $0) }
    }

    /// For each recipient, the keys that a machine's log grants to it.
    private func granted(by machine: TestMachine) throws -> [MachineID: Set<Bytes16>] {
        var granted: [MachineID: Set<Bytes16>] = [:]
        for part in try entries(of: machine).flatMap(\.parts) {
            guard case .grant(let grant) = part else { continue }
            granted[grant.recipient, default: []].formUnion(grant.keys)
        }
        return granted
    }

    /// Appends entries until there is nothing left to append.
    /// - Returns: The number of entries, at most 20.
    private func appendAll(_ machine: TestMachine) throws -> Int {
        for count in 0..<20 where try !machine.append() { return count }
        return 20
    }

    // MARK: Repeated

    @Test func `grants that don't fit into one entry are repeated once after a removal`() throws {
        let a = try TestMachine.founder(server, recovery: .random())
        let b = try a.add("second")
        try addSilent(100, to: a)
        for number in 0..<10 { try a.set("\(number)", "1") }
        try a.exchange()
        let before = try granted(by: a)
        #expect(before.count == 103)
        let first = a.replica.firstNeeded
        try a.carryOut(.remove(a.replica.closing(of: b.id)))
        #expect(try appendAll(a) < 8)
        #expect(a.replica.firstNeeded > first)
        let after = try granted(by: a)
        #expect(Set(after.keys) == Set(before.keys).subtracting([b.id]))
        for (machine, keys) in after { #expect(keys.isSuperset(of: before[machine] ?? [])) }
        // The next time, the log is shortened beyond the repeated grants.
        let next = a.replica.firstNeeded
        try a.set("0", "2")
        #expect(try appendAll(a) < 8)
        #expect(a.replica.firstNeeded > next)
        #expect(try granted(by: a).count == 102)
    }
}
