// ServiceClientTests: every request through the client, and its result.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainWire
import Testing

@testable import KeychainRuntime

@Suite struct `The client of the service` {
    static let caller = AccessGroups(["one"])
    static let query = ItemQuery(itemClass: .genericPassword, accessGroup: "one")
    static let newItem = NewItem(
        itemClass: .genericPassword, attributes: [.account: .string("a")], data: Data([1, 2]))
    static let item = ItemSnapshot(
        itemClass: .genericPassword, reference: ItemReference(Bytes16(high: 1, low: 2)),
        attributes: [.account: .string("a")], accessGroup: "one", protection: .always,
        isSynchronizable: false, isTombstone: false, hasData: true, data: Data([1, 2]))
    static let identity = Identity(certificate: item, key: item)
    static let identityQuery = IdentityQuery(
        certificate: ItemQuery(itemClass: .certificate), key: ItemQuery(itemClass: .key))
    static let grant = AuthenticationGrant(token: Bytes16(high: 3, low: 4))
    static let key = MadeSecureEnclaveKey(blob: Data([5]), publicKey: Data([6]))
    static let status = KeychainStatus(
        directory: "/d", formatVersion: 1, generation: 2, itemCount: 3, setAsideCount: 4,
        hasPasscode: true, lockState: .locked, isMemoryLocked: true, byteCount: 5,
        deviceKeyPath: "/d/device.key", deviceKeyProtection: .hardware)

    static let version = ItemVersion(number: 11, moment: 12, change: .deleted, item: item)

    static let slot = SlotSummary(
        number: 9, kind: .credential, madeAt: 10, opensPasscode: true, opensMachine: false)

    static let report: CheckReport = {
        var report = CheckReport()
        report.itemCount = 7
        return report
    }()

    /// The correct answer to each request.
    static func answer(_ request: FakeRequest) -> FakeAnswer {
        guard let code = request.code else { return .answer(Done()) }
        return switch code {
        case .add: .answer(item)
        case .find, .addAll: .answer([item, item])
        case .update, .delete, .updateIdentities, .deleteIdentities, .removePasscode: .answer(3)
        case .put, .unlock, .lock, .lockAll, .changePasscode, .unlockWith, .changeSlots:
            .answer(Done())
        case .slots, .rotate, .setPasscode: .answer([slot])
        case .findIdentities: .answer([identity])
        case .authenticate: .answer(grant)
        case .acceptsGrant, .hasPasscode, .hasSecureEnclave: .answer(true)
        case .makeSecureEnclaveKey: .answer(key)
        case .sign, .sharedSecret: .answer(Data([8]))
        case .status: .answer(status)
        case .statistics: .answer(ServiceStatistics())
        case .check: .answer(report)
        case .findVersions: .answer([version])
        case .restoreVersion: .answer(item)
        case .purgeVersions: .answer(3)
        case .setHistory: .answer(HistoryPolicy.standard)
        case .synchronize: .answer(Synchronize.Answer(Data([9])))
        }
    }

