// AbsenceTests: machines that are away are suspended, by one of the others, and come back. Members
// also take turns at replacing a lost grant of keys.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Machines of a circle that are away` {
    private let server = MemoryStore()
    private static let day = 86_400.0
    private static let limit: Int64 = 60 * 86_400_000

    @Test func `a machine that returns doesn't suspend the others`() async throws {
        let (one, two, three) = try await devices()
        try await pass(7, one, two, limit: 0)
        three.clock.now = one.clock.now
        try await settle(three)
        #expect(suspensionCount == 0)
    }

    private func devices() async throws -> (Device, Device, Device) {
        let one = try Device("one", server)
        let (two, three) = (try Device("two", server), try Device("three", server))
        try await one.found()
        try await one.add(two)
        try await one.add(three)
        try one.set("a", "1")
        try await converge(one, two, three)
        return (one, two, three)
    }

    private func settle(
        _ device: Device, _ store: (any RecordStore)? = nil, limit: Int64 = Self.limit
    ) async throws {
        let relay = device.relay(through: store ?? server, absenceLimit: limit)
        // Several exchanges, because a machine suspends at most one other machine in each.
        for _ in 0..<3 { try await relay.settle() }
    }

    /// Lets ten days pass several times. Only the clocks of these devices advance, and after each
    /// ten days only these devices exchange.
    private func pass(_ times: Int, _ devices: Device..., limit: Int64 = Self.limit) async throws {
        for _ in 0..<times {
            for device in devices { device.clock.now += 10 * Self.day }
            for device in devices { try await settle(device, limit: limit) }
        }
    }

    /// The number of suspensions in the membership log.
    private var suspensionCount: Int {
        server.records.count { $0.key.contains("/m/") && $0.value.dropFirst(5).first == 4 }
    }

    private func suspended(_ device: Device) async throws -> [String] {
        try await device.status().machines.filter(\.isSuspended).map(\.name)
    }

    @Test func `a machine isn't suspended if it wrote an entry after its clock was set back`()
        async throws
    {
        let (one, two, three) = try await devices()
        three.clock.now -= 1000 * Self.day
        try three.set("b", "1")
        try await pass(10, one, three)
        #expect(try await suspended(one) == ["two"])
        two.clock.now = one.clock.now
        try await settle(two)
        try await settle(one)
        #expect(try await suspended(one) == [])
    }

    @Test func `an absent machine is suspended once, after the time limit, until it returns`()
        async throws
    {
        let (one, two, three) = try await devices()
        try await pass(5, one, two)
        #expect(suspensionCount == 0)
        try three.set("b", "while away")
        try await pass(2, one, two)
        #expect(suspensionCount == 1)
        #expect(try await suspended(one) == ["three"])
        #expect(try await suspended(two) == ["three"])
        // The absent machine learns of this deletion when it returns.
        try one.delete("a")
        try await pass(3, one, two)
        #expect(suspensionCount == 1)
        three.clock.now = one.clock.now
        try await settle(three)
        try await settle(one)
        try await settle(three)
        try await settle(two)
        for device in [one, two, three] {
            #expect(try device.values() == ["b": "while away"])
            #expect(try await suspended(device) == [])
            #expect(try await device.status().notices == [])
        }
        try await pass(2, one, two, three)
        #expect(suspensionCount == 1)
    }

    /// The machine that returns has also missed entries that the logs no longer contain. Therefore
    /// it treats every item that no log contains as deleted, except the item that it wrote while it
    /// was away.
    @Test func `a machine that returns as a new process sends what it wrote while it was away`()
        async throws
    {
        let (one, two, three) = try await devices()
        try await pass(7, one, two)
        #expect(try await suspended(one) == ["three"])
        try one.delete("a")
        for number in 0..<80 {
            try one.set("c", "\(number)")
            try await settle(one)
        }
        try await pass(1, one, two)
        try three.set("b", "while away")
        three.clock.now = one.clock.now
        try three.restart()
        try await converge(three, one, two)
        for device in [one, two, three] {
            #expect(try device.values() == ["b": "while away", "c": "79"])
        }
    }

    @Test func `one machine suspends all others that are away`() async throws {
        let (one, _, _) = try await devices()
        try await pass(7, one)
        #expect(suspensionCount == 2)
        #expect(Set(try await suspended(one)) == ["two", "three"])
    }

    @Test(arguments: [false, true])
    func `a suspension that couldn't be stored is given up if the machine has returned`(
        restarts: Bool
    ) async throws {
        let (one, two, three) = try await devices()
        try await pass(5, one, two)
        for device in [one, two] { device.clock.now += 11 * Self.day }
        for device in [one, two] {
            _ = try? await settle(device, server.losing(creationsOf: "/m/"))
        }
        three.clock.now = one.clock.now
        try three.set("b", "1")
        try await settle(three)
        for device in [one, two] {
            if restarts { try device.restart() }
            try await settle(device)
        }
        #expect(suspensionCount == 0)
        for device in [one, two] { #expect(try device.values() == ["a": "1", "b": "1"]) }
    }

    @Test func `only one of two suspensions signed at the same time is in the log`() async throws {
        let (one, two, three) = try await devices()
        try await pass(5, one, two)
        for device in [one, two] { device.clock.now += 11 * Self.day }
        // The machine whose turn it is signs first. The other machine's suspension is stored first.
        let racing = HookedStore.racing(server, count: 1) { try await self.settle(two) }
        try await settle(one, racing)
        try await settle(two)
        #expect(suspensionCount == 1)
        let last = try #require(server.records.keys.filter { $0.contains("/m/") }.max())
        let suspension = try MembershipEntry(decoding: try #require(server.records[last]))
        #expect(suspension.signer == MachineID(try await two.id()))
        #expect(try await suspended(one) == [three.name])
    }

    @Test func `no machine is suspended without a time limit, or when away for less than a day`()
        async throws
    {
        let (one, two, _) = try await devices()
        for limit: Int64 in [0, .min, .max] { try await pass(10, one, two, limit: limit) }
        #expect(suspensionCount == 0)
        let four = try Device("four", server)
        try await one.add(four)
        for device in [one, two] { device.clock.now += Self.day / 2 }
        try await settle(two, limit: 1)
        try await settle(one, limit: 1)
        #expect(try await suspended(one) == ["three"])
    }

    // MARK: Turns

    /// Five members in the order of their identifiers. `limited` has only some groups, and the
    /// others have all. All have read everything, and all clocks show the same time. From then on,
    /// the test doesn't let `gone` and `absent` exchange.
    private func ordered() async throws -> (
        limited: Device, gone: Device, first: Device, second: Device, absent: Device
    ) {
        var devices: [(id: MachineID, device: Device)] = []
        for number in 0..<5 {
            let device = try Device("\(number)", server)
            let bytes = try await device.relay.send(.describe).message
            devices.append((try #require(MachineDescription(decoding: bytes)).id, device))
        }
        let all = devices.sorted { $0.id < $1.id }.map(\.device)
        try await all[2].found()
        try await all[2].add(all[0], groups: [Device.group])
        for device in [all[1], all[3], all[4]] { try await all[2].add(device) }
        let start = all[2].clock.now + Self.day
        for device in all { device.clock.now = start }
        for _ in 0..<2 {
            for device in all { try await settle(device) }
        }
        return (all[0], all[1], all[2], all[3], all[4])
    }

    /// The member whose turn it is suspends `gone`. Until then, `gone` had an earlier turn at
    /// suspending `absent`. A suspended machine has no turn, so the member suspends `absent` at
    /// once, too. A machine with only some groups never has a turn.
    @Test(arguments: [0, 1])
    func `members take turns at suspending other machines, an hour apart`(turn: Int) async throws {
        let (limited, gone, first, second, absent) = try await ordered()
        let end = absent.clock.now + Double(Self.limit) / 1000
        // These machines exchange, so that none of them seems to be away.
        for device in [limited, first, second, first] {
            device.clock.now = end - 1
            try await settle(device)
        }
        let signer = [first, second][turn]
        for device in [limited, signer] {
            device.clock.now = end + Double(turn) * 3600 - 1
            try await settle(device)
        }
        #expect(suspensionCount == 0)
        for device in [limited, signer] {
            device.clock.now += 1
            try await settle(device)
        }
        #expect(suspensionCount == 2)
        #expect(Set(try await suspended(signer)) == [gone.name, absent.name])
    }

    @Test func `a machine gets keys from another member if the grant to it is lost`()
        async throws
    {
        let (one, two, three) = try await devices()
        try await pass(1, one, two, three)
        let four = try Device("four", server)
        let before = try await keys(of: one)
        let description = try await four.relay.send(.describe).message
        _ = try await one.relay.send(.add(machine: description, name: "four", groups: nil))
        try await settle(one)
        // The addition of the machine stays on the server, and the grant is removed from it.
        let lost = Set(try await keys(of: one)).subtracting(before)
        #expect(!lost.isEmpty)
        for key in lost { server.records[key] = nil }
        try await four.joinListed()
        #expect(try four.values() == [:])
        try await settle(two)
        let logs = server.records.keys.filter { $0.contains("/l/") }
        two.clock.now += 3599
        try await settle(two)
        #expect(server.records.keys.filter { $0.contains("/l/") } == logs)
        // `one` and `three` may have earlier turns than `two`, an hour each.
        two.clock.now += 2 * 3600 + 1
        try await settle(two)
        try await settle(four)
        #expect(try four.values() == ["a": "1"])
        try four.set("b", "2")
        for device in [four, two, three] { try await settle(device) }
        #expect(try two.values() == ["a": "1", "b": "2"])
        // The keys were granted once.
        let given = try server.records.filter { $0.key.contains("/l/") }
            .flatMap { try LogEntry(decoding: $0.value).parts }
            .count {
                guard case .grant(let grant) = $0 else { return false }
                return grant.recipient == MachineDescription(decoding: description)?.id
            }
        #expect(given == 1)
    }

    // MARK: Unread entries

    /// The keys of the records with the entries of a machine's log and with its signed head.
    private func keys(of device: Device) async throws -> [String] {
        let id = Hexadecimal.text(try await device.id().bytes)
        return server.records.keys.filter {
            $0.contains("/l/\(id)/") || $0.hasSuffix("/h/\(id)")
        }
    }

    @Test func `no machine is suspended while others know of its entries but haven't read them`()
        async throws
    {
        let (one, two, three) = try await devices()
        let before = try await keys(of: three)
        // An hour later, machine three signs its head again, and the head includes the new entry.
        three.clock.now += 3600
        try three.set("b", "2")
        try await settle(three)
        let entries = Set(try await keys(of: three)).subtracting(before)
        #expect(entries.count == 1)
        server.hide { entries.contains($0) }
        try await pass(8, one, two)
        #expect(suspensionCount == 0)
        // Reading the entry is a sign of life.
        server.hide { _ in false }
        try await pass(6, one, two)
        #expect(suspensionCount == 0)
        try await pass(2, one, two)
        #expect(suspensionCount == 1)
        #expect(try one.values() == ["a": "1", "b": "2"])
    }

    @Test(arguments: [false, true])
    func `changes in log entries that a suspension invalidates are sent again`(restarts: Bool)
        async throws
    {
        let (one, two, three) = try await devices()
        let before = try await keys(of: three)
        try three.set("a", "2")
        try three.set("b", "3")
        try await settle(three)
        #expect(try await three.status().waitingCount == 0)
        // The others see neither machine three's entry nor a head that includes the entry.
        let hidden = Set(try await keys(of: three)).subtracting(before)
        let head = try #require(before.first { $0.contains("/h/") })
        #expect(!hidden.isEmpty)
        server.hide { hidden.contains($0) || $0 == head }
        try await pass(7, one, two)
        #expect(suspensionCount == 1)
        server.hide { _ in false }
        for device in [one, two] { try await settle(device) }
        #expect(try one.values() == ["a": "1"])
        if restarts { try three.restart() }
        three.clock.now = one.clock.now
        for device in [three, one, two, three] { try await settle(device) }
        for device in [one, two, three] {
            #expect(try device.values() == ["a": "2", "b": "3"])
            #expect(try await suspended(device) == [])
            #expect(try await device.status().notices == [])
        }
    }

    /// The machines that carried out the deletion have dropped it from their logs, but not from
    /// their keychains.
    @Test(arguments: [false, true])
    func `an absent machine's change overrides a dropped deletion only if the change is later`(
        isLater: Bool
    ) async throws {
        let (one, two, three) = try await devices()
        if !isLater { try three.set("a", "2") }
        try await pass(7, one, two)
        #expect(suspensionCount == 1)
        try one.delete("a")
        try await pass(3, one, two)
        // Enough changes that the log is compacted several times.
        for number in 0..<200 {
            try one.set("b", "\(number)")
            for device in [one, two] { try await device.settle() }
        }
        let four = try Device("four", server)
        try await one.add(four)
        try await settle(four)
        #expect(try four.values() == ["b": "199"])
        var deletions = Device.query("a")
        deletions.isTombstone = true
        #expect(throws: KeychainFailure.itemNotFound) {
            try four.engine.perform(FindItems(deletions), as: Device.caller)
        }
        three.clock.now = one.clock.now
        if isLater { try three.set("a", "2") }
        for device in [three, one, two, four, three, one, four] { try await settle(device) }
        for device in [one, two, three, four] {
            #expect(try device.values()["a"] == (isLater ? "2" : nil))
        }
    }
}
