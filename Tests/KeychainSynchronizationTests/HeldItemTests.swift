// HeldItemTests: items of a keychain that no log contains any more, when a machine begins a new
// session.

import KeychainCore
import KeychainSynchronization
import Testing

@Suite struct `Items that no log contains` {
    private let server = TestServer()
    private let name = Bytes16(high: 1, low: 2)
    private let stamp = VersionStamp(modified: 1, isDeletion: false, digest: .zero)

    /// Two machines. The second one begins a new session, and remembers how far it had read.
    private func begunAgain() throws -> (one: TestMachine, two: TestMachine) {
        let one = try TestMachine.founder(server)
        let two = try one.add("two")
        try one.set("a", "1")
        try converge(one, two)
        let again = TestMachine(
            Replica(
                two.replica.keys, try server.circle(), circleKey: two.replica.circleKey,
                remembering: two.replica.readHeads), server)
        again.replica.isRestoring = true
        while let bytes = server.logs[two.id]?[again.replica.nextIndex(of: two.id)] {
            _ = try again.replica.restore(LogEntry(decoding: bytes))
        }
        again.replica.isRestoring = false
        return (one, again)
    }

    @Test func `an item that no log contains is deleted`() throws {
        let (_, two) = try begunAgain()
        try two.read()
        two.replica.hold(name, stamp)
        #expect(two.replica.settle() == [.delete(name)])
        #expect(two.replica.settle() == [])
    }

    @Test func `no item is deleted while entries that were read before are missing`() throws {
        let (one, two) = try begunAgain()
        let entries = server.logs[one.id]
        server.logs[one.id] = nil
        try two.read()
        two.replica.hold(name, stamp)
        #expect(two.replica.settle() == [])
        server.logs[one.id] = entries
        try two.read()
        #expect(two.items[name] == nil)
        #expect(two.values == ["a": "1"])
    }
}
