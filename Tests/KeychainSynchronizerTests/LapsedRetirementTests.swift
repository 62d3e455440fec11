// LapsedRetirementTests: copies of a retired log that become void, as in RetiredLogTests, while
// machines are suspended, processes are restarted, or the server hides entries. Some tests are
// about what happens to items after that.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A retired log that counts again` {
    private let server = MemoryStore()

    /// Lets `leaving` leave. Then the removal of `copier`, which has copied the log of `leaving`,
    /// is stored by `remover`, which hasn't read the copies. The item must not be lost.
    private func expectItem(
        _ account: String, of leaving: Device, copiedBy copier: Device, on remover: Device
    ) async throws {
        try await leaving.signRemoval(of: leaving)
        for _ in 0..<3 { try await leaving.settle() }
        remover.clock.now = copier.clock.now
        try await remover.settle()
        for _ in 0..<3 {
            try remover.beginAgain()
            try await converge(remover)
        }
        #expect(try await server.membership().roster.lapseCount > 0)
        #expect(try remover.values()[account] == "1")
    }

    /// A suspended machine has acknowledged nothing, and the log is deleted without waiting for
    /// this machine.
    @Test func `items are kept although a suspended machine returns and removes another machine`()
        async throws
    {
        let (one, three) = (try Device("one", server), try Device("three", server))
        try await one.found()
        let (big, two) = try await server.devicesInOrder()
        for device in [big, two, three] { try await one.add(device) }
        try await converge(one, big, two, three)
        try await one.signRemoval(of: two)
        try await big.setItems(12, byteCount: 600_000)
        try three.set("a", "1")
        let log = try await server.log(of: three)
        try await server.leave(three, copiedBy: two)
        for _ in 0..<4 { try await two.settle() }
        try await big.settle()
        try await two.suspendOthers(except: big, through: server)
        try await converge(two, big)
        #expect(!server.hasRecord(log))
        one.clock.now = two.clock.now
        try await one.settle()
        try big.restart()
        try await converge(one, big)
        for device in [one, big] { #expect(try device.values()["a"] == "1") }
        #expect(try await one.status().machines.count == 2)
    }

    /// The retirement names an entry that only acknowledges. Nothing had to be copied.
    @Test func `it stays on the server until the entry that the retirement names is acknowledged`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try one.set("c", "1")
        for device in devices { try await device.settle() }
        let log = try await server.log(of: three)
        try await server.leave(three, copiedBy: two)
        try await one.signRemoval(of: two)
        try await two.settle()
        #expect(server.hasRecord(log))
        // Another relay brings the retirement, and none of the logs.
        var delivery = Delivery()
        delivery.membership = try await server.allRecords("")
            .filter { $0.key.contains("/m/") }.map { Data($0.value) }
        _ = try await one.relay.send(.exchange(delivery))
        for _ in 0..<3 {
            try one.beginAgain()
            try await converge(one)
        }
        #expect(!server.hasRecord(log))
        #expect(try one.values() == ["c": "1"])
    }

    /// The removal is signed before the copies are read, and stored after that.
    @Test func `the items in it are sent although the removal is stored by a new process`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await two.setItems(30, byteCount: 200_000)
        try three.set("a", "1")
        try await server.leave(three, copiedBy: two)
        let (log, count) = (try await server.log(of: two), Counter())
        let interrupted = HookedStore(server) { request in
            guard case .read(let prefix) = request, prefix.contains(log) else { return }
            count.increment()
            if count.value == 2 { throw HookedStore.Lost() }
        }
        _ = try? await one.relay(through: interrupted).settle()
        try await one.signRemoval(of: two)
        try one.restart()
        try await converge(one)
        try one.beginAgain()
        try await one.settle()
        let four = try Device("four", server, clock: one.clock)
        try await one.add(four)
        try await converge(one, four)
        #expect(try one.values().count == 31)
        #expect(try four.values() == one.values())
    }

    /// The log was deleted, since all machines had read the copies. Then the server hides the
    /// copies from a new process, and the machine that made them is removed.
    @Test func `the items in it are sent again after copies that had been read were hidden`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try three.set("a", "1")
        let (retired, copies) = (try await server.log(of: three), try await server.log(of: two))
        let before = Set(server.records.keys)
        try await server.leave(three, copiedBy: two)
        try await converge(one, two)
        #expect(!server.hasRecord(retired))
        server.hide { $0.contains(copies) && !before.contains($0) }
        try one.restart()
        try await one.settle()
        try await one.remove(two)
        server.hide { _ in false }
        for _ in 0..<3 {
            try one.beginAgain()
            try await one.settle()
        }
        let four = try Device("four", server, clock: one.clock)
        try await one.add(four)
        try await converge(one, four)
        #expect(try four.values()["a"] == "1")
    }

    /// The server refuses a removal, and then hides entries that its signer had read.
    @Test(arguments: [false, true])
    func `a removal that isn't stored yet never names fewer entries than before`(
        isOwn: Bool
    ) async throws {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try three.set("a", "1")
        let copies = try await server.log(of: two)
        let before = Set(server.records.keys)
        try await server.leave(three, copiedBy: two)
        try await converge(one, two)
        try await one.signRemoval(of: isOwn ? one : two)
        _ = try? await one.relay(through: server.losing(creationsOf: "/m/")).settle()
        server.hide { $0.contains(copies) && !before.contains($0) }
        try one.restart()
        if isOwn { try one.set("b", "1") }
        for _ in 0..<3 { try await one.settle() }
        #expect(try await server.membership().roster.lapseCount == 0)
        #expect(try await server.membership().roster.members.count == 1)
    }

    /// A suspended machine has read all logs. Until its first entry is stored, the others don't
    /// wait for it.
    @Test func `items are kept although a machine that isn't back yet removes another`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        let log = try await server.log(of: three)
        try await one.signRemoval(of: two)
        try await two.suspendOthers(except: three, through: server)
        try await converge(two, three)
        one.clock.now = two.clock.now
        try one.restart()
        _ = try? await one.relay(through: server.losing(creationsOf: "/")).settle()
        #expect(try await one.status().state == .current)
        try await two.setItems(40, byteCount: 200_000)
        for _ in 0..<3 { try await three.settle() }
        try three.set("a", "1")
        try await server.leave(three, copiedBy: two)
        // Machine two deletes the log.
        server.records = server.records.filter { !$0.key.contains(log) }
        try await one.settle()
        for _ in 0..<3 {
            try one.beginAgain()
            try await converge(one)
        }
        #expect(try one.values()["a"] == "1")
    }

    /// The server hides the log from a machine that reads the copies only when they are void.
    @Test func `it isn't retired again by a machine that doesn't have the items in it`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await two.setItems(30, byteCount: 200_000)
        try three.set("a", "1")
        let retired = try await server.log(of: three)
        try await server.leave(three, copiedBy: two)
        try await one.signRemoval(of: two)
        server.hide { $0.contains(retired) }
        for _ in 0..<4 {
            try await one.settle()
            try one.beginAgain()
        }
        server.hide { _ in false }
        #expect(server.hasRecord(retired))
        for _ in 0..<3 {
            try one.beginAgain()
            try await converge(one)
        }
        #expect(try one.values()["a"] == "1")
    }

    /// The machine returns, and makes its entries unneeded before all others have read the copies.
    @Test func `items are kept although its machine returns, compacts it and leaves`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await two.setItems(30, byteCount: 200_000)
        try three.set("a", "1")
        for device in [three, two] { try await device.settle() }
        try await server.suspend(three, copiedBy: two, unreadBy: one)
        try three.restart()
        for _ in 0..<3 { try await three.settle() }
        for number in 0..<80 {
            try three.set("b", "\(number)")
            try await three.settle()
        }
        try await expectItem("a", of: three, copiedBy: two, on: one)
    }

    /// The machine was suspended before the server stored an entry that repeats items of older
    /// entries.
    @Test func `items are kept although its machine stores a void entry that has them`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three", "four")
        let (one, two, three, four) = (devices[0], devices[1], devices[2], devices[3])
        try await two.setItems(30, byteCount: 200_000)
        try three.set("a", "1")
        for device in [three, two] { try await device.settle() }
        try await two.remove(four)
        let lost = server.losing(creationsOf: try await server.log(of: three))
        _ = try? await three.relay(through: lost).settle()
        try await server.suspend(three, copiedBy: two, unreadBy: one)
        try three.restart()
        for _ in 0..<3 { try await three.settle() }
        try await expectItem("a", of: three, copiedBy: two, on: one)
    }

    /// The machine returns, and can't append the item again.
    @Test func `it is compacted although its machine returns and makes an item local`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await two.setItems(30, byteCount: 200_000)
        try three.set("a", "1")
        for device in [three, two] { try await device.settle() }
        try await server.suspend(three, copiedBy: two, unreadBy: one, isRemoving: false)
        try three.restart()
        for _ in 0..<3 { try await three.settle() }
        try three.makeLocal("a", "2")
        for number in 0..<80 {
            try three.set("b", "\(number)")
            try await three.settle()
        }
        let log = try await server.log(of: three)
        let count = server.records.keys.count { $0.contains(log) }
        #expect(count > 80)
        for _ in 0..<5 { try await three.settle() }
        #expect(server.records.keys.count { $0.contains(log) } == count)
        // After five minutes all logs are read again.
        three.clock.now += 300
        for _ in 0..<3 { try await three.settle() }
        #expect(server.records.keys.count { $0.contains(log) } < 10)
        one.clock.now = three.clock.now
        try await converge(one, two, three)
        #expect(try one.values()["a"] == "1")
    }

    @Test func `a deleted item stays deleted after the log counted again and was retired again`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.signRemoval(of: two)
        try await two.setItems(30, byteCount: 200_000)
        try three.set("a", "1")
        let log = try await server.log(of: three)
        try await server.leave(three, copiedBy: two)
        for _ in 0..<4 {
            try await one.settle()
            try one.beginAgain()
        }
        try await converge(one)
        #expect(try await server.membership().roster.lapseCount > 0)
        #expect(!server.hasRecord(log))
        let five = try Device("five", server)
        five.clock.now = one.clock.now
        try await one.add(five)
        try one.set("x", "1")
        try await converge(one, five)
        try await one.suspendOthers(through: server)
        let four = try await one.deleteForGood("x", on: server)
        try await four.remove(one)
        try await converge(four)
        five.clock.now = four.clock.now
        try five.restart()
        try await converge(four, five)
        for device in [four, five] { #expect(try device.values()["x"] == nil) }
    }

    /// The machine is suspended when the copies become void, and its log is copied and retired
    /// again.
    @Test func `a deleted item stays deleted on the machine whose log counted again`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await two.setItems(30, byteCount: 200_000)
        try three.set("a", "1")
        for device in [three, two] { try await device.settle() }
        try await server.suspend(three, copiedBy: two, unreadBy: one)
        one.clock.now = two.clock.now
        for _ in 0..<4 {
            try await one.settle()
            try one.beginAgain()
        }
        try await converge(one)
        #expect(try await server.membership().roster.lapseCount > 0)
        #expect(try one.values()["a"] == "1")
        let four = try await one.deleteForGood("a", on: server)
        try await four.remove(one)
        try await converge(four)
        three.clock.now = four.clock.now
        try three.restart()
        try await converge(four, three)
        for device in [four, three] { #expect(try device.values()["a"] == nil) }
    }

    /// A suspended machine returns before another one copies and retires the log.
    @Test func `it stays on the server until a machine that returns has read the copies`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.suspendOthers(except: three, through: server)
        try await converge(one, three)
        two.clock.now = one.clock.now
        try three.set("a", "1")
        let log = try await server.log(of: three)
        try await three.signRemoval(of: three)
        for _ in 0..<3 { try await three.settle() }
        try two.restart()
        let returning = HookedStore.lost(
            after: 1, creationsOf: try await server.log(of: two), server)
        let (copies, count) = (try await server.log(of: one), Counter())
        let racing = HookedStore(server) { request in
            guard case .create(let key) = request, key.contains(copies) else { return }
            count.increment()
            guard count.value == 2 else { return }
            // Machine two stores nothing but its first entry.
            _ = try? await two.relay(through: returning).settle()
        }
        try await one.relay(through: racing).settle()
        #expect(server.hasRecord(log))
        try await converge(one, two)
        #expect(!server.hasRecord(log))
        #expect(try two.values()["a"] == "1")
    }

    /// The machine slept, and its session compacts the log before it reads the copies.
    @Test func `items are kept although its machine compacts it before reading the copies`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try three.set("a", "1")
        for value in ["1", "2"] {
            try three.set("b", value)
            try await three.settle()
        }
        try await two.settle()
        try await two.setItems(30, byteCount: 200_000)
        try await server.suspend(three, copiedBy: two, unreadBy: one)
        for _ in 0..<3 { try await three.settle() }
        try await expectItem("a", of: three, copiedBy: two, on: one)
    }
}
