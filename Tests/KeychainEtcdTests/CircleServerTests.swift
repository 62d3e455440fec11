// CircleServerTests: a machine whose server refuses, is full, has lost everything or has an older
// state. The status says so, changes wait, and no item is lost.

#if Synchronization

import EtcdTestSupport
import Foundation
import KeychainEtcd
import TestPrograms
import Testing

extension `With etcd` {
    /// Saves an item, and expects that no item is lost, that the change waits, and that the status
    /// and the relay's log give the reason.
    private static func expectWaiting(
        _ machine: CircleMachine, _ account: String, _ before: [String: String],
        because reason: String
    ) async throws {
        let log = machine.relayLog
        try machine.startRelay()
        #expect(try machine.set(account, "while it failed").isDone)
        let report = try machine.status()
        #expect(report.server?.contains(reason) == true, "\(report)")
        #expect(report.waiting > 0)
        #expect(report.notices == [])
        try await machine.wait(for: "a line in the log of the relay") {
            machine.relayLog.dropFirst(log.count).contains("warning not synchronized reason=")
        }
        #expect(machine.relay?.isRunning == true)
        #expect(machine.relayLog.dropFirst(log.count).contains(reason))
        var expected = before
        expected[account] = "while it failed"
        #expect(try machine.values() == expected)
        machine.killRelay()
    }

