// MigrationTests: the plaintext client key of an earlier release is moved to the credentials, and
// no key is lost.

import Dispatch
import Foundation
import KeychainTesting
import Synchronization
import Testing

@testable import TVRemote

/// Defaults in memory, which a test can make read-only.
private final class DefaultsWithoutFile: UserDefaults {
    var values: [String: Any] = [:]
    var canWrite = true
    var canRemove = true
    var onAddress: () -> Void = {}

    override func object(forKey key: String) -> Any? { values[key] }
    override func string(forKey key: String) -> String? {
        if key == "ipAddress" { onAddress() }
        return values[key] as? String
    }
    override func set(_ value: Any?, forKey key: String) { values[key] = value }
    override func removeObject(forKey key: String) { if canRemove { values[key] = nil } }
    override func synchronize() -> Bool { canWrite }
}

/// A thread that a test starts and observes.
private final class ObservedThread: Sendable {
    /// The thread's folder in /proc, once the thread runs.
    private let folder = Mutex<String?>(nil)
    private let end = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            let link = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/thread-self")
            self.folder.withLock { $0 = link }
            body()
            self.end.signal()
        }
    }

    func hasEnded(within time: DispatchTimeInterval) -> Bool {
        end.wait(timeout: .now() + time) == .success
    }

    /// Waits until the thread has slept for a while, as a thread does while it waits for a lock.
    /// - Returns: `false` if the thread ends instead, or keeps running for a minute.
    func comesToWait() -> Bool {
        let limit = ContinuousClock.now + .seconds(60)
        var sleepCount = 0
        while sleepCount < 20, ContinuousClock.now < limit {
            if hasEnded(within: .milliseconds(10)) { return false }
            let path = "/proc/" + (folder.withLock { $0 } ?? "none") + "/stat"
            let line = try? String(contentsOfFile: path, encoding: .utf8)
            // In this line, the thread's state follows its name, which is in parentheses.
            sleepCount = line?.contains(") S ") == true ? sleepCount + 1 : 0
        }
        return sleepCount == 20
    }
}

@Suite(.cleanKeychain) struct `Migration` {
    typealias Failure = LGTVControlManager.ClientKeyMigrationError

    let key = "9ba71d29c353cf0bdcc00c4b0a8cc189"
    let manager = LGTVControlManager()
    var keychain: TestKeychain { .current }

    @Test func `the old key moves from the defaults to the stored credentials`() throws {
        let old = try TemporaryDefaults(["clientKey": key, "ipAddress": "10.0.0.7"])
        try manager.saveCredentials(.unpaired)
        #expect(try manager.migrateClientKey(from: old.defaults) == .migrated)
        #expect(try manager.loadCredentials() == .paired)
        #expect(old.stored("clientKey") == nil)
    }

    @Test func `without credentials the old key is stored with the defaults' addresses`() throws {
        let old = try TemporaryDefaults([
            "clientKey": key, "ipAddress": "10.0.0.14", "macAddress": "34:E6:E6:F9:05:50",
        ])
        #expect(try manager.migrateClientKey(from: old.defaults) == .migrated)
        #expect(try manager.loadCredentials() == .paired)
        #expect(old.stored("clientKey") == nil)
    }

