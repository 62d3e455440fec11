// What the client does with nodes that are late, dead or wrong.

#if Synchronization

import EtcdTestSupport
import KeychainEtcd
import KeychainRelay
import Synchronization
import Testing

@Suite struct `Retries after failures of etcd nodes` {
    private static let range = "/v3/kv/range"
    private static let transaction = "/v3/kv/txn"
    private static let found = StandInReply.answer(200, Wire.range([Wire.pair("test/k", "v")]))
    private static let user = EtcdConfiguration.User(name: "u", password: { "secret of u" })

    /// The answer to a transaction whose comparisons don't hold, with the current items of the keys
    /// that it would have changed.
    private static func failed(_ pairs: [[String]]) -> StandInReply {
        let parts = pairs.map { #"{"response_range":\#(Wire.range($0))}"# }
        return .answer(200, #"{\#(Wire.header),"responses":[\#(parts.joined(separator: ","))]}"#)
    }

    @Test(arguments: [
        StandInReply.silence, .close, .answer(200, "{}"), .answer(502, "<html>"),
        .answer(307, ""), Wire.refusal(503, 14, "etcdserver: no leader"),
        .parts(["{"], closes: false), .parts(["{"], closes: true),
    ])
    func `after a node fails, the next node is asked`(_ reply: StandInReply) async throws {
        try await StandInServer.with([{ _ in reply }, { _ in Self.found }]) { servers, files in
            let client = try standInClient(
                servers.map(\.endpoint), files, try: .seconds(5))
            #expect(try await client.get("k")?.value == Array("v".utf8))
            #expect(servers[0].requests(Self.range).count == 1)
            // From then on, the node that answered is asked.
            _ = try await client.get("k")
            #expect(servers[0].requests(Self.range).count == 1)
        }
    }

    @Test func `if no node can be reached, the error says that nothing has been applied`()
        async throws
    {
        try await StandInServer.with([]) { _, files in
            let client = try standInClient(
                ["https://127.0.0.1:1"], files, try: .seconds(1), overall: .seconds(2))
            let failure = await #expect(throws: EtcdFailure.self) {
                _ = try await client.putIfAbsent("k", [1])
            }
            #expect(failure?.reason == .unreachable)
            #expect(failure?.mayHaveBeenApplied == false)
            #expect(failure?.node == "https://127.0.0.1:1")
        }
    }

    @Test func `the error for an unanswered write says that it may have been applied`() async throws
    {
        try await StandInServer.with([{ _ in .silence }]) { servers, files in
            let client = try standInClient(
                [servers[0].endpoint], files, try: .seconds(1), overall: .seconds(8))
            let failure = await #expect(throws: EtcdFailure.self) {
                _ = try await client.putIfAbsent("k", Array("value of k".utf8))
            }
            #expect(failure?.reason == .deadline)
            #expect(failure?.mayHaveBeenApplied == true)
            #expect(servers[0].requests(Self.transaction).count > 1)
            #expect(await reason { _ = try await client.get("k") } == .deadline)
        }
    }

    @Test func `a client gives up after two tries if a server isn't etcd or isn't trusted`()
        async throws
    {
        try await StandInServer.with([{ _ in .answer(404, "Not Found") }]) { servers, files in
            let client = try standInClient([servers[0].endpoint], files)
            guard case .malformed? = await reason({ _ = try await client.get("k") }) else {
                Issue.record("The reason isn't a malformed answer.")
                return
            }
            #expect(servers[0].requests(Self.range).count == 2)
            let before = servers[0].connectionCount
            try await StandInServer.with([]) { _, others in
                let stranger = try standInClient([servers[0].endpoint], others)
                #expect(await reason { _ = try await stranger.get("k") } == .untrusted)
            }
            // Each try opens a new connection.
            #expect(servers[0].connectionCount == before + 2)
        }
    }

