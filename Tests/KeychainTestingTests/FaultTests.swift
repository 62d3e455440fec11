// Each fault that a test can inject, and the state of the keychain afterwards.

import Dispatch
import Foundation
import Keychain
import KeychainCore
import KeychainServices
import KeychainTesting
import Synchronization
import Testing

@Suite struct `Faults of a test keychain` {
    let test = TestKeychain()
    let keychain: Keychain

    init() throws {
        keychain = Keychain(service: "com.example.app", in: test.database)
        try keychain.save("old", for: .token)
    }

    /// Expects that the next process finds the keychain undamaged and with this value.
    private func expectAfterRestart(_ value: String?) throws {
        test.removeFaults()
        try test.restart()
        #expect(try keychain.load(.token) == value)
        #expect(try test.items().count == (value == nil ? 0 : 1))
        let report = try test.database.check()
        #expect(report.isSound)
        #expect(report.itemCount == (value == nil ? 0 : 1))
    }

    @Test func `the locked fault by default makes operations other than deletions fail`()
        throws
    {
        test.inject(.locked)
        #expect(code { _ = try keychain.load(.token) } == .interactionNotAllowed)
        #expect(code { try keychain.save("new", for: .token) } == .interactionNotAllowed)
        #expect(code { try keychain.add("new", for: .pin) } == .interactionNotAllowed)
        #expect(code { _ = try keychain.items() } == .interactionNotAllowed)
        #expect(try !keychain.delete(.pin))
        try expectAfterRestart("old")
        test.inject(.locked, into: .delete)
        #expect(code { _ = try keychain.delete(.token) } == .interactionNotAllowed)
        try expectAfterRestart("old")
    }

    @Test func `with the denied fault, every operation fails and does nothing`() throws {
        test.inject(.denied)
        #expect(code { _ = try keychain.load(.token) } == .authFailed)
        #expect(code { try keychain.save("new", for: .token) } == .authFailed)
        #expect(code { _ = try keychain.delete(.token) } == .authFailed)
        try expectAfterRestart("old")
    }

    @Test(arguments: [KeychainError.Code.notAvailable, .readOnly, .userCanceled, .decode])
    func `a failure fault fails operations with its code`(_ wanted: KeychainError.Code) throws {
        test.inject(.failure(wanted))
        #expect(code { _ = try keychain.load(.token) } == wanted)
        #expect(code { try keychain.save("new", for: .token) } == wanted)
        try expectAfterRestart("old")
    }

    @Test func `with the disk-full fault, writes fail and reads work`() throws {
        test.inject(.diskFull)
        #expect(code { try keychain.save("new", for: .token) } == .diskFull)
        #expect(code { try keychain.add("new", for: .pin) } == .diskFull)
        #expect(code { _ = try keychain.delete(.token) } == .diskFull)
        #expect(code { try keychain.removeAll() } == .diskFull)
        #expect(try keychain.load(.token) == "old")
        try expectAfterRestart("old")
        try keychain.save("new", for: .token)
        try expectAfterRestart("new")
    }

    static let before: [TestKeychain.StopPoint] =
        [.beforeCommit] + [-1, 0, 1, 2, 3, 4, 1000].map { .afterStep($0) }

    @Test(arguments: before)
    func `a write stopped before its commit has no effect`(_ point: TestKeychain.StopPoint)
        throws
    {
        test.inject(.stop(point))
        #expect(code { try keychain.save("new", for: .token) } == .ioError)
        #expect(code { try keychain.add("new", for: .pin) } == .ioError)
        #expect(code { _ = try keychain.delete(.token) } == .ioError)
        #expect(try keychain.load(.token) == "old")
        try expectAfterRestart("old")
    }

    @Test func `a write can be stopped after none, one or two of its statements`() throws {
        // An addition writes the row, the index terms of the row, and the header.
        for step in 0..<3 {
            test.inject(.stop(.afterStep(step)), times: 1)
            #expect(code { try keychain.add("new", for: .pin) } == .ioError)
            #expect(try keychain.load(.pin) == nil)
        }
        try expectAfterRestart("old")
    }

