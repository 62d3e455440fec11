// CircleProcessTests: three machines of a circle, each with a home folder, a keychain service and a
// relay, and three nodes of etcd. Random changes are made while nodes, links, disks and clocks
// fail, and processes are killed and suspended.

#if Synchronization

import EtcdTestSupport
import Foundation
import Testing

extension `With etcd` {
    /// With this seed and the default number of steps, each of the ``kinds`` of failures occurs.
    private static let usualSeed: UInt64 = 12502
    private static let kinds: Set = [
        "node killed", "node suspended", "node cut off", "relay killed",
        "relay killed, clock wrong", "relay suspended", "suspended relay killed",
        "service killed", "service killed, clock wrong", "service suspended",
        "suspended service killed", "link cut", "link silent", "connections reset", "disk full",
    ]
    /// The number of steps, and the seed; `./dev soak circle` sets both.
    private static let stepCount =
        ProcessInfo.processInfo.environment["KEYCHAIN_SOAK_STEPS"].flatMap(Int.init) ?? 80
    private static let seed =
        ProcessInfo.processInfo.environment["KEYCHAIN_SOAK_SEED"].flatMap(UInt64.init) ?? usualSeed

    @Test func `three machines agree after failures of nodes, links, disks, clocks and processes`()
        async throws
    {
        try await EtcdCluster.with(nodes: 3, users: [Self.alice], hasPeerLinks: true) { cluster in
            try await CircleMachine.withCircle(
                of: "one", "two", "three", in: cluster, Self.alice
            ) { try await Self.tryCircle(of: $0, in: cluster) }
        }
    }

    private static func tryCircle(
        of machines: [CircleMachine], in cluster: EtcdCluster
    ) async throws {
        for machine in machines {
            try machine.startRelay()
            // These items stay on their machine: one isn't marked for synchronization, and the
            // other one is, but has a protection class of this device only.
            #expect(try machine.set("planted local", "planted here", []).isDone)
            try machine.addDeviceItem("planted device", "planted here")
        }
        var trial = CircleTrial(cluster, machines, seed: seed)
        for step in 0..<stepCount { try await trial.step(step) }
        try await trial.heal()
        let values = try await trial.agreement()
        for machine in machines {
            try await machine.waitUntilCurrent()
            let report = try machine.status()
            // If a machine's clock was set back, the new signed head of its log can have an earlier
            // time than the previous head. Until the log has a new entry, other machines reject
            // such a head, and report it.
            #expect(report.notices.filter { !$0.contains(": an older head of ") } == [])
            #expect(!report.ownLogMissing)
            #expect(report.machines.allSatisfy { $0.withheld == 0 })
            #expect(report.staying.map(\.reason) == ["thisDeviceOnly"])
            #expect(report.staying.map(\.items) == [1])
        }
        for machine in machines {
            let reader = try await IndependentReader.read(
                cluster, alice.prefix, with: machine)
            let said = reader.verification.problems.map(\.text)
            #expect(reader.verification.isSound, "\(said)")
            try #require(reader.values == values)
            // etcd has neither items of this-device-only protection classes nor items that aren't
            // marked for synchronization.
            #expect(reader.items.allSatisfy { (6...8).contains($0.protection) })
            #expect(reader.values["planted device"] == nil)
            #expect(reader.values["planted local"] == nil)
            // A machine that joins with a token is named `token` and the start of its identifier.
            let names = reader.machines.compactMap(\.name)
            #expect(names.count == machines.count && names.contains("one"), "\(names)")
        }
        // The files contain the prefix of all keys, and the search finds it, so the search works.
        #expect(try await cluster.filesContain(alice.prefix))
        #expect(try await cluster.filesContain("planted") == false)
        let tally = trial.tally
        if seed == usualSeed { #expect(Set(tally.events.keys) == kinds) }
        print(
            "circle, seed \(seed): \(tally.changeCount) changes, "
                + "\(tally.unansweredCount) without an acknowledgement; "
                + tally.events.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
                .joined(separator: ", ") + "; 0 acknowledged changes lost")
    }
}

#endif
