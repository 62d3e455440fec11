// HostileStoreTests: a server that alters, moves, withholds, loses and replays records, or has
// wrong ones of other clients. No keychain accepts anything wrong, and the status reports invalid
// signatures, withheld entries and the loss of entries of the machine's own log.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import Synchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A hostile server of a circle` {
    private let server = MemoryStore()
    private let one: Device
    private let two: Device

    init() async throws {
        one = try Device("one", server)
        two = try Device("two", server)
        try await one.found()
        try await one.add(two)
        try one.set("a", "1")
        try one.set("b", "2")
        try await converge(one, two)
    }

    private static let items = ["a": "1", "b": "2"]

    /// The keys of the records of a machine's log, in order.
    private func log(of device: Device) async throws -> [String] {
        let machine = Hexadecimal.text(try await device.id().bytes)
        return server.records.keys.filter { $0.contains("/l/\(machine)/") }.sorted()
    }

    @Test(arguments: 0..<40)
    func `an entry with an altered byte anywhere is not accepted`(position: Int) async throws {
        try one.set("a", "3")
        try await one.settle()
        let key = try #require(try await log(of: one).last)
        server.alter { record in
            guard record.key == key else { return record.value }
            var value = record.value
            value[position * (value.count - 1) / 39] ^= 1 << (position % 8)
            return value
        }
        _ = try? await two.settle()
        #expect(try two.values() == Self.items)
        // Without the alteration, the entry is accepted.
        server.alter { $0.value }
        try await converge(two)
        #expect(try two.values() == ["a": "3", "b": "2"])
    }

    @Test func `an entry with an invalid signature is reported`() async throws {
        try one.set("a", "3")
        try await one.settle()
        let key = try #require(try await log(of: one).last)
        server.alter { record in
            guard record.key == key else { return record.value }
            return record.value.dropLast() + [record.value.last.map { $0 ^ 1 } ?? 0]
        }
        try await two.settle()
        let notices = try await two.status().notices
        #expect(notices.contains { $0.hasPrefix("The signature of entry ") }, "\(notices)")
    }

    @Test func `an entry that the server shows too early is accepted only after its predecessor`()
        async throws
    {
        let before = try await log(of: one)
        for value in ["3", "4", "5"] {
            try one.set("a", value)
            try await one.settle()
        }
        let keys = try await log(of: one).dropFirst(before.count)
        let records = server.records
        let (first, last) = (try #require(keys.first), try #require(keys.last))
        server.alter { record in
            switch record.key {
            case first: records[last] ?? []
            case last: records[first] ?? []
            default: record.value
            }
        }
        try await two.settle()
        // The value 5 is in the last entry, which the server shows too early.
        #expect(try ["1", "3", "4"].contains(two.values()["a"]))
        server.alter { $0.value }
        try await converge(two)
        #expect(try two.values() == ["a": "5", "b": "2"])
    }

    @Test func `an entry that the server leaves out is reported as withheld`() async throws {
        let before = try await log(of: one)
        for value in ["3", "4"] {
            try one.set("a", value)
            try await one.settle()
        }
        let left = try #require(try await log(of: one).dropFirst(before.count).first)
        server.hide { $0 == left }
        try await two.settle()
        // Item b stays, and the missing entry is reported.
        #expect(try two.values()["b"] == "2")
        #expect(try await two.status().machines.map(\.withheldCount).max() ?? 0 > 0)
        server.hide { _ in false }
        two.clock.now += 301
        try await converge(two)
        #expect(try two.values() == ["a": "4", "b": "2"])
        #expect(try await two.status().machines.map(\.withheldCount).max() == 0)
    }

    @Test func `withheld entries are noticed from a third machine's entries`() async throws {
        let three = try Device("three", server)
        try await one.add(three)
        try await converge(one, two, three)
        try one.set("a", "3")
        try await converge(one)
        let last = try #require(try await log(of: one).last)
        try await converge(three, one)
        server.hide { $0 >= last && $0.hasPrefix(String(last.dropLast(16))) }
        try await two.settle()
        #expect(try two.values() == Self.items)
        #expect(try await two.status().machines.contains { $0.withheldCount > 0 })
        server.hide { _ in false }
        try await converge(two)
        #expect(try two.values()["a"] == "3")
    }

    @Test func `if the server shows a new process an older state, nothing is appended or deleted`()
        async throws
    {
        let old = server.records
        try two.set("a", "3")
        try one.set("b", "4")
        try await converge(one, two)
        let new = server.records
        server.records = old
        try one.restart()
        try one.set("c", "5")
        try await one.settle()
        // Entries of the machine's own log are missing, so it appends nothing and deletes nothing.
        let status = try await one.status()
        #expect(status.isOwnLogMissing)
        #expect(status.waitingCount == 1)
        #expect(try one.values() == ["a": "3", "b": "4", "c": "5"])
        #expect(server.records == old)
        server.records = new
        try await converge(one, two)
        #expect(try two.values() == ["a": "3", "b": "4", "c": "5"])
    }

    @Test func `keychains keep their items if the server has lost everything`() async throws {
        server.records = [:]
        try one.restart()
        try await converge(one, two)
        #expect(try one.values() == Self.items)
        #expect(try two.values() == Self.items)
        try one.set("a", "3")
        _ = try? await one.settle()
        #expect(try one.values() == ["a": "3", "b": "2"])
    }

    @Test func `nothing more is sent to a server that has lost everything during a session`()
        async throws
    {
        let all = server.records
        server.records = [:]
        try one.set("a", "3")
        try await one.settle()
        let status = try await one.status()
        #expect(status.isOwnLogMissing)
        #expect(status.waitingCount == 1)
        #expect(server.records.isEmpty)
        // Machine two has no change to send. It notices the loss when it reads everything.
        try await two.settle()
        #expect(try await two.status().isOwnLogMissing)
        #expect(try one.values() == ["a": "3", "b": "2"])
        #expect(try two.values() == Self.items)
        server.records = all
        try await converge(one, two)
        #expect(try two.values() == ["a": "3", "b": "2"])
    }

    @Test func `no membership change is sent to a server that has lost this machine's last entry`()
        async throws
    {
        let old = server.records
        try one.set("a", "3")
        try await one.settle()
        server.setUnreachable(true)
        _ = try await one.relay.send(.remove(try await two.id()))
        server.setUnreachable(false)
        let new = server.records
        server.records = old
        try one.restart()
        try await one.settle()
        #expect(server.records == old)
        #expect(try await one.status().isOwnLogMissing)
        server.records = new
        try await converge(one)
        #expect(try await one.status().machines.map(\.name) == ["one"])
    }

    @Test func `no membership change is sent to a server that has lost an earlier change`()
        async throws
    {
        let three = try Device("three", server)
        try await one.add(three)
        try await converge(one, two, three)
        let last = try #require(server.records.keys.filter { $0.contains("/m/") }.max())
        let lost = server.records.removeValue(forKey: last)
        _ = try await one.relay.send(.remove(try await three.id()))
        try await one.settle()
        #expect(server.records.keys.filter { $0.contains("/m/") }.allSatisfy { $0 < last })
        #expect(try await one.status().isChangeWaiting)
        server.records[last] = lost
        try await converge(one, two)
        #expect(try await two.status().machines.count == 2)
    }

    @Test(arguments: [false, true])
    func `an entry that the server hides from its writer's next session is sent again unchanged`(
        _ isRead: Bool
    ) async throws {
        let before = server.records
        try one.set("a", "3")
        server.leaveUnanswered(1)
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        let key = try #require(Set(server.records.keys).subtracting(before.keys).first)
        let entry = try #require(server.records[key])
        // If `isRead`, machine two reads the entry. The server hides it from machine one's next
        // session.
        if isRead { try await two.settle() }
        server.records[key] = nil
        try one.restart()
        try one.set("b", "4")
        // At first, the next session gets no answer either.
        server.leaveUnanswered(1)
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        #expect(server.records[key] == entry)
        try await one.settle()
        #expect(server.records[key] == entry)
        try await converge(one, two)
        for device in [one, two] {
            #expect(try device.values() == ["a": "3", "b": "4"])
            let status = try await device.status()
            #expect(status.notices == [], "\(device.name)")
            #expect(status.waitingCount == 0)
        }
    }

    @Test func `an entry is kept waiting until other bytes in its place are deleted`()
        async throws
    {
        let before = server.records
        try one.set("a", "3")
        server.leaveUnanswered(1)
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        let key = try #require(Set(server.records.keys).subtracting(before.keys).first)
        server.records[key] = [1, 2, 3]
        try one.restart()
        try await one.settle()
        #expect(try await one.status().waitingCount == 1)
        #expect(server.records[key] == [1, 2, 3])
        server.records[key] = nil
        try await converge(one, two)
        #expect(try two.values() == ["a": "3", "b": "2"])
    }

    @Test func `large records of other clients don't keep a machine from synchronizing`()
        async throws
    {
        let large = [UInt8](repeating: 7, count: 3 << 19)
        let circle = try await one.circle()
        let last = try #require(try await log(of: two).last)
        let end = try #require(UInt64(last.suffix(16), radix: 16))
        for number in 0..<64 {
            let digits = String(number + 16, radix: 16)
            server.records["\(circle)/h/\(digits)"] = large
            server.records["\(circle)/t/\(digits)"] = large
            let index = String(end + 1 + UInt64(number), radix: 16)
            server.records[last.dropLast(index.count) + index] = large
        }
        let largest = Mutex(0)
        let relay = Relay(server) { [one] request throws(KeychainFailure) in
            largest.withLock { $0 = max($0, request.message.count) }
            return try one.engine.perform(request, as: AccessGroups([]))
        }
        try one.restart()
        try one.set("a", "3")
        try await relay.settle()
        #expect(try await one.status().waitingCount == 0)
        #expect(largest.withLock { $0 } < 8 << 20)
    }

    @Test func `an earlier entry in the place of an entry already read is not accepted`()
        async throws
    {
        // The server shows machine two an earlier entry of machine one in the place of one that
        // machine two has read.
        let before = server.records
        try one.set("a", "original")
        try await one.settle()
        try await two.settle()
        let original = server.records
        server.records = before
        let key = try #require(try await log(of: one).last)
        let next = Set(original.keys).subtracting(before.keys).filter {
            $0.dropLast(16) == key.dropLast(16)
        }
        #expect(!next.isEmpty)
        server.records = original
        for entry in next { server.records[entry] = before[key] }
        try two.restart()
        try await converge(two)
        #expect(try two.values() == ["a": "original", "b": "2"])
        // An entry that machine two had read before is missing.
        let status = try await two.status()
        #expect(status.machines.contains { $0.withheldCount > 0 }, "\(status) \(next)")
    }

    @Test func `an undecodable record in a machine's log doesn't keep other machines from sending`()
        async throws
    {
        let key = try #require(try await log(of: two).last)
        let next = String(try #require(UInt64(key.suffix(16), radix: 16)) + 1, radix: 16)
        server.records[key.dropLast(next.count) + next] = [1, 2, 3]
        try one.restart()
        try one.set("a", "3")
        try await one.settle()
        #expect(try await one.status().state == .current)
        #expect(try await one.status().waitingCount == 0)
        #expect(try one.values() == ["a": "3", "b": "2"])
    }

    /// A wrong entry in the place of the next entry of machine two's log.
    enum WrongEntry: CaseIterable {
        /// It refers to an entry of the membership log that doesn't exist.
        case laterMembership
        case laterIndex, unknownWriter
        /// It is the last entry of machine one, which reads the log, or that entry with a later
        /// index.
        case readersEntry, forgedReadersEntry
    }

    @Test(arguments: WrongEntry.allCases)
    func `a new session goes on without the rest of a log whose next entry is wrong`(
        _ wrong: WrongEntry
    ) async throws {
        let own = try #require(try await log(of: one).last)
        let last = try #require(try await log(of: two).last)
        let isReaders = wrong == .readersEntry || wrong == .forgedReadersEntry
        var record = try #require(server.records[isReaders ? own : last])
        let end = try #require(UInt64(last.suffix(16), radix: 16))
        /// Writes a number into 8 bytes of the record.
        func set(_ number: UInt64, at offset: Int) {
            for place in 0..<8 {
                record[offset + place] = UInt8(truncatingIfNeeded: number >> (56 - 8 * place))
            }
        }
        // The offsets are those of Documentation/Synchronization.md, "Logs".
        if !isReaders {
            record.replaceSubrange(64..<96, with: try LogEntry(decoding: record).digest.bytes)
            set(end + (wrong == .laterIndex ? 5 : 1), at: 56)
        }
        switch wrong {
        case .laterMembership: set(99, at: 96)
        case .unknownWriter: record[40] ^= 1
        case .forgedReadersEntry: set(1000, at: 56)
        case .laterIndex, .readersEntry: break
        }
        let digits = String(end + 1, radix: 16)
        let next = String(last.dropLast(digits.count)) + digits
        server.records[next] = record
        try one.restart()
        try one.set("a", "3")
        try await one.settle()
        let status = try await one.status()
        #expect(status.state == .current)
        #expect(status.waitingCount == 0)
        #expect(status.notices.contains { $0.hasPrefix("The server's record after entry \(end) ") })
        #expect(try one.values() == ["a": "3", "b": "2"])
        server.records[next] = nil
        one.clock.now += 301
        try two.set("b", "4")
        try await converge(one, two, one)
        for device in [one, two] { #expect(try device.values() == ["a": "3", "b": "4"]) }
        #expect(try await one.status().notices == [])
    }

    @Test func `a new session reads all logs to their ends although the members change meanwhile`()
        async throws
    {
        let ending = "/l/\(Hexadecimal.text(try await two.id().bytes))/"
        let machine = try await Device("three", server).relay.send(.describe).message
        let count = Counter()
        let busy = HookedStore(server) { [two] request in
            guard case .read(let prefix) = request, prefix.hasSuffix(ending), count.value == 0
            else { return }
            count.increment()
            _ = try await two.relay.send(.add(machine: machine, name: "three", groups: nil))
            try two.set("a", "3")
            try await two.settle()
        }
        try one.restart()
        try await one.relay(through: busy).settle()
        let status = try await one.status()
        #expect(status.state == .current)
        #expect(status.notices == [])
        #expect(try one.values() == ["a": "3", "b": "2"])
    }

    @Test func `records with invalid names or contents change nothing`() async throws {
        let prefix = String(try #require(server.records.keys.first).prefix { $0 != "/" })
        for (name, value) in [
            ("m/0000000000000063", []), ("m/zz", [1]), ("l/zz/1", [2]), ("h/zz", [3]),
            ("t/zz", [4]), ("l/\(String(repeating: "0", count: 32))/0000000000000001", [5]),
            ("", [6]),
        ] as [(String, [UInt8])] {
            server.records["\(prefix)/\(name)"] = value
        }
        try one.set("a", "3")
        try one.restart()
        try await converge(one, two)
        #expect(try two.values() == ["a": "3", "b": "2"])
    }

    /// The test puts an invalid record into the membership log and one into a machine's log.
    /// Neither is accepted. The record in the machine's log could refer to the one in the
    /// membership log, so a relay could try again and again to read both.
    @Test func `a round ends although entries of the membership log and of a log are rejected`()
        async throws
    {
        let members = try #require(server.records.keys.filter { $0.contains("/m/") }.max())
        for last in [members, try #require(try await log(of: one).last)] {
            let index = String(try #require(UInt64(last.suffix(16), radix: 16)) + 1, radix: 16)
            server.records[last.dropLast(index.count) + index] = [1]
        }
        try two.restart()
        let count = Counter()
        let limited = HookedStore(server) { _ in
            count.increment()
            if count.value > 500 { throw HookedStore.Lost() }
        }
        #expect(try await two.relay(through: limited).settle().state == .current)
    }

    // MARK: Beginning again

    /// What a session of machine two finds wrong when it begins.
    enum Lack: CaseIterable {
        case nothing, ownEntry, skippedEntry, rejectedEntry
    }

    /// After the session has begun, nothing more is delivered to it, so that only the time decides.
    @Test(arguments: Lack.allCases)
    func `a session that lacks an entry begins again after 5 minutes, and not before`(
        _ lack: Lack
    ) async throws {
        let before = try await log(of: one)
        for value in ["3", "4"] {
            try one.set("a", value)
            try await one.settle()
        }
        let new = try await log(of: one).dropFirst(before.count)
        let (first, last) = (try #require(new.first), try #require(new.last))
        let own = try #require(try await log(of: two).last)
        switch lack {
        case .nothing: break
        case .ownEntry: server.hide { $0 == own }
        case .skippedEntry: server.hide { $0 == first }
        case .rejectedEntry:
            server.alter { record in
                guard record.key == last, let end = record.value.last else { return record.value }
                return record.value.dropLast() + [end ^ 1]
            }
        }
        try two.restart()
        try await two.settle()
        let state: Demand.State = lack == .ownEntry ? .restoring : .current
        for (seconds, isGivenUp) in [(299, false), (1, lack != .nothing)] {
            two.clock.now += Double(seconds)
            _ = try await two.relay.send(.exchange(Delivery()))
            let status = try await two.status()
            #expect(status.state == (isGivenUp ? .restoring : state))
            // A session that has just begun doesn't know yet whether entries are missing.
            #expect(status.isOwnLogMissing == (lack == .ownEntry && !isGivenUp))
        }
        server.hide { _ in false }
        server.alter { $0.value }
        try await converge(two)
        #expect(try two.values() == ["a": "4", "b": "2"])
    }
}
