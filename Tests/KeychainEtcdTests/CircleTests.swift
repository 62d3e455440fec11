// CircleTests: keychains of three machines, whose relays use etcd while nodes of etcd are killed
// and suspended.

#if Synchronization

import EtcdTestSupport
import Foundation
import KeychainCore
import KeychainEngine
import KeychainEtcd
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

extension `With etcd` {
    /// Waits until all devices have exactly the items `values`. Records an issue if they don't have
    /// them after 600 attempts, which take at least a minute.
    private static func expect(_ values: [String: String], on devices: [Device]) async throws {
        for _ in 0..<600 {
            let all = try devices.map { try $0.values() }
            if all.allSatisfy({ $0 == values }) { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        for device in devices { #expect(try device.values() == values, "\(device.name)") }
    }

    @Test func `three machines converge although nodes fail, and etcd stores no item in plaintext`()
        async throws
    {
        try await EtcdCluster.with(nodes: 3, users: [Self.alice]) { cluster in
            var devices: [Device] = []
            for number in 0..<3 {
                let store = EtcdStore(
                    try EtcdClient(
                        await cluster.configuration(prefix: Self.alice.prefix, user: Self.alice)))
                let clock = TestClock()
                clock.now += Double(number) / 10
                devices.append(try Device("machine \(number)", store, clock: clock))
            }
            let machines = devices
            try await machines[0].found()
            try await machines[0].add(machines[1])
            try await machines[0].add(machines[2])
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                for device in machines { group.addTask { try await device.runRelay() } }
                var model: [String: String] = [:]
                var killed = 0
                for step in 0..<60 {
                    switch step {
                    case 10:
                        killed = try await cluster.leader()
                        await cluster.kill(killed)
                    case 25: try await cluster.restart(killed)
                    case 30: await cluster.suspend(1)
                    case 45: await cluster.resume(1)
                    default: break
                    }
                    let device = machines[step % 3]
                    let account = "\(step % 3) planted account \(step % 7)"
                    if step % 11 == 10, (try? device.delete(account)) != nil {
                        model[account] = nil
                    } else {
                        try device.set(account, "planted value \(step)")
                        model[account] = "planted value \(step)"
                    }
                    try await Task.sleep(for: .milliseconds(20))
                }
                try await Self.expect(model, on: machines)
            }
            for device in machines {
                try await device.settle()
                let status = try await device.status()
                #expect(status.notices == [])
                #expect(status.waitingCount == 0)
            }
            #expect(try await cluster.filesContain(Self.alice.prefix))
            #expect(try await cluster.filesContain("planted") == false)
        }
    }
}

#endif