    @Test func `a write stopped after its commit takes effect, but its caller gets an error`()
        throws
    {
        test.inject(.stop(.afterCommit), times: 1)
        #expect(code { try keychain.save("new", for: .token) } == .ioError)
        #expect(try keychain.load(.token) == "new")
        try expectAfterRestart("new")

        // The addition was carried out: a second one finds the item, and a save succeeds.
        test.inject(.stop(.afterCommit), times: 1)
        #expect(code { try keychain.add("x", for: .pin) } == .ioError)
        #expect(code { try keychain.add("x", for: .pin) } == .duplicateItem)
        try keychain.save("x", for: .pin)

        test.inject(.stop(.afterCommit), times: 1)
        #expect(code { _ = try keychain.delete(.pin) } == .ioError)
        #expect(try !keychain.delete(.pin))
        try expectAfterRestart("new")
    }

    @Test func `a stop fault doesn't affect operations that only read`() throws {
        test.inject(.stop(.beforeCommit), into: .all)
        #expect(try keychain.load(.token) == "old")
        #expect(try keychain.items().count == 1)
    }

    @Test func `with the slow fault, an operation takes longer and is carried out`() throws {
        let clock = ContinuousClock()
        test.inject(.slow(.milliseconds(50)))
        var value: String?
        let duration = try clock.measure { value = try keychain.load(.token) }
        #expect(value == "old")
        #expect(duration >= .milliseconds(50))
        // A save is delayed twice: in its addition, which finds a duplicate, and in its update.
        #expect(try clock.measure { try keychain.save("new", for: .token) } >= .milliseconds(100))
        #expect(try keychain.load(.token) == "new")
    }

    @Test func `a delay and an error can be combined`() throws {
        let clock = ContinuousClock()
        test.inject(.slow(.milliseconds(50)))
        test.inject(.denied)
        let duration = clock.measure {
            #expect(code { _ = try keychain.load(.token) } == .authFailed)
        }
        #expect(duration >= .milliseconds(50))
    }

    // MARK: When faults apply

    @Test
    func `a fault begins after a given number of operations and applies to a given number`()
        throws
    {
        test.inject(.denied, into: .search, after: 2, times: 2)
        let codes = (0..<6).map { _ in code { _ = try keychain.load(.token) } }
        #expect(codes == [nil, nil, .authFailed, .authFailed, nil, nil])
        test.inject(.denied, times: 0)
        #expect(try keychain.load(.token) == "old")
    }

    @Test func `several faults for the same operation apply one after the other`() throws {
        test.inject(.locked, times: 1)
        test.inject(.denied, times: 1)
        let codes = (0..<3).map { _ in code { _ = try keychain.load(.token) } }
        #expect(codes == [.interactionNotAllowed, .authFailed, nil])
    }

    @Test func `a duplicate addition doesn't use up a stop before the commit`() throws {
        test.inject(.stop(.beforeCommit), into: .add, times: 1)
        #expect(code { try keychain.add("x", for: .token) } == .duplicateItem)
        #expect(code { try keychain.add("x", for: .pin) } == .ioError)
        try keychain.add("x", for: .pin)
    }

    @Test func `a fault affects only the operations that it names`() throws {
        test.inject(.denied, into: .add)
        #expect(code { try keychain.add("x", for: .pin) } == .authFailed)
        #expect(try keychain.load(.token) == "old")
        #expect(try keychain.delete(.token))
        test.removeFaults()
        test.inject(.denied, into: .update)
        try keychain.save("x", for: .token)
        #expect(code { try keychain.save("y", for: .token) } == .authFailed)
    }

    @Test
    func `a save is an addition until it finds that the item exists, and an update from then on`()
        throws
    {
        test.inject(.stop(.afterStep(0)), into: .update, times: 1)
        #expect(code { try keychain.save("new", for: .token) } == .ioError)
        test.inject(.stop(.afterCommit), into: .add, times: 1)
        try keychain.save("new", for: .token)
        #expect(code { try keychain.save("x", for: .pin) } == .ioError)
        #expect(try keychain.load(.pin) == "x")
        #expect(try keychain.load(.token) == "new")
    }

