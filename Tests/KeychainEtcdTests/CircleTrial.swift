// CircleTrial: random changes on the machines of a circle, and failures that begin and end at
// random.
//   (1) All random choices of the trial come from the seed. The seed determines neither which node
//       leads nor how long anything takes.
//   (2) At most one node of etcd fails at a time, so that the others keep the cluster available.

#if Synchronization

import EtcdTestSupport
import Foundation
import TestPrograms
import Testing

struct CircleTrial {
    /// A failure that lasts until the trial ends it.
    private enum Trouble: Hashable {
        case killedNode(Int)
        case suspendedNode(Int)
        /// The other nodes can't connect to it.
        case cutNode(Int)
        case suspendedRelay(Int)
        /// Requests to it are not answered, so none is made on its machine, except by the relay.
        case suspendedService(Int)
        /// The link of a machine to a node.
        case cutLink(Int, Int)
        case silentLink(Int, Int)
        case fullDisk(Int)

        var isOfNode: Bool {
            switch self {
            case .killedNode, .suspendedNode, .cutNode: true
            case .suspendedRelay, .suspendedService, .cutLink, .silentLink, .fullDisk: false
            }
        }
    }

    private let cluster: EtcdCluster
    private let machines: [CircleMachine]
    private var random: SeededGenerator
    private var troubles: Set<Trouble> = []
    private var model = CircleModel()
    private(set) var tally = Tally()

    /// The numbers of changes and of other events.
    struct Tally {
        var changeCount = 0
        var unansweredCount = 0
        var events: [String: Int] = [:]
    }

    init(_ cluster: EtcdCluster, _ machines: [CircleMachine], seed: UInt64) {
        (self.cluster, self.machines) = (cluster, machines)
        random = SeededGenerator(seed: seed)
    }

    /// The offsets of the services' clocks from the right time.
    private static let clocks = ["-1000d", "-1d", "-10s", "+10s", "+1d", "+1000d"]
    /// The offsets of the relays' clocks. libfaketime also moves the deadlines of timers that don't
    /// depend on the clock: those of a relay whose clock is ahead expire too early or, on a machine
    /// that was started less than the offset ago, never. With this offset, they expire 10 s late.
    private static let relayClocks = ["-10s"]

