// RotationTests: key rotations that are interrupted or run while other processes write, and what an
// attacker with an earlier copy of the keychain can't open after a rotation.

import FaultSweeps
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import Synchronization
import TestPrograms
import Testing

@Suite(.serialized) struct RotationTests {
    private func passcode(_ text: String) -> SecretBytes {
        SecretBytes(copying: Array(text.utf8))
    }

    @Test func `eight processes write during key rotations and lose nothing`() throws {
        let folder = try TemporaryFolder()
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        defer { engine.close() }
        try engine.save("first", Data("first".utf8))
        let children = try (0..<8).map { try faultWriter("crowd", folder.path, "\($0)") }
        // Meanwhile, a second engine reads through separate connections to the database.
        let reader = try KeychainEngine.open(directory: folder.path, options: .testing)
        defer { reader.close() }
        let isDone = Atomic(false)
        let rotating = Mutex<(count: Int, failures: [String])>((0, []))
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while !isDone.load(ordering: .acquiring) {
                do {
                    try engine.rotate()
                    if try reader.load("first") != Data("first".utf8) {
                        throw KeychainFailure.itemNotFound
                    }
                    rotating.withLock { $0.count += 1 }
                } catch {
                    rotating.withLock { $0.failures.append("\(error)") }
                }
                usleep(20_000)
            }
            ended.signal()
        }
        let accounts = children.flatMap { $0.lines() }
        isDone.store(true, ordering: .releasing)
        ended.wait()
        let rotations = rotating.withLock { $0.count }
        #expect(rotating.withLock { $0.failures } == [])
        for child in children { #expect(child.endedWell) }
        #expect(accounts.count == 8 * 40)
        for account in accounts {
            #expect(try engine.load(account) == Data(account.utf8))
        }
        let report = try engine.check()
        #expect(report.isSound)
        #expect(report.itemCount == 8 * 40 + 2)
        #expect(rotations > 1)
        print("8 processes, \(rotations) rotations: \(accounts.count) acknowledged writes, 0 lost")
    }

