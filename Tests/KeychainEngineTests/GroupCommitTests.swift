// Concurrent writes of several threads share a commit, and each write has the result that it would
// have alone.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Synchronization
import Testing

/// Runs each write on a separate thread. The writes queue up, in order, behind another write. If
/// `isApart` is `true`, that write doesn't share its commit with them.
///
/// `meanwhile` is called while all of them wait.
/// - Returns: The error status of each write, or `nil` if it succeeded.
private func together(
    in store: Store, _ writes: [@Sendable () throws -> Void], isApart: Bool = false,
    meanwhile: () throws -> Void = {}
) throws -> [Status?] {
    let failures = Mutex([Status?](repeating: nil, count: writes.count))
    let ended = DispatchGroup()
    func start(_ body: @escaping @Sendable () -> Void) {
        ended.enter()
        Thread.detachNewThread {
            body()
            ended.leave()
        }
    }
    let hasBegun = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let generation = try store.header().keybagGeneration
    start {
        _ = try? store.write(keybagGeneration: generation, isAlone: isApart) { _ in
            hasBegun.signal()
            mayEnd.wait()
        }
    }
    hasBegun.wait()
    let deadline = Date(timeIntervalSinceNow: 60)
    for (index, write) in writes.enumerated() {
        start {
            let failed = status(write)
            failures.withLock { $0[index] = failed }
        }
        while store.waitingWriteCount <= index, Date() < deadline { sched_yield() }
    }
    let waiting = store.waitingWriteCount
    let events = Result { try meanwhile() }
    mayEnd.signal()
    ended.wait()
    try events.get()
    try #require(waiting == writes.count)
    return failures.withLock { $0 }
}