    private mutating func any(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private mutating func happened(_ what: String) { tally.events[what, default: 0] += 1 }

    // MARK: Steps

    mutating func step(_ number: Int) async throws {
        let index = any(machines.count)
        let machine = machines[index]
        switch any(20) {
        case 0..<11 where troubles.contains(.suspendedService(index)): return
        case 0..<9: try change(index, "planted value \(number)")
        case 9, 10: try change(index, nil)
        case 11:
            let clock = any(2) == 0 ? nil : Self.clocks[any(Self.clocks.count)]
            happened(clock == nil ? "service killed" : "service killed, clock wrong")
            // The service is killed even if it is suspended.
            try machine.killService()
            if troubles.remove(.suspendedService(index)) != nil {
                happened("suspended service killed")
            }
            // A keychain can't be opened while its disk is full.
            if troubles.contains(.fullDisk(index)) { try await end(.fullDisk(index)) }
            try await machine.startService(clock: clock)
        case 12:
            let clock = any(2) == 0 ? nil : Self.relayClocks[any(Self.relayClocks.count)]
            happened(clock == nil ? "relay killed" : "relay killed, clock wrong")
            machine.killRelay()
            if troubles.remove(.suspendedRelay(index)) != nil {
                happened("suspended relay killed")
            }
            try machine.startRelay(clock: clock)
        case 13:
            happened("connections reset")
            for link in machine.links { link.reset() }
        case 14..<17: try await begin(try await trouble(on: index))
        default:
            // The failures are sorted by name, since the order of a set isn't repeatable.
            let all = troubles.sorted { "\($0)" < "\($1)" }
            if !all.isEmpty { try await end(all[any(all.count)]) }
        }
    }

    /// Ends all failures except wrong clocks, and starts each relay that doesn't run.
    mutating func heal() async throws {
        for trouble in troubles { try await end(trouble) }
        for machine in machines where !(machine.relay?.isRunning ?? false) {
            try machine.startRelay()
        }
    }

    // MARK: Changes

    private mutating func change(_ index: Int, _ value: String?) throws {
        let machine = machines[index]
        let isShared = any(2) == 0
        let account = "planted \(isShared ? "shared" : machine.name) \(any(3))"
        var seen: String??
        do {
            if isShared { seen = .some(try machine.values()[account]) }
        } catch  where troubles.contains(.fullDisk(index)) {
            // The service carries out no request that it can't record in its audit.
            return
        }
        let outcome =
            if let value { try machine.set(account, value) } else { try machine.delete(account) }
        tally.changeCount += 1
        switch outcome.status {
        case 0: model.note(account, value, by: index, insteadOf: seen)
        // There is nothing to delete.
        case 3 where value == nil:
            #expect(isShared || !model.violations(in: [:]).contains(account), "\(account) is gone")
        default:
            tally.unansweredCount += 1
            model.noteUnanswered(account, value)
        }
    }

    // MARK: Troubles

    private mutating func trouble(on index: Int) async throws -> Trouble {
        let node = any(cluster.endpoints.count)
        return switch any(10) {
        case 0: .killedNode(try await leader() ?? node)
        case 1: .killedNode(node)
        case 2: .suspendedNode(node)
        case 3: .cutNode(node)
        case 4: .suspendedRelay(index)
        case 5, 6: .cutLink(index, node)
        case 7: .silentLink(index, node)
        case 8: .suspendedService(index)
        default: .fullDisk(index)
        }
    }

    /// The number of the leader. `nil` while a node fails, because then there may be no leader.
    private func leader() async throws -> Int? {
        troubles.contains(where: \.isOfNode) ? nil : try await cluster.leader()
    }

    private mutating func begin(_ trouble: Trouble) async throws {
        if trouble.isOfNode, troubles.contains(where: \.isOfNode) { return }
        guard troubles.insert(trouble).inserted else { return }
        switch trouble {
        case .killedNode(let node):
            happened("node killed")
            await cluster.kill(node)
        case .suspendedNode(let node):
            happened("node suspended")
            await cluster.suspend(node)
        case .cutNode(let node):
            happened("node cut off")
            try await cluster.peerLinks[node].cut()
        case .suspendedRelay(let machine):
            happened("relay suspended")
            machines[machine].suspendRelay()
        case .suspendedService(let machine):
            happened("service suspended")
            try machines[machine].suspendService()
        case .cutLink(let machine, let node):
            happened("link cut")
            try await machines[machine].links[node].cut()
        case .silentLink(let machine, let node):
            happened("link silent")
            machines[machine].links[node].silence()
        case .fullDisk(let machine):
            happened("disk full")
            try machines[machine].fillDisk()
        }
    }

    private mutating func end(_ trouble: Trouble) async throws {
        troubles.remove(trouble)
        switch trouble {
        case .killedNode(let node): try await cluster.restart(node)
        case .suspendedNode(let node): await cluster.resume(node)
        case .cutNode(let node): try await cluster.peerLinks[node].restore()
        case .suspendedRelay(let machine): machines[machine].resumeRelay()
        case .suspendedService(let machine): try machines[machine].resumeService()
        case .cutLink(let machine, let node):
            try await machines[machine].links[node].restore()
            // The link may be silent as well.
            if troubles.contains(.silentLink(machine, node)) {
                machines[machine].links[node].silence()
            }
        case .silentLink(let machine, let node):
            if !troubles.contains(.cutLink(machine, node)) {
                try await machines[machine].links[node].restore()
            }
        case .fullDisk(let machine): try machines[machine].clearDisk()
        }
    }

    // MARK: The result

    /// Waits until all machines have the same items, and the model allows those items.
    ///
    /// - Returns: The items.
    func agreement() async throws -> [String: String] {
        var all: [[String: String]] = []
        var violations: [String] = []
        let end = ContinuousClock.now + .seconds(120)
        repeat {
            all = try machines.map { try $0.values() }
            violations = model.violations(in: all[0])
            if Set(all).count == 1, violations.isEmpty { return all[0] }
            try await Task.sleep(for: .milliseconds(250))
        } while ContinuousClock.now < end
        let logs = machines.map { "\($0.name):\n\($0.relayLog)" }.joined(separator: "\n")
        throw CircleMachine.Failure(
            what: "The machines have \(all); the model \(model) forbids \(violations).\n\(logs)"
        )
    }
}

#endif
