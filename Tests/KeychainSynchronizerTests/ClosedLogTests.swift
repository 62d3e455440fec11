// ClosedLogTests: removals and suspensions that close logs while their machines append to them. A
// closed log can have void entries, and these may have been the only ones with an item.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Logs that are closed while machines append to them` {
    private let server = MemoryStore()
    private static let day = 86_400.0
    private static let limit: Int64 = 60 * 86_400_000

    /// Machines of one circle. The first one founded it.
    private func circle(_ names: String...) async throws -> [Device] {
        let devices = try names.map { try Device($0, server) }
        try await devices[0].found()
        for device in devices.dropFirst() { try await devices[0].add(device) }
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        return devices
    }

    /// Lets a machine sign a removal, which isn't on the server before that machine's next
    /// exchange.
    private func signRemoval(of removed: Device, by device: Device) async throws {
        _ = try await device.relay.send(.remove(try await removed.id()))
    }

    private func remove(_ removed: Device, by device: Device) async throws {
        try await signRemoval(of: removed, by: device)
        try await device.settle()
    }

    /// Lets so much time pass that a machine suspends all others, except those that exchange in the
    /// meantime.
    private func suspendOthers(by device: Device, except present: Device...) async throws {
        device.clock.now += 59 * Self.day
        for other in present {
            other.clock.now = device.clock.now
            try await other.settle()
        }
        try await device.settle()
        device.clock.now += 2 * Self.day
        let relay = device.relay(through: server, absenceLimit: Self.limit)
        for _ in 0..<3 { try await relay.settle() }
    }

    /// A new process of each machine, some minutes later.
    private func beginAgain(_ devices: Device...) async throws {
        for device in devices {
            device.clock.now += 400
            try device.restart()
        }
    }

    @Test func `an entry that was void before its log was retired is appended again`() async throws
    {
        let devices = try await circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await signRemoval(of: three, by: one)
        try two.set("a", "1")
        try await two.settle()
        // The removal, which makes that entry void, is stored now.
        for _ in 0..<2 { try await one.settle() }
        try await suspendOthers(by: one)
        #expect(try two.values() == ["a": "1"])
        two.clock.now = one.clock.now
        try two.restart()
        try await converge(two, one)
        for device in [one, two] { #expect(try device.values() == ["a": "1"]) }
    }

    /// After a removal, each machine appends its items again under new keys. A second removal makes
    /// the new entries of one machine void. The machine begins to repeat them, and is lost.
    @Test(arguments: [false, true])
    func `no item is lost with the machine that was repeating void entries`(
        isSuspended: Bool
    ) async throws {
        let devices = try await circle("one", "two", "three", "four", "five")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        for number in 0..<300 { try two.set("item \(number)", "1") }
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        try await remove(devices[4], by: one)
        try await signRemoval(of: devices[3], by: one)
        try await two.settle()
        for device in [one, three] { try await device.settle() }
        let interrupted = HookedStore.lost(after: 1, creationsOf: "/l/", server)
        _ = try? await two.relay(through: interrupted).settle()
        for device in [one, three] { try await device.settle() }
        if isSuspended {
            try await suspendOthers(by: one, except: three)
        } else {
            try await remove(two, by: one)
        }
        try await converge(one, three)
        for device in [one, three] { #expect(try device.values().count == 300) }
        guard isSuspended else { return }
        two.clock.now = one.clock.now
        try two.restart()
        try await converge(one, three, two)
        for device in [one, three, two] { #expect(try device.values().count == 300) }
    }

    enum Departure: CaseIterable { case madeLocal, deletedWithoutTombstone }

    /// The machine's log has the item only in an entry that becomes void.
    @Test(arguments: Departure.allCases)
    func `other machines keep an item that its writer doesn't have any more`(
        _ departure: Departure
    ) async throws {
        let devices = try await circle("one", "two", "three", "four")
        let (one, two) = (devices[0], devices[1])
        for account in ["a", "b"] { try two.set(account, "1") }
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        try await remove(devices[3], by: one)
        try await signRemoval(of: devices[2], by: one)
        try await two.settle()
        try await one.settle()
        switch departure {
        case .madeLocal: try two.makeLocal("a", "2")
        case .deletedWithoutTombstone: try two.delete("a", tombstones: .never)
        }
        try await two.settle()
        try await beginAgain(two)
        try await converge(one, two)
        #expect(try one.values() == ["a": "1", "b": "1"])
        #expect(try two.values() == ["a": departure == .madeLocal ? "2" : "1", "b": "1"])
    }

    /// A machine copies an absent machine's item into its own log, and retires that machine's log,
    /// while another machine removes the copying one.
    @Test(arguments: [false, true])
    func `an item stays although the machine that retired its log is removed`(
        isSuspended: Bool
    ) async throws {
        let devices = try await circle("one", "two", "three", "four")
        let (one, two, absent, four) = (devices[0], devices[1], devices[2], devices[3])
        try absent.set("a", "1")
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        let limit = isSuspended ? Self.limit : 0
        if isSuspended {
            for time in [59, 2] {
                for device in [one, two, four] { device.clock.now += Double(time) * Self.day }
                guard time == 59 else { break }
                for device in [four, one, two] { try await device.settle() }
            }
        } else {
            try await signRemoval(of: absent, by: two)
        }
        try await signRemoval(of: two, by: one)
        let (server, steps) = (server, Counter())
        let racing = HookedStore.racing(server, count: 2) {
            steps.increment()
            let other =
                steps.value == 1
                ? HookedStore.lost(after: 1, creationsOf: "/m/", server)
                : HookedStore(server) { _ in }
            let exchange = two.relay(through: other, absenceLimit: limit)
            if steps.value == 1 {
                _ = try? await exchange.settle()
            } else {
                try await exchange.settle()
            }
        }
        try await one.relay(through: racing).settle()
        for device in [one, four] {
            #expect(try device.values() == ["a": "1"])
            try device.restart()
        }
        try await converge(one, four)
        if isSuspended {
            absent.clock.now = one.clock.now
            try absent.restart()
            try await converge(absent, one, four)
            #expect(try absent.values() == ["a": "1"])
        }
        for device in [one, four] { #expect(try device.values() == ["a": "1"]) }
    }

    /// The others wait for a clean entry of each present machine.
    @Test func `a machine with outdated versions doesn't keep others from deleting an item`()
        async throws
    {
        let devices = try await circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try one.set("a", "1")
        try await converge(one, two, three)
        try one.delete("a")
        try await converge(one, two)
        for number in 0..<80 {
            try one.set("b", "\(number)")
            try await one.settle()
        }
        try await converge(one, two)
        for number in 1...2 {
            try two.set("c", "\(number)")
            try await two.settle()
        }
        try await converge(one, two)
        try await suspendOthers(by: one, except: two)
        for number in 0..<80 {
            try one.set("b", "\(number)")
            try await one.settle()
        }
        try await two.settle()
        three.clock.now = one.clock.now
        try three.restart()
        for _ in 0..<5 { try await converge(three, one, two) }
        #expect(try one.values() == ["b": "79", "c": "2"])
        for device in [two, three] { #expect(try device.values() == one.values()) }
    }

    @Test func `an item stays if its writer appended it again after its removal was signed`()
        async throws
    {
        let devices = try await circle("one", "two", "three", "four")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try two.set("a", "1")
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        try await remove(devices[3], by: one)
        try await signRemoval(of: two, by: one)
        try await two.settle()
        let interrupted = HookedStore.lost(after: 1, creationsOf: "/m/", server)
        _ = try? await one.relay(through: interrupted).settle()
        for _ in 0..<6 {
            try await beginAgain(one, three)
            try await converge(one, three)
        }
        for device in [one, three] { #expect(try device.values() == ["a": "1"]) }
        let newcomer = try Device("new", server)
        try await one.add(newcomer)
        try await converge(one, three, newcomer)
        #expect(try newcomer.values() == ["a": "1"])
    }

    /// The entry that confirms that skipped ones aren't needed is void.
    @Test func `a removed machine's log is retired although it was cut in the middle`()
        async throws
    {
        let devices = try await circle("one", "two", "three", "four")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        for number in 0..<192 {
            try two.set("item \(number)", "1")
            try await two.settle()
        }
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        try await remove(devices[3], by: one)
        let removed = Hexadecimal.text(try await two.id().bytes)
        try await signRemoval(of: two, by: one)
        // The machine appends its items again, and loses the server before all entries are deleted
        // that aren't needed any more.
        let (created, deleted) = (Counter(), Counter())
        let interrupted = HookedStore(server) { request in
            if deleted.value > 0 { throw HookedStore.Lost() }
            switch request {
            case .create(let key) where key.contains("/l/"): created.increment()
            case .delete where created.value > 1: deleted.increment()
            default: break
            }
        }
        _ = try? await two.relay(through: interrupted).settle()
        let lost = HookedStore.lost(after: 1, creationsOf: "/m/", server)
        _ = try? await one.relay(through: lost).settle()
        for _ in 0..<6 {
            try await beginAgain(one, three)
            try await converge(one, three)
        }
        #expect(!server.records.keys.contains { $0.contains("/l/\(removed)/") })
        let newcomer = try Device("new", server)
        try await one.add(newcomer)
        try await converge(one, three, newcomer)
        #expect(try newcomer.values().count == 192)
    }

    /// After the removal no log contains the item, and entries that a present machine hasn't read
    /// are gone.
    @Test func `a machine that was suspended by mistake before takes no such item for deleted`()
        async throws
    {
        let devices = try await circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        // A clock jumps ahead.
        one.clock.now += 100 * Self.day
        let relay = one.relay(through: server, absenceLimit: Self.limit)
        for _ in 0..<3 { try await relay.settle() }
        one.clock.now -= 100 * Self.day
        try await converge(two, three, one)
        #expect(try await one.status().machines.allSatisfy { !$0.isSuspended })
        try await signRemoval(of: three, by: one)
        try three.set("a", "1")
        try await three.settle()
        try await two.settle()
        #expect(try two.values() == ["a": "1"])
        for number in 0..<200 {
            try await one.settle()
            try one.set("b", "\(number)")
        }
        try two.restart()
        try await converge(two, one)
        for device in [one, two] { #expect(try device.values() == ["a": "1", "b": "199"]) }
    }

    /// A machine copies a suspended machine's item, and retires that machine's log. A third
    /// machine, which has read neither entry with the item, then removes the copying machine, or
    /// first another one.
    @Test(arguments: [false, true])
    func `a suspended machine's item stays, although the only copy of it is void`(
        removesOther: Bool
    ) async throws {
        let devices = try await circle("one", "two", "absent", "four")
        let (one, two, absent, four) = (devices[0], devices[1], devices[2], devices[3])
        let log = "/l/\(Hexadecimal.text(try await two.id().bytes))/"
        let before = Set(server.records.keys)
        try absent.set("a", "1")
        try await absent.settle()
        let own = Set(server.records.keys).subtracting(before)
        try await two.settle()
        for days in [59, 2] {
            for device in [two, one, four] { device.clock.now += Double(days) * Self.day }
            server.hide { own.contains($0) }
            for device in [one, four] { try await device.settle() }
            server.hide { _ in false }
            if days == 59 { try await two.settle() }
        }
        let present = Set(server.records.keys)
        let relay = two.relay(through: server, absenceLimit: Self.limit)
        for _ in 0..<4 { try await relay.settle() }
        server.hide { own.contains($0) || $0.contains(log) && !present.contains($0) }
        try await one.settle()
        try await remove(removesOther ? four : two, by: one)
        server.hide { _ in false }
        if removesOther { try await remove(two, by: one) }
        for _ in 0..<3 {
            try await beginAgain(one)
            try await one.settle()
        }
        absent.clock.now = one.clock.now
        try absent.restart()
        try await converge(absent, one)
        for device in [absent, one] { #expect(try device.values() == ["a": "1"]) }
    }

    /// The suspended machine's log has the item in a void entry and in a later one that counted.
    @Test func `an item that was deleted during a suspension stays deleted`() async throws {
        let devices = try await circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await signRemoval(of: three, by: one)
        try two.set("a", "1")
        try await two.settle()
        try await converge(one, two)
        #expect(try one.values() == ["a": "1"])
        try await suspendOthers(by: one)
        try one.delete("a")
        for number in 0..<200 {
            try one.set("b", "\(number)")
            try await one.settle()
        }
        // The machine that has the tombstone is removed.
        let four = try Device("four", server)
        four.clock.now = one.clock.now
        try await one.add(four)
        try await converge(one, four)
        try await remove(one, by: four)
        two.clock.now = four.clock.now
        try two.restart()
        try await converge(two, four)
        for device in [two, four] { #expect(try device.values() == ["b": "199"]) }
    }

    /// The session learns of the suspension before the entries that were appended after it.
    @Test func `an item that was deleted during a suspension stays deleted without a restart`()
        async throws
    {
        let devices = try await circle("one", "two")
        let (one, two) = (devices[0], devices[1])
        try two.set("a", "1")
        try await converge(one, two)
        let read = Set(server.records.keys)
        try await suspendOthers(by: one)
        try one.delete("a")
        for number in 0..<200 {
            try one.set("b", "\(number)")
            try await one.settle()
        }
        // The machine that has the tombstone leaves.
        let four = try Device("four", server)
        four.clock.now = one.clock.now
        try await one.add(four)
        try await converge(one, four)
        let membership = Set(server.records.keys.filter { $0.contains("/m/") })
        try await remove(one, by: four)
        two.clock.now = four.clock.now
        server.hide { key in
            key.contains("/l/") && !read.contains(key)
                || key.contains("/m/") && !membership.contains(key)
        }
        let (server, count) = (server, Counter())
        let late = HookedStore(server) { request in
            guard case .read(let prefix) = request, prefix.contains("/m/") else { return }
            if count.value == 1 { server.hide { _ in false } }
            count.increment()
        }
        try await two.relay(through: late).settle()
        try await converge(two, four)
        for device in [two, four] { #expect(try device.values() == ["b": "199"]) }
    }

    @Test func `a removal that waited for a restart deletes nothing of other machines`()
        async throws
    {
        let devices = try await circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        for number in 0..<3 { try two.set("item \(number)", "1") }
        try one.set("own", "1")
        try await converge(one, two, three)
        try await signRemoval(of: two, by: one)
        try await signRemoval(of: three, by: two)
        try await two.settle()
        try one.restart()
        try await converge(one)
        #expect(try await one.status().machines.map(\.name) == ["one"])
        #expect(try one.values().count == 4)
    }
}