    @Test func `a server that rejects each write without stating a reason isn't asked endlessly`()
        async throws
    {
        try await StandInServer.with([{ _ in Self.failed([[]]) }]) { servers, files in
            let store = EtcdStore(try standInClient([servers[0].endpoint], files))
            let malformed = EtcdFailure.contradictory.reason
            #expect(await reason { _ = try await store.create("k", [1]) } == malformed)
            #expect(servers[0].requests(Self.transaction).count == 10)
            #expect(await reason { try await store.put("k", [1]) } == malformed)
            #expect(servers[0].requests(Self.transaction).count == 21)
        }
    }

    @Test(
        arguments: [
            // The value is that of this write.
            ([Wire.pair("test/k", "1")], 5),
            // The value is that of another writer, or the key doesn't exist.
            ([Wire.pair("test/k", "2")], nil), ([], nil),
        ] as [([String], Int64?)])
    func `after an unanswered write, the current value shows whether it was carried out`(
        _ items: [String], _ revision: Int64?
    ) async throws {
        let script: StandInServer.Script = { request in
            request.index == 0 ? .close : Self.failed([items])
        }
        let value = Array("1".utf8)
        try await StandInServer.with([script]) { servers, files in
            let client = try standInClient([servers[0].endpoint], files)
            let outcome = try await client.putIfAbsent("k", value)
            #expect(outcome.succeeded == (revision != nil))
            #expect(outcome.revision == revision ?? 9)
            let requests = servers[0].requests(Self.transaction)
            #expect(requests.count == 2)
            #expect(requests[0].body == requests[1].body)
        }
        // Without an earlier try, the same answer means that the write wasn't carried out.
        try await StandInServer.with([{ _ in Self.failed([items]) }]) { servers, files in
            let client = try standInClient([servers[0].endpoint], files)
            #expect(try await client.putIfAbsent("k", value).succeeded == false)
        }
    }

    // MARK: Authentication

