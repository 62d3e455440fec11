// Nodes that are killed, suspended, restarted and compacted while they are used.

#if Synchronization

import EtcdTestSupport
import KeychainEtcd
import Testing

extension `With etcd` {
    /// Each of four writers adds keys below a prefix that only this writer uses, and remembers the
    /// revisions of the acknowledged writes. A write that the leader didn't answer before it was
    /// killed may or may not have been carried out: the client has to find out which is the case.
    @Test func `when the leader is killed, no acknowledged write is lost or carried out twice`()
        async throws
    {
        try await EtcdCluster.with(nodes: 3) { cluster in
            let leader = try await cluster.leader()
            let (progress, reporter) = AsyncStream.makeStream(of: Int.self)
            let watcher = try EtcdClient(await cluster.configuration())
            let acknowledged = try await withThrowingTaskGroup(
                of: [EtcdKey: Int64].self, returning: [EtcdKey: Int64].self
            ) { group in
                for writer in 0..<4 {
                    let client = try EtcdClient(await cluster.configuration())
                    group.addTask {
                        // If this writer fails, `progress` ends, so that the loop below doesn't
                        // wait for a write that never comes.
                        defer { reporter.finish() }
                        var written: [EtcdKey: Int64] = [:]
                        for index in 0..<100 {
                            let key = EtcdKey("log/\(writer)/\(100 + index)")
                            let outcome = try await client.putIfAbsent(
                                key, Self.bytes("\(writer) \(index)"))
                            // If the key exists already, an earlier attempt at the same write made
                            // it, because no other writer uses it: the client must report success.
                            #expect(outcome.succeeded, "\(writer) \(index)")
                            written[key] = outcome.revision
                            reporter.yield(index)
                        }
                        return written
                    }
                }
                for await index in progress where index == 20 {
                    await cluster.kill(leader)
                    break
                }
                return try await group.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
            }
            var page = try await watcher.range("log/", limit: 1000)
            #expect(page.items.count == 400)
            for item in page.items {
                #expect(acknowledged[item.key] == item.modRevision)
                #expect(item.version == 1)
            }
            // The killed node has all writes, too, after its restart.
            try await cluster.restart(leader)
            let late = try EtcdClient(await cluster.configuration(nodes: [leader]))
            page = try await late.range("log/", limit: 1000)
            #expect(page.items.count == 400)
        }
    }

    /// Each swap writes the next value of a counter. If a swap is made twice or reported wrongly,
    /// the counter's value, version or revision is wrong at the end.
    @Test func `a swap that a suspended leader didn't answer is carried out only once`()
        async throws
    {
        try await EtcdCluster.with(nodes: 3) { cluster in
            let leader = try await cluster.leader()
            let order = [leader] + (0..<3).filter { $0 != leader }
            let client = try EtcdClient(await cluster.configuration(nodes: order))
            var revision = try await client.putIfAbsent("counter", [0]).revision
            for value in UInt8(1)...20 {
                // The request goes to the suspended leader, which can't answer until it is resumed.
                if value == 5 { await cluster.suspend(leader) }
                let outcome = try await client.compareAndSwap(
                    "counter", modRevision: revision, [value])
                #expect(outcome.succeeded)
                revision = outcome.revision
                if value == 10 { await cluster.resume(leader) }
            }
            let all = try EtcdClient(await cluster.configuration(nodes: [leader]))
            let counter = try #require(try await all.get("counter"))
            #expect(counter.value == [20])
            #expect(counter.version == 21)
            #expect(counter.modRevision == revision)
        }
    }

    @Test func `a client authenticates again after its node was restarted`() async throws {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice]) { cluster in
            let client = try EtcdClient(
                await cluster.configuration(prefix: Self.alice.prefix, user: Self.alice))
            #expect(try await client.putIfAbsent("key", [1]).succeeded)
            await cluster.kill(0)
            try await cluster.restart(0)
            #expect(try await client.get("key")?.value == [1])
            #expect(try await client.putIfAbsent("other", [2]).succeeded)
        }
    }

    @Test func `a watch goes on after a restart of its node, without a gap`() async throws {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice]) { cluster in
            let client = try EtcdClient(
                await cluster.configuration(prefix: Self.alice.prefix, user: Self.alice))
            let start = try await client.putIfAbsent("log/1", [1])
            var events = client.watch("log/", from: start.revision).makeAsyncIterator()
            func key() async throws -> EtcdKey? {
                guard case .put(let item)? = try await events.next() else { return nil }
                return item.key
            }
            #expect(try await key() == "log/1")
            #expect(try await client.putIfAbsent("log/2", [2]).succeeded)
            #expect(try await key() == "log/2")
            await cluster.kill(0)
            try await cluster.restart(0)
            #expect(try await client.putIfAbsent("log/3", [3]).succeeded)
            #expect(try await key() == "log/3")
            #expect(try await client.deleteRange(from: "log/1", to: "log/2") == 1)
            let revision = try await client.range("log/", limit: 1).revision
            #expect(try await events.next() == .deletion("log/1", revision: revision))
        }
    }

    @Test func `a watch switches to another node when its node is suspended`() async throws {
        try await EtcdCluster.with(nodes: 3) { cluster in
            var timing = EtcdCluster.patient
            timing.watchCheckInterval = .milliseconds(200)
            timing.tryDeadline = .seconds(1)
            let follower = (try await cluster.leader() + 1) % 3
            let others = (0..<3).filter { $0 != follower }
            let watcher = try EtcdClient(
                await cluster.configuration(nodes: [follower] + others, timing: timing))
            let writer = try EtcdClient(await cluster.configuration(nodes: others))
            let start = try await writer.putIfAbsent("log/1", [1])
            var events = watcher.watch("log/", from: start.revision).makeAsyncIterator()
            _ = try await events.next()
            await cluster.suspend(follower)
            let second = try await writer.putIfAbsent("log/2", [2])
            guard case .put(let item)? = try await events.next() else {
                Issue.record("The event isn't a put.")
                return
            }
            #expect(item.modRevision == second.revision)
        }
    }

    @Test func `a watch from a compacted revision reports the compaction and continues`()
        async throws
    {
        try await EtcdCluster.with(nodes: 1) { cluster in
            let client = try EtcdClient(await cluster.configuration())
            let start = try await client.putIfAbsent("log/1", [1])
            _ = try await client.putIfAbsent("log/2", [2])
            let third = try await client.putIfAbsent("log/3", [3])
            try await cluster.compact(third.revision)
            var events = client.watch("log/", from: start.revision).makeAsyncIterator()
            #expect(try await events.next() == .compacted(third.revision))
            #expect(
                await reason { _ = try await client.range("", revision: start.revision) }
                    == .compacted)
            guard case .put(let item)? = try await events.next() else {
                Issue.record("The event isn't a put.")
                return
            }
            #expect(item.key == "log/3")
        }
    }
}

#endif