    @Test func `every request is sent, and its answer is returned`() throws {
        let seen = Recorded<FakeRequest>()
        let service = try FakeService { peer, _ in
            peer.serve { request in
                seen.append(request)
                return Self.answer(request)
            }
        }
        let client = ServiceClient(socketPath: service.path)
        let passcode = SecretBytes(copying: Array("1234".utf8))
        #expect(try client.perform(AddItem(Self.newItem), as: Self.caller) == Self.item)
        #expect(
            try client.perform(FindItems(Self.query, Retrieval()), as: Self.caller) == [
                Self.item, Self.item,
            ])
        #expect(try client.perform(UpdateItems(Self.query, ItemChanges()), as: Self.caller) == 3)
        try client.perform(
            PutItem(Self.newItem, orChange: Self.query, ItemChanges()), as: Self.caller)
        #expect(
            try client.perform(DeleteItems(Self.query, tombstones: .always), as: Self.caller) == 3)
        #expect(try client.perform(FindVersions(Self.query), as: Self.caller) == [Self.version])
        #expect(
            try client.perform(RestoreVersion(Self.query, number: 1), as: Self.caller) == Self.item)
        #expect(try client.perform(PurgeVersions(Self.query), as: Self.caller) == 3)
        #expect(try client.perform(SetHistory()) == .standard)
        #expect(try client.perform(Synchronize(Data([1]))).message == Data([9]))
        #expect(
            try client.perform(AddItems([Self.newItem, Self.newItem]), as: Self.caller)
                == [Self.item, Self.item])
        #expect(
            try client.perform(FindIdentities(Self.identityQuery, Retrieval()), as: Self.caller)
                == [Self.identity])
        let changes = IdentityChanges(certificate: ItemChanges(), key: ItemChanges())
        #expect(
            try client.perform(UpdateIdentities(Self.identityQuery, changes), as: Self.caller) == 3)
        #expect(
            try client.perform(
                DeleteIdentities(Self.identityQuery, tombstones: .never), as: Self.caller) == 3)
        #expect(try client.perform(Authenticate(passcode: passcode)) == Self.grant)
        #expect(try client.perform(AcceptsGrant(Self.grant)))
        #expect(try client.perform(HasPasscode()))
        #expect(try client.perform(HasSecureEnclave()))
        #expect(
            try client.perform(MakeSecureEnclaveKey(NewSecureEnclaveKey()), as: Self.caller)
                == Self.key)
        let proof = Authorization(grant: Self.grant)
        #expect(
            try client.perform(
                SignDigest(Data(count: 32), with: Data([5]), authorization: proof), as: Self.caller)
                == Data([8]))
        #expect(
            try client.perform(
                DeriveSharedSecret(of: Data([5]), with: Data([6]), authorization: proof),
                as: Self.caller
            ).data == Data([8]))
        try client.perform(Unlock(passcode: passcode))
        try client.perform(Lock())
        try client.perform(LockAll())
        #expect(try client.perform(SetPasscode(passcode)) == [Self.slot])
        try client.perform(ChangePasscode(from: passcode, to: passcode))
        #expect(try client.perform(RemovePasscode(passcode)) == 3)
        try client.perform(UnlockWith(.credential(passcode)))
        try client.perform(ChangeSlots(.bind))
        #expect(try client.perform(ListSlots()) == [Self.slot])
        #expect(try client.perform(RotateKeys()) == [Self.slot])
        #expect(try client.perform(ReadStatus()) == Self.status)
        #expect(try client.perform(ReadStatistics()) == ServiceStatistics())
        #expect(try client.perform(CheckKeychain()) == Self.report)

        let requests = seen.values
        #expect(requests.count == RequestCode.allCases.count)
        #expect(Set(requests.compactMap(\.code)) == Set(RequestCode.allCases))
        #expect(Set(requests.map(\.id)).count == requests.count)
        for request in requests {
            let code = try #require(request.code)
            let isAboutItems =
                ![.authenticate, .acceptsGrant, .hasPasscode, .hasSecureEnclave].contains(code)
                && !code.isAdministration
            #expect(request.claim == (isAboutItems ? Self.caller : AccessGroups([])))
        }
        #expect(client.idleConnectionCount == 1)
    }

    @Test func `a failure reported by the service is thrown by the call`() throws {
        let failure = KeychainFailure(
            .authenticationNeeded, "Why.", cause: .authentication(.userPresence),
            item: ItemReference(Bytes16(high: 1, low: 2)))
        let service = try FakeService { peer, _ in peer.serve { _ in .failure(failure) } }
        let client = ServiceClient(socketPath: service.path)
        for _ in 0..<2 {
            let seen = #expect(throws: KeychainFailure.self) {
                try client.perform(FindItems(Self.query, Retrieval()), as: Self.caller)
            }
            #expect(seen == failure)
        }
        #expect(client.idleConnectionCount == 1)
    }

    @Test func `the answer to hello contains the client's entitlements`() throws {
        let service = try FakeService { peer, _ in peer.serve { _ in .answer(Done()) } }
        let client = ServiceClient(socketPath: service.path)
        #expect(try client.welcome() == FakePeer.welcome)
        try client.perform(Lock())
        #expect(try client.welcome() == FakePeer.welcome)
        #expect(client.idleConnectionCount == 1)
    }

    @Test func `the kernel adds the client's process id to the client's handshake`() throws {
        let seen = Recorded<Bool>()
        let service = try FakeService { peer, _ in
            let question = peer.beginHandshake()
            let (bytes, processID) = peer.receiveWithSender(Handshake.byteCount)
            seen.append(bytes == question && processID == getpid())
        }
        let client = ServiceClient(socketPath: service.path)
        #expect(throws: KeychainFailure.self) { try client.perform(Lock()) }
        #expect(seen.waitForNext() && seen.values.first == true)
    }

    @Test func `a long answer arrives completely`() throws {
        let items = (0..<3000).map { number in
            var item = Self.item
            item.attributes[.account] = .string("account \(number)")
            return item
        }
        var large = Self.item
        large.data = Data(repeating: 7, count: 5_000_000)
        let service = try FakeService { [large] peer, _ in
            guard peer.greet() else { return }
            while let request = peer.request() {
                peer.reply(
                    request.id,
                    request.code == .find
                        ? .answer(items, partByteCount: 5000) : .answer(large))
            }
        }
        let client = ServiceClient(socketPath: service.path)
        for _ in 0..<2 {
            #expect(
                try client.perform(FindItems(Self.query, Retrieval(limit: nil)), as: Self.caller)
                    == items)
            #expect(try client.perform(AddItem(large.asNew), as: Self.caller) == large)
        }
    }

    @Test func `a check reports its progress`() throws {
        let service = try FakeService { peer, _ in
            guard peer.greet(), let request = peer.request() else { return }
            for done in [1000, 2000] { peer.reply(request.id, .progress(done: done, total: 2000)) }
            peer.reply(request.id, .answer(Self.report))
            _ = peer.request()
        }
        let client = ServiceClient(socketPath: service.path)
        var seen: [Int] = []
        let report = try client.stream(CheckKeychain()) {
            seen.append($0.done)
            return true
        }
        #expect(report == Self.report && seen == [1000, 2000])
    }

    @Test func `canceling a check ends it at once and closes its connection`() throws {
        let ended = Recorded<Bool>()
        let service = try FakeService { peer, _ in
            guard peer.greet(), let request = peer.request() else { return }
            peer.reply(request.id, .progress(done: 1000, total: 2000))
            // The client sends nothing else on this connection.
            ended.append(peer.request() == nil)
        }
        let client = ServiceClient(socketPath: service.path)
        let failure = #expect(throws: KeychainFailure.self) {
            try client.stream(CheckKeychain()) { _ in false }
        }
        #expect(failure?.status == .userCanceled)
        #expect(ended.waitForNext() && ended.values == [true])
        #expect(client.idleConnectionCount == 0)
    }

    @Test func `concurrent threads use separate connections`() async throws {
        let connections = Recorded<Int>()
        let service = try FakeService { peer, number in
            var isFirst = true
            peer.serve { request in
                guard let query = try? request.decoded(FindItems.self).query else {
                    return .changed
                }
                if isFirst {
                    isFirst = false
                    connections.append(number)
                    // No request is answered before each thread has sent one on its own connection.
                    let deadline = ContinuousClock.now + .seconds(60)
                    while connections.values.count < 6, ContinuousClock.now < deadline {
                        sched_yield()
                    }
                }
                var item = Self.item
                item.attributes = query.attributes
                return .answer([item])
            }
        }
        let client = ServiceClient(
            socketPath: service.path, options: ServiceOptions(idleConnectionCount: 3))
        let answers = Recorded<Bool>()
        for thread in 0..<6 {
            Thread {
                let isRight = (0..<50).allSatisfy { number in
                    var query = Self.query
                    query.attributes[.account] = .string("\(thread)/\(number)")
                    let found = try? client.perform(FindItems(query, Retrieval()), as: Self.caller)
                    return found?.first?.attributes == query.attributes
                }
                answers.append(isRight)
            }.start()
        }
        for _ in 0..<6 { #expect(answers.waitForNext()) }
        #expect(answers.values == Array(repeating: true, count: 6))
        #expect(connections.values.count >= 6)
        #expect((1...3).contains(client.idleConnectionCount))
    }

    @Test(arguments: [(getpid() + 1, geteuid()), (getpid(), geteuid() + 1)])
    func `a connection isn't reused in a child process or after a change of the user id`(
        _ processID: Int32, _ userID: UInt32
    ) throws {
        let service = try FakeService { peer, _ in peer.serve { _ in .answer(Done()) } }
        let holder = Recorded<ConnectionHolder>()
        holder.append(.current)
        let pool = ConnectionPool(limit: 4) { holder.values.last ?? .current }
        let connection = try ServiceConnection(to: service.path, ServiceOptions())
        pool.putBack(connection)
        #expect(pool.take() === connection)
        pool.putBack(connection)
        holder.append(ConnectionHolder(processID: processID, userID: userID))
        #expect(pool.take() == nil && pool.idleCount == 0)
        // The pool also drops a connection that was in use when the process or user id changed.
        pool.putBack(connection)
        #expect(pool.idleCount == 0)
    }
}

extension ItemSnapshot {
    /// A new item with the same content.
    fileprivate var asNew: NewItem {
        NewItem(
            itemClass: itemClass, attributes: attributes, accessGroup: accessGroup,
            protection: protection, data: data)
    }
}