    @Test
    func `if concurrent requests have a rejected token, the client authenticates again only once`()
        async throws
    {
        let script: StandInServer.Script = { request in
            if request.path.hasSuffix("authenticate") {
                return .answer(200, #"{\#(Wire.header),"token":"t\#(request.index)"}"#)
            }
            return request.token == "t1" ? Self.found : Wire.invalidToken
        }
        try await StandInServer.with([script]) { servers, files in
            let client = try standInClient([servers[0].endpoint], files, user: Self.user)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await client.get("k") } }
                try await group.waitForAll()
            }
            let authentications = servers[0].requests("/v3/auth/authenticate")
            #expect(authentications.count == 2)
            #expect(authentications[0].body.contains("secret of u"))
            #expect(authentications[0].token == nil)
        }
    }

    @Test(arguments: [
        "etcdserver: authentication failed, invalid user ID or password",
        "etcdserver: user name is empty",
    ])
    func `a wrong password is reported without the password`(_ message: String) async throws {
        try await StandInServer.with([{ _ in Wire.refusal(400, 3, message) }]) { servers, files in
            let client = try standInClient([servers[0].endpoint], files, user: Self.user)
            let failure = await #expect(throws: EtcdFailure.self) { _ = try await client.get("k") }
            #expect(failure?.reason == .unauthenticated)
            #expect(failure.map { "\($0) \($0.reason)" }?.contains("secret") == false)
        }
    }

    @Test func `if the password closure throws an error, each call throws that error`() async throws
    {
        struct Locked: Error {}
        let user = EtcdConfiguration.User(name: "u") { throw Locked() }
        try await StandInServer.with([{ _ in Self.found }]) { servers, files in
            let client = try standInClient([servers[0].endpoint], files, user: user)
            await #expect(throws: Locked.self) { _ = try await client.get("k") }
            await #expect(throws: Locked.self) { _ = try await client.putIfAbsent("k", [1]) }
            await #expect(throws: Locked.self) { for try await _ in client.watch("", from: 1) {} }
            #expect(servers[0].requests(Self.range).isEmpty)
        }
    }

    /// A user whose password doesn't arrive, and a stream of the requests for it.
    private static func silentUser() -> (user: EtcdConfiguration.User, asked: AsyncStream<Void>) {
        let (asked, signal) = AsyncStream.makeStream(of: Void.self)
        let user = EtcdConfiguration.User(name: "u") {
            signal.yield()
            try await Task.sleep(for: .seconds(3600))
            return "late"
        }
        return (user, asked)
    }

    @Test func `a request doesn't wait for a password beyond its deadline`() async throws {
        try await StandInServer.with([{ _ in Self.found }]) { servers, files in
            let client = try standInClient(
                [servers[0].endpoint], files, user: Self.silentUser().user,
                try: .milliseconds(100), overall: .milliseconds(300))
            let failure = await #expect(throws: EtcdFailure.self) {
                _ = try await client.putIfAbsent("k", [1])
            }
            #expect(failure?.reason == .deadline)
            #expect(failure?.mayHaveBeenApplied == false)
        }
    }

    /// The answers of a node that issues a token and then doesn't answer.
    private static let authenticating: StandInServer.Script = { request in
        request.path.hasSuffix("authenticate")
            ? .answer(200, #"{\#(Wire.header),"token":"t"}"#) : .silence
    }

    private static func slowUser(_ time: Duration) -> EtcdConfiguration.User {
        EtcdConfiguration.User(name: "u") {
            try await Task.sleep(for: time)
            return "secret of u"
        }
    }

    @Test func `the time limit of an attempt includes the wait for a password`() async throws {
        try await StandInServer.with([Self.authenticating]) { servers, files in
            let client = try standInClient(
                [servers[0].endpoint], files, user: Self.slowUser(.seconds(2)),
                try: .seconds(4), overall: .seconds(7))
            #expect(await reason { _ = try await client.get("k") } == .deadline)
            // The first attempt ends after four seconds. If its time limit began after the wait for
            // the password, the attempt would end after six seconds, and the time left would be too
            // short for a second attempt.
            #expect(servers[0].requests(Self.range).count == 2)
        }
    }

    @Test func `a request isn't sent if its password takes almost the whole attempt`() async throws
    {
        try await StandInServer.with([Self.authenticating]) { servers, files in
            let client = try standInClient(
                [servers[0].endpoint], files, user: Self.slowUser(.milliseconds(800)),
                try: .seconds(1), overall: .seconds(1))
            let failure = await #expect(throws: EtcdFailure.self) {
                _ = try await client.putIfAbsent("k", [1])
            }
            #expect(failure?.reason == .deadline)
            #expect(failure?.mayHaveBeenApplied == false)
            #expect(servers[0].requests(Self.transaction).isEmpty)
        }
    }

    @Test func `an authentication that hangs at one node is repeated at the next one`() async throws
    {
        let answering: StandInServer.Script = { request in
            request.path.hasSuffix("authenticate")
                ? .answer(200, #"{\#(Wire.header),"token":"t"}"#) : Self.found
        }
        try await StandInServer.with([{ _ in .silence }, answering]) { servers, files in
            let client = try standInClient(
                servers.map(\.endpoint), files, user: Self.user, try: .seconds(1),
                overall: .seconds(60))
            #expect(try await client.get("k")?.value == Array("v".utf8))
            #expect(servers[0].requests("/v3/auth/authenticate").count == 1)
        }
    }

    @Test func `a password that takes longer than one attempt is requested once and used`()
        async throws
    {
        let script: StandInServer.Script = { request in
            request.path.hasSuffix("authenticate")
                ? .answer(200, #"{\#(Wire.header),"token":"t"}"#) : Self.found
        }
        let count = Atomic(0)
        let user = EtcdConfiguration.User(name: "u") {
            count.add(1, ordering: .relaxed)
            try await Task.sleep(for: .seconds(1))
            return "secret of u"
        }
        try await StandInServer.with([script]) { servers, files in
            let client = try standInClient(
                [servers[0].endpoint], files, user: user, try: .milliseconds(300),
                overall: .seconds(60))
            #expect(try await client.get("k")?.value == Array("v".utf8))
            #expect(count.load(ordering: .relaxed) == 1)
        }
    }

    @Test func `a cancelled request doesn't wait for a password`() async throws {
        try await StandInServer.with([{ _ in Self.found }]) { servers, files in
            let (user, asked) = Self.silentUser()
            let client = try standInClient(
                [servers[0].endpoint], files, user: user, try: .seconds(600),
                overall: .seconds(600))
            let call = Task { try await client.putIfAbsent("k", [1]) }
            for await _ in asked { break }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
    }

    @Test func `a client gives up on a node that rejects each token or issues an invalid token`()
        async throws
    {
        try await StandInServer.with([
            {
                $0.path.hasSuffix("authenticate")
                    ? .answer(200, #"{\#(Wire.header),"token":"t"}"#) : Wire.invalidToken
            },
            { _ in .answer(200, #"{\#(Wire.header),"token":"a\r\nhost: b"}"#) },
        ]) { servers, files in
            let first = try standInClient([servers[0].endpoint], files, user: Self.user)
            #expect(await reason { _ = try await first.get("k") } == .unauthenticated)
            let second = try standInClient([servers[1].endpoint], files, user: Self.user)
            guard case .malformed? = await reason({ _ = try await second.get("k") }) else {
                Issue.record("The reason isn't a malformed answer.")
                return
            }
            #expect(servers[1].requests(Self.range).isEmpty)
        }
    }

    // MARK: Answers

    @Test(arguments: [
        [Wire.pair("other/k", "v")], [Wire.pair("test/l", "v")],
        [Wire.pair("test/k", "v"), Wire.pair("test/k", "v")],
    ])
    func `an answer with a key that wasn't requested is refused`(_ pairs: [String]) async throws {
        try await StandInServer.with([{ _ in .answer(200, Wire.range(pairs)) }]) { servers, files in
            let client = try standInClient([servers[0].endpoint], files)
            guard case .malformed? = await reason({ _ = try await client.get("k") }) else {
                Issue.record("The reason isn't a malformed answer.")
                return
            }
        }
    }

    @Test(arguments: [
        (["test/k/b", "test/k/a"], false), (["test/k/a", "test/k/a"], false),
        (["test/l"], false), (["other"], false), (["test/k/0"], false), ([], true),
        (["test/k/a", "test/k/b", "test/k/c", "test/k/d"], false),
    ])
    func `a page with unrequested, unordered, too many or too few keys is refused`(
        _ keys: [String], _ more: Bool
    ) async throws {
        let answer = Wire.range(keys.map { Wire.pair($0, "v") }, more: more)
        try await StandInServer.with([{ _ in .answer(200, answer) }]) { servers, files in
            let client = try standInClient([servers[0].endpoint], files)
            guard
                case .malformed? = await reason({
                    _ = try await client.range("k/", after: "k/0", limit: 3)
                })
            else {
                Issue.record("The reason isn't a malformed answer.")
                return
            }
        }
    }

    @Test func `if an answer is too large, smaller pages are requested`() async throws {
        let large = String(repeating: " ", count: 9 << 20)
        let script: StandInServer.Script = { request in
            request.body.contains(#""limit":"2""#)
                ? .answer(200, Wire.range([Wire.pair("test/k", "v")]))
                : .parts([large], closes: false)
        }
        try await StandInServer.with([script]) { servers, files in
            let client = try standInClient([servers[0].endpoint], files)
            #expect(try await client.range("", limit: 8).items.count == 1)
            #expect(
                await reason { _ = try await client.get("k") } == .answerTooLarge(8 << 20))
        }
    }

    @Test func `a cancelled call doesn't wait for the answer`() async throws {
        let (began, signal) = AsyncStream.makeStream(of: Void.self)
        let script: StandInServer.Script = { _ in
            signal.yield()
            return .silence
        }
        try await StandInServer.with([script]) { servers, files in
            let client = try standInClient(
                [servers[0].endpoint], files, try: .seconds(600), overall: .seconds(600))
            let call = Task { try await client.putIfAbsent("k", [1]) }
            for await _ in began { break }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
    }
}

#endif
