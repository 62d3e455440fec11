// Subscribers are notified of the commits of all processes. The watch on the folder ends with the
// last subscription.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Testing

/// Counts calls, and lets a test wait for the next call.
private final class Bell: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func ring() { semaphore.signal() }

    /// Waits up to a minute for a call, and returns whether there was one.
    func rings() -> Bool { semaphore.wait(timeout: .now() + 60) == .success }

    /// Whether there was a call since the last `hasRung`, apart from the calls that `rings` waited
    /// for.
    func hasRung() -> Bool {
        var hasRung = false
        while semaphore.wait(timeout: .now()) == .success { hasRung = true }
        return hasRung
    }
}

/// A keychain that is open in two engines, as in two processes. The engines share only the files.
private final class OpenedTwice {
    let keychain: TemporaryKeychain
    let other: KeychainEngine
    let bell = Bell()

    init() throws {
        keychain = try TemporaryKeychain()
        other = try KeychainEngine.open(directory: keychain.directory, options: .testing)
    }

    deinit { other.close() }

    func add(_ account: String, to engine: KeychainEngine) throws {
        _ = try engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    data: Data("x".utf8))), as: keychain.caller)
    }

    /// Subscribes to commits. The default polling interval is a day, so a test that waits for a
    /// kernel notification doesn't pass because of polling.
    func subscribe(
        by means: CommitWatch.Means = .notices,
        every interval: DispatchTimeInterval = .seconds(86400)
    ) -> any ChangeSubscription {
        keychain.engine.store.subscribe(by: means, lookingEvery: interval) { [bell] in
            bell.ring()
        }
    }

    /// The number of this process's descriptors that watch the folder.
    func watchCount() throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: keychain.directory)
        let number = try #require(attributes[.systemFileNumber] as? NSNumber).uint64Value
        let entry = "ino:" + String(number, radix: 16) + " "
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo")
            .filter { name in
                let text = try? String(
                    contentsOfFile: "/proc/self/fdinfo/" + name, encoding: .utf8)
                return text?.contains(entry) ?? false
            }.count
    }

    /// Waits up to a minute until no descriptor watches the folder, and returns whether that
    /// happened. The watch's queue closes the descriptor asynchronously.
    func isUnwatched() throws -> Bool {
        let deadline = Date(timeIntervalSinceNow: 60)
        while try watchCount() > 0 {
            guard Date() < deadline else { return false }
            sched_yield()
        }
        return true
    }
}

@Suite struct CommitFeedTests {
    @Test func `subscribers are notified of the same engine's commit before the write returns`()
        throws
    {
        let opened = try OpenedTwice()
        let subscription = opened.subscribe()
        try opened.add("a", to: opened.keychain.engine)
        #expect(opened.bell.hasRung())
        subscription.end()
    }

    @Test func `subscribers are notified of every commit by another engine`() throws {
        let opened = try OpenedTwice()
        // The anchor is missing, and the first commit creates it again.
        try FileManager.default.removeItem(atPath: opened.keychain.path(.anchor))
        let subscription = opened.subscribe()
        #expect(opened.keychain.engine.store.commits.means == .notices)
        for number in 0..<20 {
            _ = opened.bell.hasRung()
            try opened.add("\(number)", to: opened.other)
            try #require(opened.bell.rings())
        }
        subscription.end()
    }

    @Test func `polling notices commits where the kernel provides no notifications`() throws {
        let opened = try OpenedTwice()
        let subscription = opened.subscribe(by: .polling, every: .milliseconds(20))
        #expect(opened.keychain.engine.store.commits.means == .polling)
        #expect(try opened.watchCount() == 0)
        try opened.add("a", to: opened.other)
        try #require(opened.bell.rings())
        subscription.end()
    }

    @Test func `if a watch can't be created, polling notices commits`() throws {
        let opened = try OpenedTwice()
        let directory = opened.keychain.directory
        // While the watch is created, nothing exists at its path.
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        let subscription = opened.subscribe(every: .milliseconds(20))
        #expect(opened.keychain.engine.store.commits.means == .polling)
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        #expect(try opened.watchCount() == 0)
        try opened.add("a", to: opened.other)
        try #require(opened.bell.rings())
        subscription.end()
    }

    @Test func `commits are noticed even after the anchor was replaced by another file`() throws {
        let opened = try OpenedTwice()
        try opened.add("a", to: opened.keychain.engine)
        let subscription = opened.subscribe()
        let anchor = opened.keychain.path(.anchor)
        let bytes = try Data(contentsOf: URL(filePath: anchor))
        try FileManager.default.moveItem(atPath: anchor, toPath: anchor + ".old")
        try #require(
            FileManager.default.createFile(
                atPath: anchor, contents: bytes, attributes: [.posixPermissions: 0o600]))
        for number in 0..<5 {
            _ = opened.bell.hasRung()
            try opened.add("b\(number)", to: opened.other)
            try #require(opened.bell.rings())
        }
        subscription.end()
    }

    @Test func `polling notices a commit that was not recorded in the anchor`() throws {
        let opened = try OpenedTwice()
        // The anchor can't be written, as if the process had ended between the commit and the
        // writing of the anchor.
        try FileManager.default.removeItem(atPath: opened.keychain.path(.anchor))
        try FileManager.default.createDirectory(
            atPath: opened.keychain.path(.anchor), withIntermediateDirectories: false)
        let subscription = opened.subscribe(every: .milliseconds(20))
        #expect(opened.keychain.engine.store.commits.means == .notices)
        try opened.add("a", to: opened.other)
        try #require(opened.bell.rings())
        subscription.end()
    }

    @Test func `locking and unlocking notify subscribers`() throws {
        let opened = try OpenedTwice()
        let engine = opened.keychain.engine
        let subscription = opened.subscribe()
        try engine.setPasscode(passcode("p"))
        #expect(opened.bell.hasRung())
        try engine.lock()
        #expect(opened.bell.hasRung())
        try engine.unlock(passcode: passcode("p"))
        #expect(opened.bell.hasRung())
        subscription.end()
    }

    @Test func `the watch begins with the first subscription and ends with the last`() throws {
        let opened = try OpenedTwice()
        let commits = opened.keychain.engine.store.commits
        #expect(try opened.watchCount() == 0)
        for _ in 0..<3 {
            let first = opened.subscribe()
            var second: (any ChangeSubscription)? = opened.subscribe()
            #expect(second != nil)
            #expect(try opened.watchCount() == 1)
            first.end()
            first.end()
            #expect(commits.means == .notices)
            // This releases the last reference to the subscription.
            second = nil
            #expect(commits.means == nil)
            #expect(try opened.isUnwatched())
        }
        _ = opened.bell.hasRung()
        try opened.add("a", to: opened.keychain.engine)
        #expect(!opened.bell.hasRung())
    }

    @Test func `closing a keychain ends its watch`() throws {
        let opened = try OpenedTwice()
        let subscription = opened.subscribe()
        #expect(try opened.watchCount() == 1)
        try opened.keychain.reopen()
        #expect(try opened.isUnwatched())
        subscription.end()
    }
}
