// ClosedLogTests: removals and suspensions that close logs while their machines append to them. A
// closed log can have void entries, and an item may be in no other entry.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Logs that are closed while machines append to them` {
    private let server = MemoryStore()

    @Test func `an entry that was void before its log was retired is appended again`() async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.signRemoval(of: three)
        try two.set("a", "1")
        try await two.settle()
        // The removal is stored now. It makes the entry with the item void.
        for _ in 0..<2 { try await one.settle() }
        try await one.suspendOthers(through: server)
        #expect(try two.values() == ["a": "1"])
        two.clock.now = one.clock.now
        try two.restart()
        try await converge(two, one)
        for device in [one, two] { #expect(try device.values() == ["a": "1"]) }
    }

    /// After a removal, each machine appends its items again under new keys. A second removal makes
    /// the new entries of one machine void. That machine begins to append the versions of the void
    /// entries again, and is then removed or suspended before it has finished.
    @Test(arguments: [false, true])
    func `no item is lost if a machine that repeats void entries is removed or suspended`(
        isSuspended: Bool
    ) async throws {
        let devices = try await server.circle("one", "two", "three", "four", "five")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        for number in 0..<300 { try two.set("item \(number)", "1") }
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        try await one.remove(devices[4])
        try await one.signRemoval(of: devices[3])
        try await two.settle()
        for device in [one, three] { try await device.settle() }
        let interrupted = HookedStore.lost(after: 1, creationsOf: "/l/", server)
        _ = try? await two.relay(through: interrupted).settle()
        for device in [one, three] { try await device.settle() }
        if isSuspended {
            try await one.suspendOthers(except: three, through: server)
        } else {
            try await one.remove(two)
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

    /// The writer's log has the item only in an entry that becomes void.
    @Test(arguments: Departure.allCases)
    func `other machines keep an item that its writer doesn't have any more`(
        _ departure: Departure
    ) async throws {
        let devices = try await server.circle("one", "two", "three", "four")
        let (one, two) = (devices[0], devices[1])
        for account in ["a", "b"] { try two.set(account, "1") }
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        try await one.remove(devices[3])
        try await one.signRemoval(of: devices[2])
        try await two.settle()
        try await one.settle()
        switch departure {
        case .madeLocal: try two.makeLocal("a", "2")
        case .deletedWithoutTombstone: try two.delete("a", tombstones: .never)
        }
        try await two.settle()
        try two.beginAgain()
        try await converge(one, two)
        #expect(try one.values() == ["a": "1", "b": "1"])
        #expect(try two.values() == ["a": departure == .madeLocal ? "2" : "1", "b": "1"])
    }

    /// A machine copies an absent machine's item into its own log, and retires the absent machine's
    /// log, while a third machine removes the copying machine.
    @Test(arguments: [false, true])
    func `an item stays although the machine that copied it into its own log is removed`(
        isSuspended: Bool
    ) async throws {
        let devices = try await server.circle("one", "two", "three", "four")
        let (one, two, absent, four) = (devices[0], devices[1], devices[2], devices[3])
        try absent.set("a", "1")
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        let limit = isSuspended ? Device.absenceLimit : 0
        if isSuspended {
            for time in [59, 2] {
                for device in [one, two, four] { device.clock.now += Double(time) * Device.day }
                guard time == 59 else { break }
                for device in [four, one, two] { try await device.settle() }
            }
        } else {
            try await two.signRemoval(of: absent)
        }
        try await one.signRemoval(of: two)
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

    /// A machine takes an item that no log contains for deleted only after each present machine has
    /// appended a clean entry.
    @Test
    func `a machine whose log has outdated versions doesn't keep others from deleting an item`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
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
        try await one.suspendOthers(except: two, through: server)
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

    @Test
    func `an item stays if its writer appended it again after the writer's removal was signed`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three", "four")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try two.set("a", "1")
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        try await one.remove(devices[3])
        try await one.signRemoval(of: two)
        try await two.settle()
        let interrupted = HookedStore.lost(after: 1, creationsOf: "/m/", server)
        _ = try? await one.relay(through: interrupted).settle()
        for _ in 0..<6 {
            for device in [one, three] { try device.beginAgain() }
            try await converge(one, three)
        }
        for device in [one, three] { #expect(try device.values() == ["a": "1"]) }
        let newcomer = try Device("new", server)
        try await one.add(newcomer)
        try await converge(one, three, newcomer)
        #expect(try newcomer.values() == ["a": "1"])
    }

    /// The entry that confirms that skipped entries aren't needed is void.
    @Test
    func `the log of a machine that is removed while it appends its items again is retired`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three", "four")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        for number in 0..<192 {
            try two.set("item \(number)", "1")
            try await two.settle()
        }
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        try await one.remove(devices[3])
        let removed = Hexadecimal.text(try await two.id().bytes)
        try await one.signRemoval(of: two)
        // The machine appends its items again, and loses the server before it has deleted all
        // entries that aren't needed any more.
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
            for device in [one, three] { try device.beginAgain() }
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
    @Test func `an item in no log stays on a machine that was once suspended by mistake`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        // A clock jumps ahead.
        one.clock.now += 100 * Device.day
        let relay = one.relay(through: server, absenceLimit: Device.absenceLimit)
        for _ in 0..<3 { try await relay.settle() }
        one.clock.now -= 100 * Device.day
        try await converge(two, three, one)
        #expect(try await one.status().machines.allSatisfy { !$0.isSuspended })
        try await one.signRemoval(of: three)
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

    /// A machine copies a suspended machine's item, and retires the suspended machine's log. A
    /// third machine, which has read neither entry with the item, then removes the copying machine.
    /// In one case, it removes a fourth machine first.
    @Test(arguments: [false, true])
    func `a suspended machine's item stays, although the entry with its only copy is void`(
        removesOther: Bool
    ) async throws {
        let devices = try await server.circle("one", "two", "absent", "four")
        let (one, two, absent, four) = (devices[0], devices[1], devices[2], devices[3])
        let log = "/l/\(Hexadecimal.text(try await two.id().bytes))/"
        let before = Set(server.records.keys)
        try absent.set("a", "1")
        try await absent.settle()
        let own = Set(server.records.keys).subtracting(before)
        try await two.settle()
        for days in [59, 2] {
            for device in [two, one, four] { device.clock.now += Double(days) * Device.day }
            server.hide { own.contains($0) }
            for device in [one, four] { try await device.settle() }
            server.hide { _ in false }
            if days == 59 { try await two.settle() }
        }
        let present = Set(server.records.keys)
        let relay = two.relay(through: server, absenceLimit: Device.absenceLimit)
        for _ in 0..<4 { try await relay.settle() }
        server.hide { own.contains($0) || $0.contains(log) && !present.contains($0) }
        try await one.settle()
        try await one.remove(removesOther ? four : two)
        server.hide { _ in false }
        if removesOther { try await one.remove(two) }
        for _ in 0..<3 {
            try one.beginAgain()
            try await one.settle()
        }
        absent.clock.now = one.clock.now
        try absent.restart()
        try await converge(absent, one)
        for device in [absent, one] { #expect(try device.values() == ["a": "1"]) }
    }

    /// The suspended machine's log has the item in a void entry and in a later one that counted.
    @Test func `an item that was deleted during a suspension stays deleted`() async throws {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.signRemoval(of: three)
        try two.set("a", "1")
        try await two.settle()
        try await converge(one, two)
        #expect(try one.values() == ["a": "1"])
        try await one.suspendOthers(through: server)
        let four = try await one.deleteForGood("a", on: server)
        try await four.remove(one)
        two.clock.now = four.clock.now
        try two.restart()
        try await converge(two, four)
        for device in [two, four] { #expect(try device.values() == ["b": "199"]) }
    }

    /// The suspended machine isn't restarted. Its session reads the suspension before it reads the
    /// entries that were appended after the suspension.
    @Test func `an item that was deleted during a suspension stays deleted without a restart`()
        async throws
    {
        let devices = try await server.circle("one", "two")
        let (one, two) = (devices[0], devices[1])
        try two.set("a", "1")
        try await converge(one, two)
        let read = Set(server.records.keys)
        try await one.suspendOthers(through: server)
        let four = try await one.deleteForGood("a", on: server)
        let membership = Set(server.records.keys.filter { $0.contains("/m/") })
        try await four.remove(one)
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

    @Test func `a removal that is stored only after a restart deletes no items of other machines`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        for number in 0..<3 { try two.set("item \(number)", "1") }
        try one.set("own", "1")
        try await converge(one, two, three)
        try await one.signRemoval(of: two)
        try await two.signRemoval(of: three)
        try await two.settle()
        try one.restart()
        try await converge(one)
        #expect(try await one.status().machines.map(\.name) == ["one"])
        #expect(try one.values().count == 4)
    }

    /// The machine makes the entry with the later version, deletes the item without a tombstone,
    /// and only then stores the entry.
    @Test
    func `a version isn't lost if its item is deleted before the version's entry is stored`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try one.set("a", "1")
        try await converge(one, two, three)
        try await one.signRemoval(of: three)
        two.clock.now = one.clock.now
        try two.set("a", "2")
        try await two.settle()
        // The removal is stored now. It makes the entry with the later version void.
        for _ in 0..<2 { try await one.settle() }
        _ = try? await two.relay(through: server.losing(creationsOf: "/l/")).settle()
        try two.delete("a", tombstones: .never)
        for number in 0..<200 {
            try await two.settle()
            try two.set("b", "\(number)")
        }
        try two.beginAgain()
        try await converge(two, one)
        for device in [one, two] { #expect(try device.values() == ["a": "2", "b": "199"]) }
    }

    /// The log keeps the entry with the item that is local now, and all later entries, until the
    /// next session of the same machine has read the version in that entry.
    @Test(arguments: [false, true])
    func `a machine that has made an item local doesn't keep others from deleting another item`(
        withRemoval: Bool
    ) async throws {
        let devices = try await server.circle("one", "two", "three", "four")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try one.set("a", "1")
        try await converge(one, two, three)
        try one.delete("a")
        try two.set("d", "1")
        try await converge(one, two)
        for number in 1...(withRemoval ? 1 : 2) {
            try two.set("c", "\(number)")
            try await two.settle()
        }
        try two.makeLocal("d", "2")
        try await converge(two, one)
        if withRemoval {
            try await one.remove(devices[3])
            try await converge(two, one)
        }
        try await one.suspendOthers(except: two, through: server)
        for number in 0..<200 {
            try one.set("b", "\(number)")
            try await one.settle()
        }
        try await two.settle()
        three.clock.now = one.clock.now
        try three.restart()
        for _ in 0..<3 {
            try await converge(three, one, two)
            for device in [one, two, three] { device.clock.now += 400 }
        }
        for device in [one, two, three] { #expect(try device.values()["a"] == nil) }
    }
}