    @Test func `the keys in a copy from before a rotation open nothing written afterwards`() throws
    {
        let folder = try TemporaryFolder()
        let old = passcode("old passcode of twelve")
        do {
            let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
            defer { engine.close() }
            try engine.save("before", Data("before".utf8))
            try engine.setPasscode(old)
        }
        let copy = FolderImage(of: folder.path)
        do {
            let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
            defer { engine.close() }
            try engine.rotate(provedBy: .passcode(old))
            try engine.save("after", Data("after".utf8))
            try engine.changePasscode(from: old, to: passcode("new passcode of twelve"))
        }
        let later = FolderImage(of: folder.path)
        let databases = later.entries.filter { $0.key.hasPrefix("keychain-") }
        #expect(databases.keys.contains("keychain-2.db"))

        // Combine the new database with the old device key, and with the old or the new keybag.
        for keybag in [copy, later] {
            var mixed = FolderImage(entries: databases)
            mixed.entries["device.key"] = copy.entries["device.key"]
            mixed.entries["keybag"] = keybag.entries["keybag"]
            let place = try TemporaryFolder()
            try mixed.layOut(at: place.path)
            #expect(
                failure {
                    try KeychainEngine.open(directory: place.path, options: .testing).close()
                } != nil)
            // A recovery doesn't bring anything back either.
            let report = try? KeychainEngine.recover(
                directory: place.path, passcode: old, options: .testing)
            #expect(report?.itemCount ?? 0 == 0)
        }
        // The new keybag contains none of the old keys.
        let keys = try [copy, later].map { image in
            let file = SecretBytes(copying: Array(try #require(image.content(of: "device.key"))))
            return try KeyHierarchy(
                Keybag.parse(Array(try #require(image.content(of: "keybag")))),
                deviceKey: DeviceKeyFile.decode(file).key)
        }
        let tiers = [
            try keys[0].unlock(.passcode(old)).keys,
            try keys[1].unlock(.passcode(passcode("new passcode of twelve"))).keys,
        ]
        #expect(!tiers[0].indexKey.isEqual(to: tiers[1].indexKey))
        #expect(!tiers[0].integrityKey.isEqual(to: tiers[1].integrityKey))
        for (protection, earlier) in tiers[0].classes {
            let present = try #require(tiers[1].classes[protection])
            #expect(!earlier.classKey.isEqual(to: present.classKey))
            #expect(!earlier.metadataKey.isEqual(to: present.metadataKey))
            #expect(present.retiredClassKeys.isEmpty)
        }
    }

    @Test func `keys from before a passcode was set don't open the keychain afterwards`() throws {
        let folder = try TemporaryFolder()
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        defer { engine.close() }
        try engine.save("before", Data("before".utf8))
        try engine.store.emptyLog()
        let copy = FolderImage(of: folder.path)
        try engine.setPasscode(passcode("a passcode of twelve"))
        #expect(try engine.load("before") == Data("before".utf8))
        try engine.store.emptyLog()
        var mixed = FolderImage(of: folder.path)
        for name in ["device.key", "keybag"] { mixed.entries[name] = copy.entries[name] }
        let place = try TemporaryFolder()
        try mixed.layOut(at: place.path)
        #expect(
            failure {
                try KeychainEngine.open(directory: place.path, options: .testing).close()
            } != nil)
    }

    @Test func `a process killed at any system call of a rotation loses nothing`() async throws {
        let report = try await onThread { scratch in
            var random = SeededGenerator(seed: 1)
            let rotating = try #require(Scenario.single.first { $0.name == "rotate" })
            return try CallSweep(scratch: scratch, calls: Strace.changingCalls)
                .sweep(rotating, [.kill], &random)
        }
        #expect(report["ended by signal=KILL"] > 40)
        #expect(report.violations.isEmpty, "\(report.violations.prefix(8))")
    }

    @Test func `a power failure during a rotation loses nothing`() async throws {
        let report = try await onThread { scratch in
            var random = SeededGenerator(seed: 1)
            var sweep = try PowerCutSweep(scratch: scratch, samples: 2)
            let rotating = try #require(Scenario.single.first { $0.name == "rotate and save" })
            try sweep.sweep(rotating, count: 60, &random)
            return sweep.report
        }
        #expect(report["cuts"] > 60)
        #expect(report.violations.isEmpty, "\(report.violations.prefix(8))")
    }

    @Test func `a rotation whose fsync fails loses nothing, even if the data reached the disk`()
        async throws
    {
        let report = try await onThread { scratch in
            var random = SeededGenerator(seed: 1)
            var sweep = try PowerCutSweep(scratch: scratch, samples: 1)
            let rotating = try #require(Scenario.single.first { $0.name == "rotate and save" })
            try sweep.sweepFailedSynchronizations(rotating, failures: nil, count: 6, &random)
            return sweep.report
        }
        #expect(report["failed fsyncs"] > 6)
        #expect(report.violations.isEmpty, "\(report.violations.prefix(8))")
    }

    /// The files of a keychain with one item, at each stage of a rotation. At the last stage, the
    /// old database is marked as superseded, and the anchor records this.
    private func states() throws -> [FolderImage] {
        let folder = try TemporaryFolder()
        let states = Mutex<[FolderImage]>([])
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        defer { engine.close() }
        try engine.save("before", Data("before".utf8))
        let path = folder.path
        try FileProbe.$current.withValue({
            let code = errno
            let image = FolderImage(of: path)
            states.withLock { $0.append(image) }
            errno = code
        }) { try engine.rotate() }
        var images = states.withLock { $0 }
        // The mark, and its record in the anchor, are written after the new files were created and
        // before the first of them is renamed.
        var marked = try #require(
            images.first { $0.entries["keychain-1.db"] != nil && $0.entries["keychain.db"] != nil })
        marked.entries["rotation-1/keychain.db"] = marked.entries.removeValue(
            forKey: "keychain-1.db")
        images.append(marked)
        return images
    }

    @Test func `a superseded database whose successor is missing is recovered from its own rows`()
        throws
    {
        var marked = try #require(try states().last)
        marked.entries = marked.entries.filter { !$0.key.hasPrefix("rotation-1") }
        let place = try TemporaryFolder()
        try marked.layOut(at: place.path)
        let refusal = failure {
            try KeychainEngine.open(directory: place.path, options: .testing).close()
        }
        #expect(refusal?.cause == .damage)
        let report = try KeychainEngine.recover(directory: place.path, options: .testing)
        #expect(report.itemCount == 1)
        let engine = try KeychainEngine.open(directory: place.path, options: .testing)
        defer { engine.close() }
        #expect(try engine.load("before") == Data("before".utf8))
    }

    @Test
    func `a rotation recorded in the anchor is completed even if the write-ahead log is damaged`()
        throws
    {
        var marked = try #require(try states().last)
        var log = try #require(marked.content(of: "keychain.db-wal"))
        log[log.count - 100] ^= 1
        marked.entries["keychain.db-wal"] = .file(log)
        for recovers in [false, true] {
            let place = try TemporaryFolder()
            try marked.layOut(at: place.path)
            if recovers {
                #expect(
                    try KeychainEngine.recover(directory: place.path, options: .testing).isComplete)
            }
            let engine = try KeychainEngine.open(directory: place.path, options: .testing)
            defer { engine.close() }
            #expect(try engine.load("before") == Data("before".utf8))
            #expect(FolderImage(of: place.path).entries["keychain-1.db"] != nil)
        }
    }