extension TemporaryKeychain {
    fileprivate func addition(of account: String) -> @Sendable () throws -> Void {
        { [engine, caller] in
            _ = try engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: genericPassword(account),
                        data: Data(account.utf8))), as: caller)
        }
    }

    /// The secret of an account, or `nil` if there is none.
    fileprivate func secret(of account: String) throws -> Data? {
        do {
            return try engine.perform(
                FindItems(
                    ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account)),
                    Retrieval(includesData: true)), as: caller
            ).first?.data
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return nil
        }
    }

    fileprivate func expect(_ accounts: [String], absent: [String] = []) throws {
        for account in accounts { #expect(try secret(of: account) == Data(account.utf8)) }
        for account in absent { #expect(try secret(of: account) == nil) }
        let report = try engine.check(settingAside: false)
        #expect(report.isSound, "\(report.problems)")
        #expect(report.itemCount == accounts.count)
    }
}

@Suite struct GroupCommitTests {
    @Test func `writers that wait for another process time out together, not one after another`()
        throws
    {
        let keychain = try TemporaryKeychain()
        let other = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        defer { other.close() }
        let generation = try other.store.header().keybagGeneration
        let (hasBegun, mayEnd, hasEnded) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        Thread.detachNewThread {
            _ = try? other.store.write(keybagGeneration: generation) { _ in
                hasBegun.signal()
                mayEnd.wait()
            }
            hasEnded.signal()
        }
        hasBegun.wait()
        defer {
            mayEnd.signal()
            hasEnded.wait()
        }
        let failures = Mutex<[Status?]>([])
        let ended = DispatchGroup()
        let count = 8
        let begin = ContinuousClock.now
        for number in 0..<count {
            ended.enter()
            let add = keychain.addition(of: "account \(number)")
            Thread.detachNewThread {
                Store.$longestWait.withValue(.seconds(3)) {
                    let failed = status(add)
                    failures.withLock { $0.append(failed) }
                }
                ended.leave()
            }
        }
        ended.wait()
        #expect(failures.withLock { $0 } == Array(repeating: .notAvailable, count: count))
        // One after another, the writers would take at least 24 s.
        #expect(ContinuousClock.now - begin < .seconds(3 * count))
    }

    @Test func `waiting writes share a commit, and all of them succeed`() throws {
        let keychain = try TemporaryKeychain()
        let accounts = (0..<16).map { "account \($0)" }
        let before = try keychain.engine.store.header().generation
        let failures = try together(
            in: keychain.engine.store, accounts.map(keychain.addition(of:)))
        #expect(failures == Array(repeating: nil, count: 16))
        // The writes share one commit, unless the machine is so busy that the time for gathering
        // writes runs out.
        let commits = try keychain.engine.store.header().generation - before
        #expect(commits < 16)
        try keychain.expect(accounts)
        try keychain.reopen()
        try keychain.expect(accounts)
    }

    @Test func `subscribers are notified of a shared commit once`() throws {
        let keychain = try TemporaryKeychain()
        let store = keychain.engine.store
        let calls = Atomic<UInt64>(0)
        try withExtendedLifetime(
            store.subscribe(by: .polling, lookingEvery: .seconds(86400)) {
                calls.wrappingAdd(1, ordering: .relaxed)
            }
        ) {
            let before = try store.header().generation
            _ = try together(in: store, ["a", "b", "c", "d"].map(keychain.addition(of:)))
            let commits = try store.header().generation - before
            let callCount = calls.load(ordering: .relaxed)
            #expect(callCount == commits)
            // The write that the others waited for changes nothing, so it isn't committed.
            #expect(commits < 4)
        }
    }

    @Test func `a write that fails in a shared commit doesn't affect the others`() throws {
        let keychain = try TemporaryKeychain()
        let failures = try together(
            in: keychain.engine.store, ["a", "b", "a", "c"].map(keychain.addition(of:)))
        #expect(failures == [nil, nil, .duplicateItem, nil])
        try keychain.expect(["a", "b", "c"])
    }

    @Test func `a write that fails after changing rows is rolled back alone`() throws {
        let keychain = try TemporaryKeychain()
        for account in ["old 1", "old 2"] { try keychain.addition(of: account)() }
        let store = keychain.engine.store
        let generation = try store.header().keybagGeneration
        let failures = try together(
            in: store,
            [
                keychain.addition(of: "a"),
                {
                    _ = try store.write(keybagGeneration: generation) {
                        transaction throws(KeychainFailure) in
                        let all = transaction.search(
                            ItemQuery(itemClass: .genericPassword), visibleTo: AccessGroups(["*"]))
                        for case .row(let row) in try transaction.rows(
                            all, includesSecret: false)
                        {
                            try transaction.delete(row)
                        }
                        #expect(transaction.header.itemCount == 0)
                        throw KeychainFailure(.param, "stopped after the deletions")
                    }
                },
                keychain.addition(of: "b"),
            ])
        #expect(failures == [nil, .param, nil])
        try keychain.expect(["old 1", "old 2", "a", "b"])
    }

    @Test func `a write queued behind a passcode change uses the new keybag`() throws {
        let keychain = try TemporaryKeychain()
        let engine = keychain.engine
        let failures = try together(
            in: engine.store,
            [
                keychain.addition(of: "before"),
                { try engine.setPasscode(passcode("1234")) },
                keychain.addition(of: "behind"),
            ])
        #expect(failures == [nil, nil, nil])
        #expect(engine.hasPasscode)
        try keychain.expect(["before", "behind"])
        try keychain.reopen()
        try keychain.engine.unlock(passcode: passcode("1234"))
        try keychain.expect(["before", "behind"])
    }

    @Test(arguments: [true, false])
    func `a write with a wrong keybag generation isn't run, and reports a stale keybag`(
        isOlder: Bool
    ) throws {
        let keychain = try TemporaryKeychain()
        let older = try keychain.engine.store.header().keybagGeneration
        try keychain.engine.setPasscode(passcode("1234"))
        let store = keychain.engine.store
        let generation = try store.header().keybagGeneration
        try #require(older < generation)
        let wrong = isOlder ? older : generation + 1
        let isStale = Atomic<Bool>(false)
        let failures = try together(
            in: store,
            [
                keychain.addition(of: "a"),
                {
                    let outcome = try store.write(keybagGeneration: wrong) { _ in
                        Issue.record("The write ran.")
                    }
                    if case .staleKeybag = outcome { isStale.store(true, ordering: .relaxed) }
                },
                keychain.addition(of: "b"),
            ])
        #expect(failures == [nil, nil, nil])
        let wasStale = isStale.load(ordering: .relaxed)
        #expect(wasStale)
        try keychain.expect(["a", "b"])
    }

    /// While the write waits, another connection records damage to a page that the write reads to
    /// find an item.
    @Test func `a write fails if damage that it depends on was found while it waited`() throws {
        let keychain = try TemporaryKeychain()
        let item = try keychain.engine.perform(
            AddItem(NewItem(itemClass: .genericPassword, attributes: genericPassword("a"))),
            as: keychain.caller
        ).reference
        let store = keychain.engine.store
        // From now on, the pages are read from the database file.
        try store.emptyLog()
        let header = try store.header()
        let keybagGeneration = header.keybagGeneration
        let failures = try together(
            in: store,
            [
                {
                    _ = try store.write(keybagGeneration: keybagGeneration) {
                        transaction throws(KeychainFailure) in
                        _ = try transaction.row(withReference: item)
                        transaction.noteChange()
                    }
                }
            ], isApart: true
        ) {
            let file = try FileHandle(forUpdating: URL(filePath: keychain.path(.database)))
            defer { try? file.close() }
            // The number of entries on page 5, the root page of the index `items_uuid`.
            let place = UInt64(4 * PageFormat.pageByteCount + 4)
            try file.seek(toOffset: place)
            try #require(try file.read(upToCount: 1) == Data([1]))
            try file.seek(toOffset: place)
            try file.write(contentsOf: Data([0]))
            _ = try? store.verify()
            try #require(store.damagedPages == [5])
        }
        #expect(failures == [.notAvailable])
        #expect(try store.header().generation == header.generation)
    }

    @Test func `eight threads that write continuously lose no write`() throws {
        let keychain = try TemporaryKeychain()
        let failures = Mutex<[Status]>([])
        let ended = DispatchGroup()
        for thread in 0..<8 {
            let additions = (0..<40).map { keychain.addition(of: "\(thread) \($0)") }
            ended.enter()
            Thread.detachNewThread {
                for addition in additions {
                    if let status = status(addition) { failures.withLock { $0.append(status) } }
                }
                ended.leave()
            }
        }
        ended.wait()
        #expect(failures.withLock { $0 } == [])
        try keychain.expect((0..<8).flatMap { thread in (0..<40).map { "\(thread) \($0)" } })
    }
}