    @Test func `without any address the old key is stored for the first connection`() async throws {
        let old = try TemporaryDefaults(["clientKey": key])
        #expect(try manager.migrateClientKey(from: old.defaults) == .migrated)
        #expect(
            try manager.loadCredentials()
                == TVCredentials(ipAddress: "", macAddress: "", clientKey: key))
        try await LGTVControlManager { try #require($1) }.connect(
            ip: "10.0.0.14", mac: "34:E6:E6:F9:05:50")
        #expect(try manager.loadCredentials() == .paired)
    }

    @Test func `a second migration changes nothing`() throws {
        let old = try TemporaryDefaults(["clientKey": key])
        #expect(try manager.migrateClientKey(from: old.defaults) == .migrated)
        let stored = try manager.loadCredentials()
        #expect(try manager.migrateClientKey(from: old.defaults) == .nothingToMigrate)
        #expect(try manager.loadCredentials() == stored)
        #expect(stored?.clientKey == key)
        let new = try TemporaryDefaults()
        #expect(try manager.migrateClientKey(from: new.defaults) == .nothingToMigrate)
    }

    /// The faults that stop a migration before the save, during the save, and between the save and
    /// the removal. The number is how many operations succeed before the fault.
    static let stops: [(String, TestKeychain.Fault, TestKeychain.Operations?, Int)] = [
        ("locked", .locked, nil, 0),
        ("the keychain can't be searched", .failure(.ioError), .search, 0),
        ("stopped before the commit", .stop(.beforeCommit), nil, 0),
        ("the disk is full", .diskFull, nil, 0),
        ("stopped after the commit", .stop(.afterCommit), nil, 0),
        ("saved and not verified", .failure(.ioError), .search, 1),
    ]

    @Test(arguments: stops.indices, [nil, TVCredentials.unpaired])
    func `an interrupted migration loses nothing, and the next one completes it`(
        _ index: Int, _ stored: TVCredentials?
    ) throws {
        let (_, fault, operations, skipCount) = Self.stops[index]
        if let stored { try manager.saveCredentials(stored) }
        let old = try TemporaryDefaults([
            "clientKey": key, "ipAddress": "10.0.0.14", "macAddress": "34:E6:E6:F9:05:50",
        ])
        keychain.inject(fault, into: operations, after: skipCount)
        #expect(throws: KeychainError.self) { try manager.migrateClientKey(from: old.defaults) }
        #expect(old.stored("clientKey") as? String == key)
        keychain.removeFaults()
        try keychain.restart()
        let wasSaved = try manager.loadCredentials() == .paired
        #expect(try wasSaved || manager.loadCredentials() == stored)
        #expect(
            try manager.migrateClientKey(from: old.defaults)
                == (wasSaved ? .keptStoredKey : .migrated))
        #expect(try manager.loadCredentials() == .paired)
        #expect(old.stored("clientKey") == nil)
    }

    @Test func `the injected faults stop a migration before, during and after the save`() throws {
        var wasSaved: [Bool] = []
        for (_, fault, operations, skipCount) in Self.stops {
            try manager.clearCredentials()
            let old = try TemporaryDefaults(["clientKey": key])
            keychain.inject(fault, into: operations, after: skipCount)
            #expect(throws: KeychainError.self) { try manager.migrateClientKey(from: old.defaults) }
            keychain.removeFaults()
            wasSaved.append(try manager.loadCredentials() != nil)
        }
        #expect(wasSaved == [false, false, false, false, true, true])
    }

    /// Simulates that the program ends after a step.
    @Test(arguments: LGTVControlManager.MigrationStep.allCases)
    func `nothing is lost if the program ends after any step of a migration`(
        _ last: LGTVControlManager.MigrationStep
    ) throws {
        struct Ended: Error {}
        let old = try TemporaryDefaults(["clientKey": key])
        try manager.saveCredentials(.unpaired)
        #expect(throws: Ended.self) {
            try manager.migrateClientKey(from: old.defaults) { if $0 == last { throw Ended() } }
        }
        #expect(try manager.loadCredentials() == .paired)
        #expect(old.stored("clientKey") as? String == (last == .removed ? nil : key))
        #expect(
            try manager.migrateClientKey(from: old.defaults)
                == (last == .removed ? .nothingToMigrate : .keptStoredKey))
        #expect(try manager.loadCredentials() == .paired)
        #expect(old.stored("clientKey") == nil)
    }

    @Test func `a key that the keychain doesn't return stays in the defaults`() throws {
        let old = try TemporaryDefaults(["clientKey": key])
        #expect(throws: Failure.notVerified) {
            try manager.migrateClientKey(from: old.defaults) { _ in
                try manager.saveCredentials(.unpaired)
            }
        }
        #expect(old.stored("clientKey") as? String == key)
    }

    @Test func `a newer key in the keychain is kept, and the old key is removed`() throws {
        let newer = TVCredentials(ipAddress: "10.0.0.7", macAddress: "m", clientKey: "newer")
        try manager.saveCredentials(newer)
        let old = try TemporaryDefaults(["clientKey": key])
        #expect(try manager.migrateClientKey(from: old.defaults) == .keptStoredKey)
        #expect(try manager.loadCredentials() == newer)
        #expect(old.stored("clientKey") == nil)
    }

    @Test func `a key that is saved during a migration is not replaced`() throws {
        let newer = TVCredentials(ipAddress: "10.0.0.7", macAddress: "m", clientKey: "newer")
        let defaults = try #require(DefaultsWithoutFile(suiteName: "tv-remote-test-race"))
        defaults.values["clientKey"] = key
        let (manager, test) = (self.manager, self.keychain)
        var saving: ObservedThread?
        var hasWaited = false
        // The migration asks for the address after it has found no key in the keychain.
        defaults.onAddress = {
            let thread = ObservedThread {
                _ = try? test.withSecItem { try manager.saveCredentials(newer) }
            }
            saving = thread
            hasWaited = thread.comesToWait()
        }
        #expect(try manager.migrateClientKey(from: defaults) == .migrated)
        try #require(hasWaited, "the save didn't wait for the migration")
        #expect(saving?.hasEnded(within: .seconds(60)) == true)
        #expect(try manager.loadCredentials() == newer)
        #expect(defaults.values["clientKey"] == nil)
    }

    @Test func `an old key that isn't text causes an error and is kept`() throws {
        let old = try TemporaryDefaults(["clientKey": Data([1, 2])])
        #expect(throws: Failure.notText) { try manager.migrateClientKey(from: old.defaults) }
        #expect(old.stored("clientKey") as? Data == Data([1, 2]))
        #expect(try manager.loadCredentials() == nil)
    }

    @Test func `an empty old key is removed, and nothing is stored`() throws {
        let old = try TemporaryDefaults(["clientKey": ""])
        #expect(try manager.migrateClientKey(from: old.defaults) == .nothingToMigrate)
        #expect(old.stored("clientKey") == nil)
        #expect(try manager.loadCredentials() == nil)
    }

    @Test func `if the stored credentials can't be read, the migration fails and changes nothing`()
        throws
    {
        try KeychainManager().save(
            "other", service: LGTVControlManager.Constants.keychainService,
            account: LGTVControlManager.Constants.keychainAccount)
        let old = try TemporaryDefaults(["clientKey": key])
        #expect(throws: DecodingError.self) { try manager.migrateClientKey(from: old.defaults) }
        #expect(old.stored("clientKey") as? String == key)
        #expect(
            try KeychainManager().load(
                String.self, service: LGTVControlManager.Constants.keychainService,
                account: LGTVControlManager.Constants.keychainAccount) == "other")
    }

    /// Simulates a value from a domain that the program can't change.
    @Test func `a key that can't be removed from the defaults is reported`() throws {
        let defaults = try #require(DefaultsWithoutFile(suiteName: "tv-remote-test-unremovable"))
        defaults.values["clientKey"] = key
        defaults.canRemove = false
        #expect(throws: Failure.plainKeyRemains) { try manager.migrateClientKey(from: defaults) }
        #expect(try manager.loadCredentials()?.clientKey == key)
    }

    @Test func `a key that is left in the defaults' file is removed by the next migration`()
        throws
    {
        let defaults = try #require(DefaultsWithoutFile(suiteName: "tv-remote-test-unwritable"))
        defaults.values["clientKey"] = key
        defaults.canWrite = false
        #expect(throws: Failure.plainKeyRemains) { try manager.migrateClientKey(from: defaults) }
        #expect(defaults.string(forKey: "clientKey") == key)
        #expect(try manager.loadCredentials()?.clientKey == key)
        defaults.canWrite = true
        #expect(try manager.migrateClientKey(from: defaults) == .keptStoredKey)
        #expect(defaults.object(forKey: "clientKey") == nil)
    }

    @Test func `no error message of a migration shows the key`() {
        for failure in [Failure.notText, .notVerified, .plainKeyRemains] {
            #expect(failure.localizedDescription.contains("client key"))
            #expect(!failure.localizedDescription.contains(key))
        }
    }
}