    @Test func `a page with a wrong tag can't mark a database as superseded`() throws {
        let folder = try TemporaryFolder()
        let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
        try engine.save("before", Data("before".utf8))
        let header = try engine.store.header()
        _ = try engine.store.write(
            keybagGeneration: header.keybagGeneration, isAlone: true
        ) { transaction throws(KeychainFailure) in
            try transaction.supersede(by: "keychain-1.db")
        }
        engine.close()
        var image = FolderImage(of: folder.path)
        var database = try #require(image.content(of: "keychain.db"))
        let mark = try #require(database.firstRange(of: Data("supersededkeychain-1.db".utf8)))
        database[mark.lowerBound / 4096 * 4096 + 4064] ^= 1
        image.entries["keychain.db"] = .file(database)
        image.entries["rotation-1"] = .folder
        image.entries["rotation-1/keychain.db"] = .file(Data("planted".utf8))
        image.entries["rotation-1/device.key"] = .file(Data("planted".utf8))
        let place = try TemporaryFolder()
        try image.layOut(at: place.path)
        let refusal = failure {
            try KeychainEngine.open(directory: place.path, options: .testing).close()
        }
        #expect(refusal?.cause == .damage)
        #expect(FolderImage(of: place.path).content(of: "keychain.db") == database)
        #expect(
            try KeychainEngine.recover(directory: place.path, options: .testing).itemCount == 1)
    }

    @Test func `a process that completes an interrupted rotation also writes the freshness note`()
        throws
    {
        let images = try states()
        let marked = try #require(images.last)
        let before = try #require(images.first)
        let place = try TemporaryFolder()
        let notes = try TemporaryFolder()
        var options = EngineOptions.testing
        options.freshness = FreshnessOptions(
            folder: notes.path + "/keychain", boot: Bytes16(high: 0, low: 1))
        var killed = marked
        killed.entries["anchor"] = before.entries["anchor"]
        try killed.layOut(at: place.path)
        try KeychainEngine.open(directory: place.path, options: options).close()
        var earlier = marked
        earlier.entries = earlier.entries.filter { !$0.key.hasPrefix("rotation") }
        for name in ["keychain.db", "keychain.db-wal", "keychain.db-shm", "anchor"] {
            earlier.entries[name] = before.entries[name]
        }
        try earlier.layOut(at: place.path)
        let refusal = failure {
            try KeychainEngine.open(directory: place.path, options: options).close()
        }
        #expect(
            refusal?.reason.contains("a copy from before the last rotation") == true,
            "\(refusal as Any)")
    }

    @Test func `a keychain in a read-only folder is read unless it is marked as superseded`()
        throws
    {
        let images = try states()
        var isRead = 0
        var isRefused = 0
        for image in images {
            let place = try TemporaryFolder()
            try image.layOut(at: place.path)
            let child = try mountingScript(
                """
                mount --bind "$place" "$place"
                mount -o remount,bind,ro "$place"
                "$writer" count "$place"
                """, ["place": place.path])
            let line = child.lines().first ?? ""
            if child.endedWell, line.hasSuffix("1") {
                isRead += 1
            } else {
                #expect(line.contains("interrupted"), "\(line)")
                isRefused += 1
            }
            // In a writable folder, the keychain can be opened.
            let engine = try KeychainEngine.open(directory: place.path, options: .testing)
            #expect(try engine.load("before") == Data("before".utf8))
            engine.close()
            #expect(
                FolderImage(of: place.path).entries.keys.allSatisfy {
                    !$0.hasPrefix("rotation") && !$0.contains(".new-")
                })
        }
        // Two states are refused: the state with only the mark, and the state in which the anchor
        // also records the mark.
        #expect(images.count > 10 && isRead == images.count - 2 && isRefused == 2)
    }
}
