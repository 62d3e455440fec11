// VoidEntryTests: entries that a removal makes void, and entries that are missing. If one machine
// removes another, the entries of all machines' logs that the removing machine had not read don't
// count.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Entries that a removal makes void` {
    private let server = MemoryStore()

    /// Three machines of one circle.
    private func machines() async throws -> (Device, Device, Device) {
        let one = try Device("one", server)
        let two = try Device("two", server)
        let three = try Device("three", server)
        try await one.found()
        try await one.add(two)
        try await one.add(three)
        try await converge(one, two, three)
        return (one, two, three)
    }

    @Test func `a removed machine's item is kept if one of the other machines had read it`()
        async throws
    {
        let (one, two, three) = try await machines()
        let before = Set(server.records.keys)
        try three.set("a", "1")
        try await three.settle()
        try await one.settle()
        #expect(try one.values() == ["a": "1"])
        try one.restart()
        // Machine two removes machine three, and doesn't see machine three's last entry.
        server.hide { !before.contains($0) && $0.contains("/l/") }
        _ = try await two.relay.send(.remove(try await three.id()))
        try await two.settle()
        server.hide { _ in false }
        try await converge(one, two)
        #expect(try one.values() == ["a": "1"])
        #expect(try two.values() == ["a": "1"])
    }

    @Test func `a removed machine's item is kept, although the entry with the copy of it is void`()
        async throws
    {
        let (one, two, three) = try await machines()
        let (four, five) = (try Device("four", server), try Device("five", server))
        try await one.add(four)
        try await one.add(five)
        try three.set("a", "1")
        try await converge(one, two, three, four, five)
        let before = Set(server.records.keys)
        // Machine two copies the item into its log. Machine one doesn't see the copy when it
        // removes machine five. So the entry with the copy is void.
        _ = try await two.relay.send(.remove(try await three.id()))
        try await two.settle()
        server.hide { !before.contains($0) && $0.contains("/l/") }
        _ = try await one.relay.send(.remove(try await five.id()))
        try await one.settle()
        server.hide { _ in false }
        try await four.settle()
        #expect(try four.values() == ["a": "1"])
        try await converge(one, two, four)
        for device in [one, two, four] { #expect(try device.values() == ["a": "1"]) }
    }

    @Test func `changes in void entries count as waiting until they are appended again`()
        async throws
    {
        let (one, two, three) = try await machines()
        let before = Set(server.records.keys)
        for number in 1...3 { try one.set("item \(number)", "1") }
        try await one.settle()
        #expect(try await one.status().waitingCount == 0)
        server.hide { !before.contains($0) && $0.contains("/l/") }
        _ = try await two.relay.send(.remove(try await three.id()))
        try await two.settle()
        server.hide { _ in false }
        // Machine one reads the removal. It has to append its changes again in a new entry, and the
        // server refuses to store that entry.
        server.setReadOnly(true)
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        #expect(try await one.status().waitingCount == 3)
        server.setReadOnly(false)
        try await converge(one, two)
        #expect(try await one.status().waitingCount == 0)
        #expect(try two.values().count == 3)
    }
}

@Suite struct `Changes while entries are missing` {
    @Test(arguments: [nil, [Device.group]])
    func `items of a machine that joins are sent, although its keys arrive late`(
        groups: [String]?
    ) async throws {
        let server = MemoryStore()
        let one = try Device("one", server)
        let two = try Device("two", server)
        try one.set("a", "1")
        try two.set("b", "2")
        try await one.found()
        let before = Set(server.records.keys)
        let description = try await two.relay.send(.describe).message
        _ = try await one.relay.send(.add(machine: description, name: "two", groups: groups))
        try await one.settle()
        // Machine two reads an entry that it can't open: the server hides the entry that grants
        // the keys to machine two.
        server.hide { !before.contains($0) && $0.contains("/l/") }
        try await two.joinListed()
        try await two.settle()
        server.hide { _ in false }
        try two.restart()
        try await converge(one, two)
        #expect(try one.values() == ["a": "1", "b": "2"])
        #expect(try two.values() == ["a": "1", "b": "2"])
    }

    /// While the machine reads, the server doesn't show some of the entries that the machine needs.
    @Test
    func `logs are read to the end although this takes over five minutes and entries are missing`()
        async throws
    {
        let server = MemoryStore()
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two)
        let before = Set(server.records.keys)
        try one.set("first", "1")
        try await one.settle()
        let hidden = Set(server.records.keys).subtracting(before)
        for number in 0..<200 {
            try one.set("item \(number)", "1")
            try await one.settle()
        }
        server.hide { hidden.contains($0) }
        try two.restart()
        let (clock, requests) = (two.clock, Counter())
        let slow = HookedStore(server) { _ in
            clock.now += 45
            requests.increment()
            if requests.value > 200 { throw HookedStore.Lost() }
        }
        try await two.relay(through: slow).settle()
        #expect(try await two.status().state == .current)
        server.hide { _ in false }
        clock.now += 400
        try await converge(two)
        #expect(try two.values() == one.values())
    }

    /// After a restart, the session doesn't have the recovery code: it reads the grants of keys to
    /// the code, and can't open them. Then the code is given again.
    @Test func `the recovery code can be given again after the session with it has ended`()
        async throws
    {
        let server = MemoryStore()
        let code = RecoveryCode.random()
        let one = try Device("one", server)
        try await one.found(recovery: code)
        try one.set("a", "1")
        try await one.settle()
        let two = try Device("two", server)
        let circle = try #require(try await CircleDirectory(server).circles().first)
        try await RecoveryJoiner(two.relay, circle: circle).join(code)
        try two.restart()
        try await two.settle()
        #expect(try two.values() == [:])
        try await two.recover(code)
        #expect(try two.values() == ["a": "1"])
    }
}
