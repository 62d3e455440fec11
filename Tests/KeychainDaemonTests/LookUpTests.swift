// LookUpTests: requests for one secret, which an event loop answers without a thread of the
// service's thread pool.

import Dispatch
import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import KeychainWire
import Synchronization
import TestPrograms
import Testing

@testable import KeychainDaemon

private let own = AccessGroups(["default"])

private func lookUp(_ account: String) -> FindItems {
    var query = passwordQuery(account, in: "default")
    query.isSynchronizable = false
    return FindItems(query, Retrieval(includesData: true, includesAttributes: false))
}

@Suite struct `A look-up` {
    /// A log that blocks the thread which logs an update, until ``open`` is signaled.
    private final class Blockade: Sendable {
        let isBlocked = DispatchSemaphore(value: 0)
        let open = DispatchSemaphore(value: 0)

        func log() -> LogLines {
            LogLines { [self] line in
                guard line.hasPrefix("info update") else { return }
                isBlocked.signal()
                // The time limit only keeps a failing test from hanging.
                _ = open.wait(timeout: .now() + 60)
            }
        }
    }

    @Test func `a look-up is answered while every thread of the pool is busy`() throws {
        let blockade = Blockade()
        let service = try TestService(log: blockade.log()) { $0.limits.requests = 1 }
        let client = service.client()
        _ = try client.perform(AddItem(password("a", "one")), as: own)
        // This client connects in advance, since `hello` needs a thread of the pool.
        let other = service.client()
        _ = try other.welcome()
        let updated = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            _ = try? client.perform(
                UpdateItems(passwordQuery("a"), ItemChanges(data: Data("two".utf8))), as: own)
            updated.signal()
        }
        blockade.isBlocked.wait()
        for _ in 0..<100 {
            let found = try other.perform(lookUp("a"), as: own)
            #expect(found.map(\.data) == [Data("two".utf8)])
        }
        blockade.open.signal()
        updated.wait()
        // Each look-up has a line in the log and a record in the audit, like any other request.
        #expect(service.log.all.count { $0.hasPrefix("info find") } == 100)
        #expect(try service.auditFolder.records().count { $0.operation == "find" } == 100)
    }

    @Test func `a look-up that can't be answered at once still returns the right status`() throws {
        let service = try TestService()
        let client = service.client()
        #expect(status { _ = try client.perform(lookUp("a"), as: own) } == .itemNotFound)
        var item = password("a", "one")
        item.protection = .whenUnlocked
        _ = try client.perform(AddItem(item), as: own)
        #expect(
            status { _ = try client.perform(lookUp("a"), as: AccessGroups(["other"])) }
                == .missingEntitlement)
        try client.perform(
            SetPasscode(SecretBytes(copying: Array("1234".utf8)), allowsWeak: true))
        try client.perform(Lock())
        #expect(status { _ = try client.perform(lookUp("a"), as: own) } == .interactionNotAllowed)
    }

    @Test func `an event loop answers at most 16 look-ups before it handles its other events`()
        throws
    {
        let workers = Workers(count: 1)
        defer { workers.stop() }
        let tasks = Mutex<[@Sendable () -> Void]>([])
        let (loop, other) = (LogLines(), LogLines())
        func turns(of loop: AnyObject) -> Int {
            (0..<1000).count { _ in
                workers.takeTurn(of: ObjectIdentifier(loop)) { task in
                    tasks.withLock { $0.append(task) }
                }
            }
        }
        #expect(turns(of: loop) == 16)
        #expect(turns(of: other) == 16)
        #expect(turns(of: loop) == 0)
        // The first event loop has handled its other events, and runs its tasks.
        try #require(tasks.withLock { $0 }.count == 2)
        tasks.withLock { $0.removeFirst() }()
        #expect(turns(of: loop) == 16)
        #expect(turns(of: other) == 0)
    }

    @Test func `a burst of look-ups on one connection doesn't delay those on other connections`()
        throws
    {
        let blockade = Blockade()
        let service = try TestService(log: blockade.log()) { $0.limits.requests = 1 }
        let client = service.client()
        _ = try client.perform(AddItem(password("a", "one")), as: own)
        let burst = try RawClient(service.configuration.socket)
        try burst.greet()
        let other = service.client()
        _ = try other.welcome()
        let updated = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            _ = try? client.perform(
                UpdateItems(passwordQuery("a"), ItemChanges(data: Data("two".utf8))), as: own)
            updated.signal()
        }
        blockade.isBlocked.wait()
        let ids = 2..<UInt64(202)
        try burst.send(try ids.flatMap { try burst.request($0, lookUp("a"), as: own.names) })
        // Look-ups over another connection are answered meanwhile.
        for _ in 0..<20 { _ = try other.perform(lookUp("a"), as: own) }
        #expect(!burst.hasBytes)
        blockade.open.signal()
        updated.wait()
        let replies = try ids.map { _ in try burst.reply() }
        #expect(Set(replies.map(\.id)) == Set(ids))
        #expect(replies.allSatisfy { $0.kind == .answer })
    }

    @Test func `a service whose event loop hangs sends systemd no watchdog notification`() throws {
        let isBlocked = DispatchSemaphore(value: 0)
        let open = DispatchSemaphore(value: 0)
        let blocks = Mutex(false)
        // A look-up is logged on the event loop.
        let log = LogLines { line in
            guard line.hasPrefix("info find"), blocks.withLock({ $0 }) else { return }
            isBlocked.signal()
            _ = open.wait(timeout: .now() + 60)
        }
        let service = try TestService(log: log)
        let client = service.client()
        _ = try client.perform(AddItem(password("a", "one")), as: own)
        let signs = Mutex(0)
        service.server.showLife(within: .milliseconds(20)) { _ in signs.withLock { $0 += 1 } }
        try eventually("notifications are sent") { signs.withLock { $0 } > 2 }
        blocks.withLock { $0 = true }
        Thread.detachNewThread { _ = try? client.perform(lookUp("a"), as: own) }
        isBlocked.wait()
        blocks.withLock { $0 = false }
        // The last probe before the loop hung may still be answered.
        let last = signs.withLock { $0 } + 1
        usleep(300_000)
        #expect(signs.withLock { $0 } <= last)
        open.signal()
        try eventually("further notifications are sent") { signs.withLock { $0 } > last }
    }
}
