// Watches at nodes that end the connection, send nothing more, send an invalid message, report a
// compaction, or have lost revisions; and how many requests a watch makes.

#if Synchronization

import EtcdTestSupport
import KeychainEtcd
import KeychainRelay
import Synchronization
import Testing

@Suite struct `Watches` {
    private static let watch = "/v3/watch"
    private static let created = Wire.watch(#","created":true"#)

    /// A number for each of the first `count` events. For the revision r, it is r for a put, -r for
    /// a deletion, and -1000 - r for a compaction.
    private static func revisions(_ watch: EtcdWatch, count: Int) async throws -> [Int64] {
        var revisions: [Int64] = []
        for try await event in watch {
            switch event {
            case .put(let item): revisions.append(item.modRevision)
            case .deletion(_, let revision): revisions.append(-revision)
            case .compacted(let revision): revisions.append(-1000 - revision)
            }
            if revisions.count == count { break }
        }
        return revisions
    }

    /// Runs a watch from revision 5 at one node. On each connection, the node sends one list of
    /// parts and then closes the connection.
    private static func follow(
        _ connections: [[String]], count: Int,
        _ check: ([Int64], [String]) -> Void
    ) async throws {
        let script: StandInServer.Script = { request in
            guard request.path == watch else { return Wire.empty }
            return request.index < connections.count
                ? .parts(connections[request.index], closes: true) : .silence
        }
        try await StandInServer.with([script]) { servers, files in
            let client = try standInClient([servers[0].endpoint], files)
            let revisions = try await revisions(client.watch("", from: 5), count: count)
            let starts = servers[0].requests(watch).map {
                String($0.body.firstMatch(of: /"start_revision":"(\d+)"/)?.1 ?? "")
            }
            check(revisions, starts)
        }
    }

    private static func put(_ revision: Int) -> String {
        Wire.pair("test/k", "v", revision: revision)
    }

    @Test func `a watch continues after the last revision, however its lines are split into parts`()
        async throws
    {
        let line = Wire.events([Self.put(6), Self.put(6), Self.put(7)])
        let parts = [String(line.prefix(30)), String(line.dropFirst(30)) + "\n\n"]
        try await Self.follow(
            [[Self.created] + parts, [Self.created, Wire.events([Self.put(8)])]], count: 4
        ) { revisions, starts in
            #expect(revisions == [6, 6, 7, 8])
            #expect(starts == ["5", "8"])
        }
    }

    @Test
    func `a relay's watch begins even if the current revision is the largest possible number`()
        async throws
    {
        let script: StandInServer.Script = { request in
            request.path == Self.watch
                ? .parts([Self.created], closes: false)
                : .answer(200, #"{"header":{"member_id":"2","revision":"\#(Int64.max)"}}"#)
        }
        try await StandInServer.with([script]) { servers, files in
            let store = EtcdStore(try standInClient([servers[0].endpoint], files))
            for try await key in try await store.changes("") {
                // The node of the watch has only earlier revisions, as after a restore.
                #expect(key == "")
                break
            }
            let body = servers[0].requests(Self.watch).first?.body ?? ""
            #expect(body.contains(#""start_revision":"\#(Int64.max)""#))
        }
    }

    @Test func `a revision that arrived only in part is requested again`() async throws {
        try await Self.follow(
            [
                [Wire.events([Self.put(6), Self.put(7)], fragment: true)],
                [Wire.events([Self.put(7)], fragment: true) + Wire.events([Self.put(7)])],
                [Wire.events([Self.put(9)])],
            ], count: 5
        ) { revisions, starts in
            #expect(revisions == [6, 7, 7, 7, 9])
            #expect(starts == ["5", "7", "8"])
        }
    }

    @Test
    func `a message without events advances the resume point, unless it reports the creation`()
        async throws
    {
        try await Self.follow(
            [[Self.created], [Self.created, Wire.watch("")], [Wire.events([Self.put(10)])]],
            count: 1
        ) { revisions, starts in
            #expect(revisions == [10])
            #expect(starts == ["5", "5", "10"])
        }
    }

    @Test func `a compaction is reported, and the watch continues from the compacted revision`()
        async throws
    {
        let compacted = Wire.watch(#","canceled":true,"compact_revision":"8""#)
        let deletion = Wire.watch(
            #","events":[{"type":"DELETE","kv":{"key":"\#(Wire.base64("test/k"))","mod_revision":"8"}}]"#
        )
        try await Self.follow([[compacted], [deletion]], count: 2) { revisions, starts in
            #expect(revisions == [-1008, -8])
            #expect(starts == ["5", "8"])
        }
    }

    @Test func `a cluster restored to an earlier state is reported as a compaction`() async throws {
        try await Self.follow(
            [[Wire.events([Self.put(20)])], [Self.created, Wire.events([Self.put(10)])]], count: 3
        ) { revisions, starts in
            #expect(revisions == [20, -1010, 10])
            #expect(starts == ["5", "21"])
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a watch ends when its iterator is freed or its client is shut down`() async throws {
        let script: StandInServer.Script = { request in
            request.path == Self.watch
                ? .parts([Wire.events([Self.put(6), Self.put(7)])], closes: false) : Wire.empty
        }
        try await StandInServer.with([script]) { servers, files in
            weak var freed: EtcdClient?
            do {
                let client = try standInClient([servers[0].endpoint], files)
                freed = client
                var events = client.watch("", from: 5).makeAsyncIterator()
                _ = try await events.next()
            }
            while freed != nil { await Task.yield() }
            let client = try standInClient([servers[0].endpoint], files)
            var events = client.watch("", from: 5).makeAsyncIterator()
            for _ in 0..<2 { _ = try await events.next() }
            await client.shutDown()
            await #expect(throws: CancellationError.self) { _ = try await events.next() }
            await #expect(throws: CancellationError.self) { _ = try await client.get("k") }
        }
    }

    /// One connection sends the message, and the next connection sends a valid event.
    @Test(arguments: [
        Wire.events([Wire.pair("other/k", "v", revision: 6)]), Wire.events([Self.put(4)]),
        Wire.watch(#","canceled":true,"compact_revision":"5""#), "{}\n", "garbage\n",
        #"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}}"# + "\n",
        Wire.watch(#","events":[{"type":"OTHER","kv":{}}]"#),
        Wire.watch(#","events":[{}]"#), Wire.watch(#","created":true,"canceled":true"#),
    ])
    func `after an invalid message or an error, the watch continues on a new connection`(
        _ message: String
    ) async throws {
        try await Self.follow(
            [[Self.created, message], [Wire.events([Self.put(6)])]], count: 1
        ) { revisions, starts in
            #expect(revisions == [6])
            #expect(starts == ["5", "5"])
        }
    }

    @Test func `after a line that is too long, the watch continues on a new connection`()
        async throws
    {
        let blank = String(repeating: " ", count: 9 << 20)
        try await Self.follow(
            [[Self.created, blank], [Wire.events([Self.put(6)])]], count: 1
        ) { revisions, starts in
            #expect(revisions == [6])
            #expect(starts == ["5", "5"])
        }
    }

    /// The first node accepts the watch, and from then on it answers nothing.
    @Test func `a watch leaves a node that has gone silent and continues at the next node`()
        async throws
    {
        let silent: StandInServer.Script = { request in
            if request.path == Self.watch { return .parts([Self.created], closes: false) }
            return request.index == 0 ? Wire.empty : .silence
        }
        let good: StandInServer.Script = { request in
            request.path == Self.watch
                ? .parts([Wire.events([Self.put(6)])], closes: false) : Wire.empty
        }
        try await StandInServer.with([silent, good]) { servers, files in
            let client = try standInClient(
                servers.map(\.endpoint), files, try: .seconds(3),
                watchCheck: .milliseconds(20))
            #expect(try await Self.revisions(client.watch("", from: 5), count: 1) == [6])
            #expect(servers[0].requests(Self.watch).count == 1)
        }
    }

    /// The check of the node fails while the second event waits for the program to request it. This
    /// event must not be lost.
    @Test func `no event is lost if the node fails before the program has read the event`()
        async throws
    {
        let (died, signal) = AsyncStream.makeStream(of: Void.self)
        let script: StandInServer.Script = { request in
            if request.path == Self.watch {
                return .parts(
                    [Wire.events([Self.put(6)]), Wire.events([Self.put(7)])], closes: false)
            }
            if request.index == 1 {
                signal.yield()
                return Wire.refusal(503, 14, "etcdserver: no leader")
            }
            return Wire.empty
        }
        try await StandInServer.with([script]) { servers, files in
            let client = try standInClient(
                [servers[0].endpoint], files, watchCheck: .milliseconds(20))
            var events = client.watch("", from: 5).makeAsyncIterator()
            guard case .put(let first)? = try await events.next() else {
                Issue.record("The first event isn't a put.")
                return
            }
            #expect(first.modRevision == 6)
            for await _ in died { break }
            guard case .put(let second)? = try await events.next() else {
                Issue.record("The second event isn't a put.")
                return
            }
            #expect(second.modRevision == 7)
        }
    }

    @Test func `a watch fails if its user has no right to read its keys`() async throws {
        try await StandInServer.with([
            { _ in Wire.refusal(403, 7, "etcdserver: permission denied") }
        ]) {
            servers, files in
            let client = try standInClient([servers[0].endpoint], files)
            #expect(
                await reason { for try await _ in client.watch("", from: 5) {} }
                    == .permissionDenied)
        }
    }

    /// Time is counted as the sum of the pauses, which end at once here.
    @Test func `a watch without events costs five requests a minute`() async throws {
        let script: StandInServer.Script = { request in
            request.path == Self.watch ? .parts([Self.created], closes: false) : Wire.empty
        }
        try await StandInServer.with([script]) { servers, files in
            let time = Mutex(Duration.zero)
            let (ended, signal) = AsyncStream.makeStream(of: Void.self)
            var timing = EtcdTiming()
            timing.tryDeadline = .seconds(20)
            timing.pause = { length in
                let isOver = time.withLock { time in
                    time += length
                    return time >= .seconds(600)
                }
                guard isOver else { return }
                signal.yield()
                try await Task.sleep(for: .seconds(3600))
            }
            let client = try EtcdClient(
                try EtcdConfiguration(
                    endpoints: [servers[0].endpoint], prefix: "test",
                    authorityFile: files.authority, timing: timing))
            let watching = Task { for try await _ in client.watch("", from: 5) {} }
            for await _ in ended { break }
            #expect(servers[0].requests(Self.watch).count == 10)
            #expect(servers[0].requests("/v3/kv/range").count == 40)
            watching.cancel()
            _ = await watching.result
        }
    }
}

#endif
