// CircleSupport: circles of several machines, and changes of their members.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

extension MemoryStore {
    /// Machines of one circle. The first one founded it.
    func circle(_ names: String...) async throws -> [Device] {
        let devices = try names.map { try Device($0, self) }
        try await devices[0].found()
        for device in devices.dropFirst() { try await devices[0].add(device) }
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        return devices
    }

    /// A server to which the connection is lost before each creation of a record whose key contains
    /// `part`.
    func losing(creationsOf part: String) -> HookedStore {
        HookedStore(self) { request in
            if case .create(let key) = request, key.contains(part) { throw HookedStore.Lost() }
        }
    }

    /// A server on which `event` happens once, before the log of `machine` is read for the second
    /// time. By then, the logs that come before that log in the order of reading have been read to
    /// their ends, except logs with more records than one read returns.
    func racing(
        readingEndOfLogOf machine: Device, _ event: @escaping @Sendable () async throws -> Void
    ) async throws -> HookedStore {
        let log = "/l/\(Hexadecimal.text(try await machine.id().bytes))/"
        let counter = Counter()
        return HookedStore(self) { request in
            guard case .read(let prefix) = request, prefix.contains(log) else { return }
            counter.increment()
            if counter.value == 2 { try await event() }
        }
    }
}

extension MemoryStore {
    /// Two devices in the order of their machines' identifiers. A round reads logs in this order.
    func devicesInOrder() async throws -> (Device, Device) {
        var pair: [(id: MachineID, device: Device)] = []
        for name in ["x", "y"] {
            let device = try Device(name, self)
            let bytes = try await device.relay.send(.describe).message
            pair.append((try #require(MachineDescription(decoding: bytes)).id, device))
        }
        pair.sort { $0.id < $1.id }
        return (pair[0].device, pair[1].device)
    }

    func log(of device: Device) async throws -> String {
        "/l/\(Hexadecimal.text(try await device.id().bytes))/"
    }

    func hasRecord(_ part: String) -> Bool {
        records.keys.contains { $0.contains(part) }
    }

    /// The circle according to the server's membership log.
    func membership() async throws -> Circle {
        let entries = try await allRecords("").filter { $0.key.contains("/m/") }
            .map { try MembershipEntry(decoding: $0.value) }
        var circle = try Circle(founding: try #require(entries.first))
        for entry in entries.dropFirst() { try circle.append(entry) }
        return circle
    }

    /// Lets the machine `device` leave. Then the machine `copier` copies the log of `device` and
    /// retires this log. The retirement is the last record that `copier` stores.
    func leave(_ device: Device, copiedBy copier: Device) async throws {
        try await device.signRemoval(of: device)
        for _ in 0..<3 { try await device.settle() }
        #expect(try await device.status().state == .removed)
        let count = records.keys.count { $0.contains("/m/") }
        let lost = HookedStore.lost(after: 1, creationsOf: "/m/", self)
        _ = try? await copier.relay(through: lost).settle()
        #expect(records.keys.count { $0.contains("/m/") } == count + 1)
    }

    /// Suspends the machine `absent`. The machine `copier` copies the log of `absent` and retires
    /// this log. The machine `late` isn't suspended, but reads neither the copies nor the
    /// retirement. With `isRemoving`, `late` signs the removal of `copier` before the suspension.
    func suspend(
        _ absent: Device, copiedBy copier: Device, unreadBy late: Device, isRemoving: Bool = true
    ) async throws {
        for device in [late, copier] { device.clock.now += 59 * Device.day }
        try late.set("c", "1")
        try await late.sendOnly(to: self)
        if isRemoving { try await late.signRemoval(of: copier) }
        try await copier.settle()
        copier.clock.now += 2 * Device.day
        let relay = copier.relay(through: self, absenceLimit: Device.absenceLimit)
        for _ in 0..<3 { try await relay.settle() }
        absent.clock.now = copier.clock.now
    }
}

extension Device {
    static let day = 86_400.0
    /// The absence in milliseconds after which a machine is suspended: 60 days.
    static let absenceLimit: Int64 = 60 * 86_400_000

    /// Signs a removal, which isn't on the server before the next exchange.
    func signRemoval(of removed: Device) async throws {
        _ = try await relay.send(.remove(try await removed.id()))
    }

    func remove(_ removed: Device) async throws {
        try await signRemoval(of: removed)
        try await settle()
    }

    /// Adds items with values of the given size, each in an entry of its own.
    func setItems(_ count: Int, byteCount: Int) async throws {
        for number in 0..<count {
            try set("item \(number)", String(repeating: "1", count: byteCount))
            try await settle()
        }
    }

    /// Sends this machine's changes, which show that the machine isn't absent. Reads no other
    /// machine's log.
    func sendOnly(to server: MemoryStore) async throws {
        let own = try await server.log(of: self)
        let store = HookedStore(server) { request in
            guard case .read(let prefix) = request, prefix.contains("/l/") else { return }
            if !prefix.contains(own) { throw HookedStore.Lost() }
        }
        _ = try? await relay(through: store).settle()
    }

    /// Lets so much time pass that this machine suspends all other machines except `present`, which
    /// exchange records in the meantime. This machine suspends the others in exchanges through
    /// `store`.
    func suspendOthers(except present: Device..., through store: any RecordStore) async throws {
        clock.now += 59 * Self.day
        for other in present {
            other.clock.now = clock.now
            try await other.settle()
        }
        try await settle()
        clock.now += 2 * Self.day
        let relay = relay(through: store, absenceLimit: Self.absenceLimit)
        for _ in 0..<3 { try await relay.settle() }
    }

    /// Deletes an item, and writes to "b" until this machine's log doesn't have the deletion any
    /// more.
    /// - Returns: A new machine of the circle, which doesn't get the tombstone. Once the machine
    ///   that deleted the item is removed, no machine of the circle has the tombstone.
    func deleteForGood(_ account: String, on server: MemoryStore) async throws -> Device {
        try delete(account)
        for number in 0..<200 {
            try set("b", "\(number)")
            try await settle()
        }
        let successor = try Device("four", server)
        successor.clock.now = clock.now
        try await add(successor)
        try await converge(self, successor)
        return successor
    }

    /// A new process, some minutes later.
    func beginAgain() throws {
        clock.now += 400
        try restart()
    }
}
