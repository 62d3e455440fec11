// A keychain whose verifications are remembered in a temporary folder.
//   (1) The test chooses the boot ID.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import Synchronization
import TestPrograms
import Testing

/// A clock that advances by one second with each reading.
private final class Clock: Sendable {
    private let seconds = Mutex(0.0)

    func tick() -> Double {
        seconds.withLock { seconds in
            seconds += 1
            return seconds
        }
    }
}

final class RememberedKeychain {
    let folder = NSTemporaryDirectory() + "keychain-fresh-" + UUID().uuidString
    private let clock = Clock()
    private(set) var engine: KeychainEngine
    /// The lower half of the boot ID.
    var boot: UInt64 = 1
    var itemLimit: UInt64 = 500
    var remembers = true
    let caller = AccessGroups(["G1"])

    var directory: String { folder + "/keychain" }
    var runtime: String { folder + "/run" }

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        engine = try KeychainEngine.open(
            directory: folder + "/keychain",
            options: Self.options(clock, folder + "/run", boot: boot, itemLimit: itemLimit))
    }

    deinit {
        engine.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    var options: EngineOptions {
        Self.options(clock, remembers ? runtime : nil, boot: boot, itemLimit: itemLimit)
    }

    private static func options(
        _ clock: Clock, _ folder: String?, boot: UInt64, itemLimit: UInt64
    ) -> EngineOptions {
        var options = EngineOptions.testing
        options.freshness = FreshnessOptions(
            folder: folder, boot: Bytes16(high: 0, low: boot), itemLimit: itemLimit)
        options.now = { clock.tick() }
        return options
    }

    func open() throws { engine = try KeychainEngine.open(directory: directory, options: options) }

    func close() { engine.close() }

    func reopen() throws {
        close()
        try open()
    }

    var state: VerificationState { engine.verification }

    func add(_ account: String, label: String? = "label") throws {
        var attributes = genericPassword(account)
        attributes[.label] = label.map { .string($0 + account) }
        _ = try engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: attributes,
                    protection: .afterFirstUnlock, data: Data(account.utf8))), as: caller)
    }

    func find(_ account: String) throws -> Data? {
        try engine.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account)),
                Retrieval(includesData: true)), as: caller
        ).first?.data
    }

    /// Sets the oldest item aside.
    func setAsideFirst() throws {
        let generation = try engine.store.header().keybagGeneration
        _ = try engine.store.write(keybagGeneration: generation) {
            transaction throws(KeychainFailure) in
            if let row = try transaction.rows(of: .afterFirstUnlock).first {
                try transaction.setAside(row, reason: .foundByCheck, at: 1)
            }
        }
    }

    // MARK: Files

    func path(_ file: StoreFolder.File) -> String {
        StoreFolder(path: directory).located.path(of: file)
    }

    func bytes(_ file: StoreFolder.File = .database) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: path(file))))
    }

    /// Overwrites a file in place.
    func write(_ bytes: some Sequence<UInt8>, to path: String, at offset: Int = 0) throws {
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }

    func putBack(_ pages: [RootPage], of before: [UInt8]) throws {
        for page in pages {
            try write(before[page.bytes], to: path(.database), at: page.bytes.lowerBound)
        }
    }

    var notePath: String {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: runtime)
            return runtime + "/" + (try #require(names.first))
        }
    }
}