    @Test func `no deletion can happen between PutItem's attempt to add and its update`() throws {
        let connection = test.connection
        let item = NewItem(
            itemClass: .genericPassword,
            attributes: [.service: .string("s"), .account: .string("a")], data: Data("x".utf8))
        let query = ItemQuery(itemClass: .genericPassword, attributes: item.attributes)
        let failures = Mutex<[KeychainFailure]>([])
        @Sendable func put() throws(KeychainFailure) {
            try connection.perform(
                PutItem(item, orChange: query, ItemChanges(data: Data("y".utf8))))
        }
        for _ in 0..<20 {
            try put()
            // If the addition and the update were separate, the deletion could happen between them,
            // during this delay.
            test.inject(.slow(.milliseconds(5)), into: .update, times: 1)
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                do throws(KeychainFailure) {
                    if index == 0 {
                        try put()
                    } else {
                        try connection.perform(DeleteItems(query, tombstones: .automatic))
                    }
                } catch {
                    failures.withLock { $0.append(error) }
                }
            }
            test.removeFaults()
        }
        #expect(failures.withLock { $0 } == [])
    }

    @Test func `faults don't affect setting the passcode, locking, unlocking or restarting`() throws
    {
        for fault in [TestKeychain.Fault.locked, .denied, .diskFull, .stop(.beforeCommit)] {
            test.inject(fault)
        }
        try test.setPasscode("1234")
        try test.lock()
        try test.unlock()
        try test.restart()
        try test.unlock()
        #expect(try test.items().count == 1)
        #expect(try test.removePasscode() == 0)
    }

    @Test func `faults affect the SecItem functions too`() throws {
        let query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: "com.example.app",
            kSecAttrAccount: "token",
        ]
        let changes = [kSecValueData: Data("new".utf8)] as CFDictionary
        test.inject(.stop(.beforeCommit), times: 1)
        test.withSecItem {
            #expect(SecItemUpdate(query as CFDictionary, changes) == errSecIO)
        }
        #expect(try keychain.load(.token) == "old")
        test.inject(.locked)
        test.withSecItem {
            #expect(
                SecItemCopyMatching(query as CFDictionary, nil) == errSecInteractionNotAllowed)
        }
    }

    // MARK: Concurrency

    @Test func `a fault applies to concurrent tasks exactly as often as requested`() async throws {
        let keychain = keychain
        test.inject(.stop(.beforeCommit), into: .writes, after: 20, times: 1)
        test.inject(.denied, into: .search, after: 20, times: 3)
        let (stopped, denied) = await withTaskGroup(of: KeychainError.Code?.self) { group in
            for number in 0..<50 {
                group.addTask { code { try keychain.save("x", for: KeychainKey("\(number)")) } }
                group.addTask { code { _ = try keychain.load(.token) } }
            }
            return await group.reduce(into: (0, 0)) { counts, code in
                if code == .ioError { counts.0 += 1 }
                if code == .authFailed { counts.1 += 1 }
            }
        }
        #expect(stopped == 1)
        #expect(denied == 3)
        #expect(try test.items().count == 50)
        #expect(try await test.database.check().isSound)
    }

    @Test func `the errors of concurrent tasks match what was stored`() async throws {
        let keychain = keychain
        let accounts = (0..<200).map { "\($0)" }
        for point in [TestKeychain.StopPoint.afterStep(1), .afterStep(2), .beforeCommit] {
            test.inject(.stop(point), after: 3, times: 20)
        }
        test.inject(.diskFull, after: 50, times: 20)
        let failed = await withTaskGroup(of: String?.self) { group in
            for account in accounts {
                group.addTask {
                    code { try keychain.save("x", for: KeychainKey(account)) } == nil
                        ? nil : account
                }
            }
            return await group.reduce(into: Set<String>()) { failed, account in
                if let account { failed.insert(account) }
            }
        }
        #expect(failed.count == 80)
        test.removeFaults()
        try test.restart()
        for account in accounts {
            #expect(try await keychain.exists(.account(account)) == !failed.contains(account))
        }
        #expect(try await test.database.check().isSound)
    }
}
