// What the client promises, tested with real nodes of etcd.

#if Synchronization

import EtcdTestSupport
import KeychainEtcd
import Testing

/// One cluster at a time: each has hundreds of megabytes on the disk.
@Suite(.serialized) struct `With etcd` {
    static let alice = EtcdCluster.User(name: "alice", password: "of alice", prefix: "a/")
    static let bob = EtcdCluster.User(name: "bob", password: "of bob", prefix: "b/")

    static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func `values are written, read page by page, replaced and deleted`() async throws {
        try await EtcdCluster.with(nodes: 1) { cluster in
            let client = try EtcdClient(await cluster.configuration())
            for index in 10..<35 {
                let outcome = try await client.putIfAbsent(
                    EtcdKey("log/\(index)"), [UInt8(index)])
                #expect(outcome.succeeded)
            }
            var items: [EtcdItem] = []
            var page = try await client.range("log/", limit: 10)
            items += page.items
            // A key that is written after the first page isn't in the later pages.
            _ = try await client.putIfAbsent("log/99", [])
            while page.hasMore {
                page = try await client.range(
                    "log/", after: items.last?.key, limit: 10, revision: page.revision)
                items += page.items
            }
            #expect(items.map(\.key) == (10..<35).map { EtcdKey("log/\($0)") })
            #expect(items.map(\.value) == (10..<35).map { [UInt8($0)] })

            let first = try #require(try await client.get("log/10"))
            #expect(first.version == 1)
            let swapped = try await client.compareAndSwap(
                "log/10", modRevision: first.modRevision, [1, 2])
            #expect(swapped.succeeded)
            let again = try await client.compareAndSwap(
                "log/10", modRevision: first.modRevision, [3])
            #expect(!again.succeeded)
            #expect(again.item?.value == [1, 2])
            #expect(again.item?.modRevision == swapped.revision)

            #expect(try await client.deleteRange(from: "log/10", to: "log/20") == 10)
            #expect(try await client.get("log/10") == nil)
            #expect(try await client.range("log/").items.count == 16)
            #expect(try await client.deleteRange(from: "log/", to: "log0") == 16)
            #expect(try await client.range("").items.isEmpty)
        }
    }

    /// An entry of a log may have up to a mebibyte.
    @Test func `a range of large values is split into pages that fit into an answer`() async throws
    {
        try await EtcdCluster.with(nodes: 1) { cluster in
            let client = try EtcdClient(await cluster.configuration())
            let value = [UInt8](repeating: 7, count: 1 << 20)
            for index in 10..<22 {
                #expect(try await client.putIfAbsent(EtcdKey("log/\(index)"), value).succeeded)
            }
            var (keys, previous, revision): ([EtcdKey], EtcdKey?, Int64?) = ([], nil, nil)
            repeat {
                let page = try await client.range("log/", after: previous, revision: revision)
                keys += page.items.map(\.key)
                previous = page.hasMore ? page.items.last?.key : nil
                revision = page.revision
            } while previous != nil
            #expect(keys == (10..<22).map { EtcdKey("log/\($0)") })
            // A watch returns all of these large values, too.
            var count = 0
            for try await event in client.watch("log/", from: 1) {
                guard case .put(let item) = event else { continue }
                #expect(item.value == value)
                count += 1
                if count == 12 { break }
            }
        }
    }

    @Test func `if eight writers swap the same revision, exactly one succeeds`() async throws {
        try await EtcdCluster.with(nodes: 3) { cluster in
            let first = try EtcdClient(await cluster.configuration())
            let start = try await first.putIfAbsent("head", Self.bytes("start"))
            let winners = try await withThrowingTaskGroup(of: Int?.self) { group in
                for writer in 0..<8 {
                    let client = try EtcdClient(await cluster.configuration(nodes: [writer % 3]))
                    group.addTask {
                        let outcome = try await client.compareAndSwap(
                            "head", modRevision: start.revision, [UInt8(writer)])
                        return outcome.succeeded ? writer : nil
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }.compactMap(\.self)
            }
            #expect(winners.count == 1)
            #expect(try await first.get("head")?.value == winners.map { UInt8($0) })
        }
    }

    @Test func `only a user with the right password has access, and only under its own prefix`()
        async throws
    {
        try await EtcdCluster.with(nodes: 1, users: [Self.alice, Self.bob]) { cluster in
            let alice = try EtcdClient(
                await cluster.configuration(prefix: Self.alice.prefix, user: Self.alice))
            #expect(try await alice.putIfAbsent("key", [1]).succeeded)
            let intruder = try EtcdClient(
                await cluster.configuration(prefix: Self.bob.prefix, user: Self.alice))
            let denied = EtcdFailure.Reason.permissionDenied
            #expect(await reason { _ = try await intruder.get("key") } == denied)
            #expect(await reason { _ = try await intruder.range("") } == denied)
            #expect(await reason { _ = try await intruder.putIfAbsent("key", [1]) } == denied)
            #expect(
                await reason { _ = try await intruder.deleteRange(from: "", to: "z") } == denied)
            #expect(
                await reason { for try await _ in intruder.watch("", from: 1) {} } == denied)

            let stranger = EtcdCluster.User(name: "alice", password: "wrong", prefix: "a/")
            let unknown = try EtcdClient(
                await cluster.configuration(prefix: "a/", user: stranger))
            #expect(await reason { _ = try await unknown.get("key") } == .unauthenticated)
            let anonymous = try EtcdClient(await cluster.configuration(prefix: "a/"))
            #expect(await reason { _ = try await anonymous.get("key") } == denied)
        }
    }

    @Test func `a node that asks for a certificate refuses a client without one`()
        async throws
    {
        try await EtcdCluster.with(nodes: 1) { cluster in
            let without = try EtcdClient(
                try EtcdConfiguration(
                    endpoints: cluster.endpoints, prefix: "p",
                    authorityFile: cluster.certificates.authority))
            #expect(await reason { _ = try await without.get("key") } == .untrusted)
        }
    }

    @Test func `two circles on one cluster don't see each other`() async throws {
        try await EtcdCluster.with(nodes: 1) { cluster in
            let one = try EtcdClient(await cluster.configuration(prefix: "circles/1"))
            let other = try EtcdClient(await cluster.configuration(prefix: "circles/11"))
            let start = try await one.putIfAbsent("key", [1])
            #expect(try await other.putIfAbsent("key", [11]).succeeded)
            #expect(try await one.range("").items.map(\.value) == [[1]])
            #expect(try await other.range("").items.map(\.value) == [[11]])
            #expect(try await one.putIfAbsent("last", [2]).succeeded)
            var seen: [EtcdKey] = []
            for try await event in one.watch("", from: start.revision) {
                guard case .put(let item) = event else { continue }
                seen.append(item.key)
                if item.key == "last" { break }
            }
            #expect(seen == ["key", "last"])
            #expect(try await one.deleteRange(from: "", to: "z") == 2)
            #expect(try await other.get("key")?.value == [11])
        }
    }
}

/// The reason why a call failed. `nil` if it succeeded, or failed with an error of another type
/// than `EtcdFailure`.
func reason(_ call: () async throws -> Void) async -> EtcdFailure.Reason? {
    do {
        try await call()
        return nil
    } catch {
        return (error as? EtcdFailure)?.reason
    }
}

#endif