    @Test func `the status says why the server refuses a machine, and changes wait`() async throws {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice, Self.bob]) { cluster in
            try await CircleMachine.withCircle(of: "one", "two", in: cluster, Self.alice) {
                let (one, two) = ($0[0], $0[1])
                try two.startRelay()
                #expect(try one.set("a", "1").isDone)
                try await one.waitUntilCurrent()

                let (alice, bob) = (Self.alice, Self.bob)
                try one.configure(
                    .init(name: alice.name, password: "wrong", prefix: alice.prefix))
                try await Self.expectWaiting(
                    one, "b", try one.values(), because: "Check the user name and the password")
                try one.configure(
                    .init(name: bob.name, password: bob.password, prefix: alice.prefix))
                try await Self.expectWaiting(
                    one, "c", try one.values(), because: "no right to the circle's keys")
                let folder = one.home.appending(path: "other")
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: false)
                try one.configure(
                    alice, authority: try TestCertificates(folder: folder).authority)
                try await Self.expectWaiting(
                    one, "d", try one.values(), because: "no trusted connection")
                try one.configure(alice)
                try one.startRelay()
                let all = try one.values()
                try await two.wait(for: "the changes that waited") { try two.values() == all }
                try await one.waitUntilCurrent()
                #expect(try one.status().notices == [])
            }
        }
    }

    @Test
    func `the status says that a cluster is full, and the relay continues after space is freed`()
        async throws
    {
        // A new database of etcd already uses a part of this quota.
        let quota = 4 << 20
        try await EtcdCluster.with(
            nodes: 1, users: [Self.alice], options: ["--quota-backend-bytes", "\(quota)"]
        ) { cluster in
            try await CircleMachine.withCircle(of: "one", "two", in: cluster, Self.alice) {
                let (one, two) = ($0[0], $0[1])
                #expect(try one.set("a", "1").isDone)
                try one.startRelay()
                try two.startRelay()
                try await one.waitUntilCurrent()
                try await two.wait(for: "the first item") { try two.values() == ["a": "1"] }
                one.killRelay()

                let client = try EtcdClient(
                    await cluster.configuration(prefix: "a/", user: Self.alice))
                var isFull = false
                for number in 0..<16 where !isFull {
                    do {
                        _ = try await client.putIfAbsent(
                            EtcdKey("ballast/\(number)"), Array(repeating: 7, count: 1 << 20))
                    } catch let failure as EtcdFailure {
                        isFull = "\(failure)".contains("database space exceeded")
                    }
                }
                try #require(isFull)
                try await Self.expectWaiting(
                    one, "b", ["a": "1"], because: "mvcc: database space exceeded")

                try one.startRelay()
                #expect(try one.set("c", "while it was full").isDone)
                // What the cluster's administrator does: delete, compact, defragment, disarm the
                // alarm.
                let deleted = try await client.deleteRange(from: "ballast/", to: "ballast0")
                #expect(deleted > 0)
                let revision = try await client.range("", limit: 1).revision
                try await cluster.compact(revision)
                try await cluster.administer(["defrag"])
                try await cluster.administer(["alarm", "disarm"])
                let all = ["a": "1", "b": "while it failed", "c": "while it was full"]
                try await two.wait(for: "the changes that waited") { try two.values() == all }
                try await one.waitUntilCurrent()
                #expect(try one.values() == all)
                #expect(try one.status().notices == [])
            }
        }
    }

    /// Expects that two machines with the same items notice when the cluster loses records, and
    /// keep their items.
    private static func expectLoss(
        of cluster: EtcdCluster, _ machines: [CircleMachine],
        _ lose: () async throws -> Void
    ) async throws {
        let (one, two) = (machines[0], machines[1])
        for machine in machines { try machine.startRelay() }
        #expect(try two.set("b", "2").isDone)
        try await one.wait(for: "the item of the other machine") {
            try one.values() == ["a": "1", "b": "2"]
        }
        try await two.wait(for: "everything") { try two.values() == ["a": "1", "b": "2"] }
        for machine in machines { try await machine.waitUntilCurrent() }
        try await lose()
        // The first machine notices the loss in a running session and in a new one, and the second
        // machine in a new one. Both keep their items, and the first one accepts changes.
        #expect(try one.set("c", "3").isDone)
        try await one.wait(for: "the loss to be noticed") { try one.status().ownLogMissing }
        #expect(try one.status().waiting == 1)
        try one.killService()
        try await one.startService()
        #expect(try one.delete("a").isDone)
        try await one.wait(for: "the loss to be noticed") { try one.status().ownLogMissing }
        #expect(try one.values() == ["b": "2", "c": "3"])
        #expect(try one.status().waiting == 2)
        #expect(try two.values() == ["a": "1", "b": "2"])
        try two.killService()
        try await two.startService()
        try await two.wait(for: "the loss to be noticed") { try two.status().ownLogMissing }
        #expect(try two.values() == ["a": "1", "b": "2"])
    }

    @Test func `machines notice that their cluster was wiped, and lose no item`() async throws {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice]) { cluster in
            try await CircleMachine.withCircle(of: "one", "two", in: cluster, Self.alice) {
                #expect(try $0[0].set("a", "1").isDone)
                try await Self.expectLoss(of: cluster, $0) { try await cluster.wipe() }

                // As the status advises, both machines leave. No circle is left that they could
                // join again, so the first one founds a new one.
                let (one, two) = ($0[0], $0[1])
                for machine in $0 {
                    machine.killRelay()
                    try machine.require(["sync", "leave", "--force"])
                }
                try one.require(["sync", "found", "--name", "one"])
                try one.startRelay()
                let token = try one.require(["sync", "token"]).text
                try two.require(["sync", "join", "--token-fd", "0"], input: token)
                try two.startRelay()
                let all = ["b": "2", "c": "3"]
                try await two.wait(for: "the items") { try two.values() == all }
                #expect(try one.values() == all)
            }
        }
    }

    @Test
    func `machines notice that their cluster was restored from an older backup, and lose no item`()
        async throws
    {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice]) { cluster in
            try await CircleMachine.withCircle(of: "one", "two", in: cluster, Self.alice) {
                #expect(try $0[0].set("a", "1").isDone)
                try await $0[0].waitUntilCurrent()
                try await cluster.backUp()
                try await Self.expectLoss(of: cluster, $0) { try await cluster.restoreBackup() }
            }
        }
    }
}

#endif
