// CircleProcessTests: three homes, each with a keychain service and a relay, and three nodes of etcd.
// Random changes are made while all of these processes are killed and suspended.

#if Synchronization

import EtcdTestSupport
import Foundation
import Testing

extension `With etcd` {
    /// The number of changes, and the first seed; `./dev soak` sets both.
    private static let stepCount =
        ProcessInfo.processInfo.environment["KEYCHAIN_SOAK_STEPS"].flatMap(Int.init) ?? 40
    private static let seed =
        ProcessInfo.processInfo.environment["KEYCHAIN_SOAK_SEED"].flatMap(UInt64.init) ?? 1

    /// What an account may contain: the last acknowledged change, or one of those after it that
    /// were made while a service was killed.
    private struct Model {
        private var values: [String: Set<String?>] = [:]

        mutating func note(_ account: String, _ value: String?, isAcknowledged: Bool) {
            if isAcknowledged {
                values[account] = [value]
            } else {
                values[account, default: [nil]].insert(value)
            }
        }

        func allows(_ value: String?, _ account: String) -> Bool {
            values[account, default: [nil]].contains(value)
        }
    }

    private static let accounts = (0..<5).map { "planted-\($0)" }

    private static func expectAgreement(
        of machines: [CircleMachine], _ model: Model
    ) async throws {
        var differences: [String] = []
        for _ in 0..<240 {
            differences = []
            for account in accounts {
                let values = try machines.map { try $0.value(account) }
                if Set(values).count > 1 || !model.allows(values[0], account) {
                    differences.append("\(account): \(values)")
                }
            }
            if differences.isEmpty { return }
            try await Task.sleep(for: .milliseconds(250))
        }
        Issue.record("The machines differ from the model: \(differences), \(model)")
    }

    @Test func `three homes agree while their services, relays and nodes are killed`() async throws
    {
        try await EtcdCluster.with(nodes: 3, users: [Self.alice]) { cluster in
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "circle-\(UUID().uuidString.prefix(8))")
            defer { try? FileManager.default.removeItem(at: folder) }
            var machines: [CircleMachine] = []
            for name in ["one", "two", "three"] {
                machines.append(try CircleMachine(name, in: folder, cluster, Self.alice))
            }
            for machine in machines { try machine.startService() }
            try machines[0].require(["sync", "found", "--name", "one"])
            try machines[0].startRelay()
            for machine in machines.dropFirst() {
                let token = try machines[0].require(["sync", "token"])
                try machine.require(["sync", "join", "--token-fd", "0"], input: token)
                try machine.startRelay()
            }
            var random = Self.Generator(state: Self.seed)
            var model = Model()
            var killed: Int?
            for step in 0..<Self.stepCount {
                let machine = machines[Int.random(in: 0..<3, using: &random)]
                let account = Self.accounts[Int.random(in: 0..<5, using: &random)]
                switch Int.random(in: 0..<16, using: &random) {
                case 0..<8:
                    let isDone = try machine.set(account, "value \(step)")
                    model.note(account, "value \(step)", isAcknowledged: isDone)
                case 8, 9:
                    // Without the item, nothing is deleted, and that isn't known for a failure.
                    let isDone = try machine.delete(account)
                    model.note(account, nil, isAcknowledged: isDone)
                case 10:
                    machine.killService()
                    try machine.startService()
                case 11:
                    machine.killRelay()
                    try machine.startRelay()
                case 12:
                    machine.suspendRelay()
                    try await Task.sleep(for: .milliseconds(200))
                    machine.resumeRelay()
                case 13 where killed == nil:
                    killed = try await cluster.leader()
                    await cluster.kill(killed ?? 0)
                case 14:
                    if let node = killed { try await cluster.restart(node) }
                    killed = nil
                default:
                    guard killed == nil else { continue }
                    let node = Int.random(in: 0..<3, using: &random)
                    await cluster.suspend(node)
                    try await Task.sleep(for: .milliseconds(500))
                    await cluster.resume(node)
                }
            }
            if let node = killed { try await cluster.restart(node) }
            for machine in machines where !machine.isRelayRunning { try machine.startRelay() }
            try await Self.expectAgreement(of: machines, model)
            for machine in machines {
                let status = try machine.require(["sync", "status", "--json"])
                #expect(status.contains("\"waiting\": 0"))
                #expect(status.contains("\"notices\": []"))
            }
            #expect(try await cluster.filesContain("planted") == false)
        }
    }

    /// SplitMix64.
    struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}

#endif
