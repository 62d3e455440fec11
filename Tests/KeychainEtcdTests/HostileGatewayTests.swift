// HostileGatewayTests: machines of a circle whose gateway withholds, replays, forks, swaps, drops and
// reorders. No keychain accepts anything wrong, and the status reports what can be noticed. The
// tests of KeychainSynchronizer cover the same lies, and more, without etcd's client.

#if Synchronization

import EtcdTestSupport
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainEtcd
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A circle with a hostile gateway` {
    /// Two machines that have the items "a" and "b", the gateway that both use, and a second one
    /// that neither uses yet.
    private struct Circle {
        let gateway: HostileGateway
        let store: EtcdStore
        let fork: HostileGateway
        let forkStore: EtcdStore
        let one: Device
        let two: Device

        func log(of device: Device) async throws -> [String] {
            let machine = Hexadecimal.text(try await device.id().bytes)
            return gateway.with { $0.log(of: machine) }
        }

        /// Saves values one after another, and returns the keys of the entries that have them.
        func save(_ values: [String], by device: Device) async throws -> [String] {
            let before = try await log(of: device)
            for value in values {
                try device.set("a", value)
                try await device.settle()
            }
            return Array(try await log(of: device).dropFirst(before.count))
        }

        /// Lets the gateway tell the truth, and expects that all machines then agree.
        func expectAgreement(_ values: [String: String]) async throws {
            gateway.with { state in
                state.isHidden = { _ in false }
                state.shown = { $1 }
                (state.dropsWrites, state.isReversed) = (false, false)
            }
            for device in [one, two] { device.clock.now += 400 }
            try await converge(one, two)
            for device in [one, two] {
                #expect(try device.values() == values, "\(device.name)")
                let status = try await device.status()
                #expect(status.waitingCount == 0)
                #expect(status.machines.allSatisfy { $0.withheldCount == 0 })
            }
        }
    }

    private static let items = ["a": "1", "b": "2"]

    private func withCircle(_ test: (Circle) async throws -> Void) async throws {
        let (gateway, fork) = (HostileGateway(), HostileGateway())
        try await StandInServer.with([{ gateway.reply($0) }, { fork.reply($0) }]) {
            servers, certificates in
            let clients = try servers.map { try standInClient([$0.endpoint], certificates) }
            let stores = clients.map { EtcdStore($0) }
            let circle = Circle(
                gateway: gateway, store: stores[0], fork: fork, forkStore: stores[1],
                one: try Device("one", stores[0]), two: try Device("two", stores[0]))
            try await circle.one.found()
            try await circle.one.add(circle.two)
            try circle.one.set("a", "1")
            try circle.one.set("b", "2")
            try await converge(circle.one, circle.two)
            #expect(try circle.two.values() == Self.items)
            try await test(circle)
            for client in clients { await client.shutDown() }
        }
    }

    @Test
    func `the status counts the entries that the gateway withholds, and later ones are accepted`()
        async throws
    {
        try await withCircle { circle in
            let entries = try await circle.save(["3", "4", "5"], by: circle.one)
            let first = try #require(entries.first)
            circle.gateway.with { state in state.isHidden = { $0 == first } }
            try await circle.two.settle()
            #expect(try circle.two.values() == ["a": "5", "b": "2"])
            #expect(try await circle.two.status().machines.contains { $0.withheldCount > 0 })
            try await circle.expectAgreement(["a": "5", "b": "2"])
        }
    }

    @Test
    func `if the gateway withholds everything new, the age of the last sign of life shows that`()
        async throws
    {
        try await withCircle { circle in
            let (one, two) = (circle.one, circle.two)
            let last = try #require(
                try await two.status().machines.first { !$0.isThisOne }?.seen)
            let known = HostileGateway()
            circle.gateway.copyKeys(to: known)
            for hour in 1...3 {
                one.clock.now += 3600
                try one.set("a", "\(hour) hours later")
                try await one.settle()
            }
            circle.gateway.with { state in
                state.isHidden = { key in known.with { $0.value(key) == nil } }
                state.shown = { key, value in known.with { $0.value(key) } ?? value }
            }
            two.clock.now = one.clock.now
            try await two.settle()
            #expect(try two.values() == Self.items)
            let other = try #require(try await two.status().machines.first { !$0.isThisOne })
            #expect(other.seen == last)
            #expect(two.engine.milliseconds - other.seen >= 3 * 3_600_000)
            try await circle.expectAgreement(["a": "3 hours later", "b": "2"])
        }
    }

    @Test func `an earlier state that the gateway replays replaces nothing`() async throws {
        try await withCircle { circle in
            let old = HostileGateway()
            circle.gateway.copyKeys(to: old)
            _ = try await circle.save(["3"], by: circle.one)
            try await circle.two.settle()
            let current = ["a": "3", "b": "2"]
            circle.gateway.with { state in
                state.isHidden = { key in old.with { $0.value(key) == nil } }
                state.shown = { key, value in old.with { $0.value(key) } ?? value }
            }
            for device in [circle.one, circle.two] {
                try device.restart()
                try await device.settle()
                #expect(try device.values() == current)
            }
            // Machine one notices that entries of its own log are missing. Machine two knows that
            // these entries exist.
            #expect(try await circle.one.status().isOwnLogMissing)
            #expect(try await circle.two.status().machines.contains { $0.withheldCount > 0 })
            try await circle.expectAgreement(current)
        }
    }

    @Test func `an earlier entry that the gateway replays in place of a later one isn't accepted`()
        async throws
    {
        try await withCircle { circle in
            let entries = try await circle.save(["3", "4"], by: circle.one)
            let (first, last) = (try #require(entries.first), try #require(entries.last))
            let earlier = try #require(circle.gateway.with { $0.value(first) })
            circle.gateway.with { state in state.shown = { $0 == last ? earlier : $1 } }
            for _ in 0..<2 {
                try await circle.two.settle()
                #expect(try circle.two.values() == ["a": "3", "b": "2"])
                try circle.two.restart()
            }
            try await circle.two.settle()
            let notices = try await circle.two.status().notices
            #expect(notices.contains { $0.hasPrefix("The server's record after entry ") })
            try await circle.expectAgreement(["a": "4", "b": "2"])
        }
    }

    /// The gateway swaps values within one log, and between the logs of two machines.
    @Test(arguments: [false, true])
    func `values that the gateway swaps aren't mistaken for one another`(
        _ isBetweenLogs: Bool
    ) async throws {
        try await withCircle { circle in
            let (one, two) = (circle.one, circle.two)
            let entries = try await circle.save(["3", "4"], by: one)
            try two.set("b", "5")
            try await two.settle()
            let first = try #require(entries.first)
            let other = isBetweenLogs ? try await circle.log(of: two).last : entries.last
            let last = try #require(other)
            let values = circle.gateway.with { ($0.value(first), $0.value(last)) }
            let swapped = [first: try #require(values.1), last: try #require(values.0)]
            circle.gateway.with { state in state.shown = { swapped[$0] ?? $1 } }
            for device in [one, two] {
                try device.restart()
                try await device.settle()
                let values = try device.values()
                #expect(["1", "3", "4"].contains(values["a"]))
                #expect(["2", "5"].contains(values["b"]))
            }
            try await circle.expectAgreement(["a": "4", "b": "5"])
        }
    }

    @Test
    func `a write that the gateway acknowledges and drops stays on its machine, and is reported`()
        async throws
    {
        try await withCircle { circle in
            let (one, two) = (circle.one, circle.two)
            circle.gateway.with { $0.dropsWrites = true }
            try one.set("a", "3")
            _ = try? await one.settle()
            circle.gateway.with { $0.dropsWrites = false }
            try one.restart()
            try one.set("b", "4")
            try await one.settle()
            try await two.settle()
            #expect(try one.values() == ["a": "3", "b": "4"])
            #expect(try two.values() == Self.items)
            let status = try await one.status()
            #expect(status.isOwnLogMissing && status.waitingCount > 0, "\(status)")
        }
    }

    @Test
    func `keys that the gateway reorders end the round with an error, and nothing is accepted`()
        async throws
    {
        try await withCircle { circle in
            _ = try await circle.save(["3", "4"], by: circle.one)
            circle.gateway.with { $0.isReversed = true }
            await #expect(throws: EtcdFailure.self) { try await circle.two.settle() }
            #expect(try circle.two.values() == Self.items)
            try await circle.expectAgreement(["a": "4", "b": "2"])
        }
    }

    /// Each machine changes the membership on its own server, which doesn't show it the other's
    /// change.
    @Test func `two histories that the gateway shows are never merged, and are reported`()
        async throws
    {
        try await withCircle { circle in
            let (one, two) = (circle.one, circle.two)
            circle.gateway.copyKeys(to: circle.fork)
            func add(_ name: String, by device: Device, to server: EtcdStore) async throws {
                let machine = try await Device(name, server).relay.send(.describe).message
                let relay = device.relay(through: server)
                _ = try await relay.send(.add(machine: machine, name: name, groups: nil))
                try await relay.settle()
            }
            try await add("three", by: one, to: circle.store)
            try one.set("a", "3")
            try await one.settle()
            try await add("four", by: two, to: circle.forkStore)
            try await add("five", by: two, to: circle.forkStore)
            try two.set("b", "4")
            try await two.relay(through: circle.forkStore).settle()
            let values = [try one.values(), try two.values()]
            #expect(values == [["a": "3", "b": "2"], ["a": "1", "b": "4"]])

            // Now each machine is shown the other one's history.
            for (device, store) in [(one, circle.forkStore), (two, circle.store)] {
                let names = try await device.status().machines.map(\.name)
                try device.restart()
                for _ in 0..<3 { _ = try? await device.relay(through: store).settle() }
                let status = try await device.status()
                #expect(status.machines.map(\.name) == names)
                #expect(status.isOwnLogMissing, "\(device.name): \(status)")
                // The second history has one more change of the membership than the first. Machine
                // one sees that this change doesn't follow the last one that it knows. Machine two
                // sees no further change.
                #expect(
                    status.notices.contains { $0.contains("a different history than before") }
                        == (device.name == "one"), "\(status)")
            }
            #expect([try one.values(), try two.values()] == values)
        }
    }
}

#endif
