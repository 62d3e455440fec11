// Key rotation: what is kept, what ends, and what other processes notice.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import KeychainTesting
import Synchronization
import Testing

@Suite struct RotationTests {
    private func add(_ account: String, to engine: KeychainEngine, _ protection: ProtectionClass)
        throws
    {
        _ = try engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: protection, data: Data(account.utf8))), as: AccessGroups(["G1"]))
    }

    private func load(_ account: String, from engine: KeychainEngine) throws -> ItemSnapshot {
        try #require(
            try engine.perform(
                FindItems(
                    ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account)),
                    Retrieval(includesData: true)), as: AccessGroups(["G1"])
            ).first)
    }

    private func names(_ keychain: TemporaryKeychain) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: keychain.directory))
    }

    @Test func `a rotation keeps every item unchanged under a new device key`() throws {
        let keychain = try TemporaryKeychain()
        let protections = ProtectionClass.allCases.filter { $0 != .whenPasscodeSetThisDeviceOnly }
        for protection in protections {
            try add("\(protection)", to: keychain.engine, protection)
        }
        let before = try protections.map { try load("\($0)", from: keychain.engine) }
        let generation = try keychain.engine.store.header().generation
        let (old, _) = try keychain.keys()
        let key = try Data(contentsOf: URL(filePath: keychain.path(.deviceKey)))

        var progress: [RequestProgress] = []
        #expect(
            try keychain.engine.rotate { state in
                progress.append(state)
                return true
            } == [])
        #expect(progress.last == RequestProgress(done: protections.count, total: protections.count))
        #expect(try protections.map { try load("\($0)", from: keychain.engine) } == before)
        #expect(try keychain.engine.store.header().generation == generation + 1)
        #expect(try keychain.engine.check().isSound)
        let (new, _) = try keychain.keys()
        #expect(new.keybag.generation == old.keybag.generation + 1)
        #expect(new.keybag.keychainID == old.keybag.keychainID)
        #expect(try Data(contentsOf: URL(filePath: keychain.path(.deviceKey))) != key)
        try keychain.reopen()
        #expect(
            try names(keychain).subtracting(["keychain-1.db-wal", "keychain-1.db-shm"])
                == ["keychain-1.db", "device.key", "keybag", "anchor", "lock", "in-use"])
        #expect(try protections.map { try load("\($0)", from: keychain.engine) } == before)
    }

    @Test func `a rotation authorized by one credential also keeps the service's own credential`()
        throws
    {
        let (own, given) = ("0123456789abcdef", "fedcba9876543210")
        var options = EngineOptions.testing
        options.credential = { passcode(own) }
        let keychain = try TemporaryKeychain(options: options)
        for change in [
            ChangeSlots(.add(.credential(passcode(own)))),
            ChangeSlots(.add(.credential(passcode(given))), provedBy: .credential(passcode(own))),
        ] {
            _ = try keychain.engine.perform(change, as: keychain.caller)
        }
        #expect(try keychain.engine.rotate(provedBy: .credential(passcode(given))) == [])
        try keychain.reopen()
        #expect(keychain.engine.lockState == .unlocked)
    }

    @Test func `setting a passcode rotates the keys, and changing or removing it doesn't`() throws {
        let keychain = try TemporaryKeychain()
        try add("a", to: keychain.engine, .whenUnlocked)
        func key() throws -> Data {
            try Data(contentsOf: URL(filePath: keychain.path(.deviceKey)))
        }
        let first = try key()
        try keychain.engine.setPasscode(passcode("1"))
        let second = try key()
        #expect(first != second)
        try keychain.engine.changePasscode(from: passcode("1"), to: passcode("2"))
        try keychain.engine.removePasscode(passcode("2"))
        #expect(try key() == second)
        #expect(try load("a", from: keychain.engine).data == Data("a".utf8))
    }

    @Test func `a rotation requires the passcode and keeps it`() throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1"))
        try add("a", to: keychain.engine, .whenPasscodeSetThisDeviceOnly)
        let before = try names(keychain)
        #expect(status { try keychain.engine.rotate() } == .authFailed)
        #expect(
            status { try keychain.engine.rotate(provedBy: .passcode(passcode("2"))) } == .authFailed
        )
        #expect(try names(keychain) == before)
        try keychain.engine.rotate(provedBy: .passcode(passcode("1")))
        #expect(try load("a", from: keychain.engine).data == Data("a".utf8))
        try keychain.reopen()
        #expect(status { _ = try load("a", from: keychain.engine) } == .interactionNotAllowed)
        try keychain.engine.unlock(passcode: passcode("1"))
        #expect(try load("a", from: keychain.engine).data == Data("a".utf8))
    }

    @Test func `a rotation removes and lists the key slots whose secret wasn't given`() throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1"))
        let code = SecretBytes.random(byteCount: 16)
        try keychain.engine.add(.recoveryCode(code), provedBy: .passcode(passcode("1")))
        let ended = try keychain.engine.rotate(provedBy: .passcode(passcode("1")))
        #expect(ended.map(\.kind) == [.recoveryCode])
        try keychain.reopen()
        #expect(
            status { _ = try keychain.engine.perform(UnlockWith(.recoveryCode(code))) } == .param)
        try keychain.engine.unlock(passcode: passcode("1"))
    }

    @Test func `setting a passcode locks the keychain for other processes, and the error says why`()
        throws
    {
        let keychain = try TemporaryKeychain()
        let other = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        defer { other.close() }
        try add("a", to: other, .whenUnlocked)
        try keychain.engine.setPasscode(passcode("1"))
        do {
            _ = try load("a", from: other)
            Issue.record("The other process isn't locked.")
        } catch let error as KeychainFailure {
            #expect(error.status == .interactionNotAllowed)
            #expect(error.reason.contains("Another process rotated the keychain's keys"))
        }
        #expect(status { try add("b", to: other, .whenUnlocked) } == .interactionNotAllowed)
        try other.unlock(passcode: passcode("1"))
        try add("b", to: other, .whenUnlocked)
        #expect(try load("b", from: keychain.engine).data == Data("b".utf8))
        #expect(try load("a", from: other).data == Data("a".utf8))
    }

    @Test func `a process with the keychain open continues after a rotation`() throws {
        let keychain = try TemporaryKeychain()
        let other = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        defer { other.close() }
        try add("a", to: other, .always)
        let callCount = Atomic(0)
        let subscription = try other.subscribe { callCount.add(1, ordering: .relaxed) }
        for _ in 0..<3 { try keychain.engine.rotate() }
        try add("b", to: other, .whenUnlocked)
        #expect(callCount.load(ordering: .relaxed) > 0)
        try keychain.engine.rotate()
        #expect(try load("a", from: other).data == Data("a".utf8))
        try add("c", to: keychain.engine, .whenUnlocked)
        #expect(try other.status().itemCount == 3)
        #expect(try other.check().isSound)
        subscription.end()
    }

    @Test func `a lock during a rotation takes effect`() throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1"))
        try add("a", to: keychain.engine, .whenUnlocked)
        try keychain.engine.rotate(provedBy: .passcode(passcode("1"))) { _ in
            // This simulates a lock by another thread.
            try? keychain.engine.lockAll()
            return true
        }
        #expect(keychain.engine.lockState == .beforeFirstUnlock)
        #expect(status { _ = try load("a", from: keychain.engine) } == .interactionNotAllowed)
    }

    @Test func `a rotation that is canceled changes nothing`() throws {
        let keychain = try TemporaryKeychain()
        try add("a", to: keychain.engine, .whenUnlocked)
        let before = try names(keychain)
        #expect(status { try keychain.engine.rotate { _ in false } } == .userCanceled)
        #expect(try names(keychain) == before)
        #expect(try load("a", from: keychain.engine).data == Data("a".utf8))
        try add("b", to: keychain.engine, .whenUnlocked)
        #expect(try keychain.engine.check().isSound)
    }

    @Test func `a keychain in memory can't be rotated`() throws {
        let engine = try KeychainEngine.open(try MemoryPlace(), options: .testing)
        defer { engine.close() }
        #expect(status { try engine.rotate() } == .param)
        try engine.setPasscode(passcode("1"))
        #expect(engine.hasPasscode)
    }

    @Test func `a key of the Secure Enclave held by a program still signs after rotations`() throws
    {
        var options = EngineOptions.testing
        options.hardware = SimulatedSecureEnclave()
        let keychain = try TemporaryKeychain(options: options)
        var blobs: [Data] = []
        for number in 0..<3 {
            blobs.append(
                try keychain.engine.perform(
                    MakeSecureEnclaveKey(
                        NewSecureEnclaveKey(
                            protection: .whenUnlocked, constraints: .privateKeyUsage,
                            authorization: Authorization())), as: keychain.caller
                ).blob)
            if number == 1 {
                try keychain.engine.setPasscode(passcode("1"))
            } else {
                try keychain.engine.rotate(
                    provedBy: keychain.engine.hasPasscode ? .passcode(passcode("1")) : nil)
            }
        }
        func sign(_ blob: Data) throws {
            _ = try keychain.engine.perform(
                SignDigest(
                    Data(repeating: 1, count: 32), with: blob, authorization: Authorization()),
                as: keychain.caller)
        }
        for blob in blobs { try sign(blob) }
        try keychain.engine.lock()
        for blob in blobs { #expect(status { try sign(blob) } == .interactionNotAllowed) }
    }

    @Test func `keys can be rotated until too many earlier keys are still in use`()
        throws
    {
        var options = EngineOptions.testing
        options.hardware = SimulatedSecureEnclave()
        let keychain = try TemporaryKeychain(options: options)
        try add("a", to: keychain.engine, .whenUnlocked)
        for _ in 0..<60 { try keychain.engine.rotate() }
        #expect(try keychain.keys().hierarchy.keybag.keys.count == 16)
        // From here on, each rotation has to keep one more key.
        var refusal: KeychainFailure?
        var count = 0
        while refusal == nil, count < 300 {
            do {
                _ = try keychain.engine.perform(
                    MakeSecureEnclaveKey(
                        NewSecureEnclaveKey(
                            protection: .whenUnlocked, constraints: .privateKeyUsage,
                            authorization: Authorization())), as: keychain.caller)
                try keychain.engine.rotate()
                count += 1
            } catch { refusal = error }
        }
        #expect(count > 150)
        #expect(refusal?.status == .param)
        #expect(try load("a", from: keychain.engine).data == Data("a".utf8))
        #expect(try keychain.engine.check().isSound)
    }

    @Test func `a recovery of a rotated keychain keeps the number in the database's file name`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try add("a", to: keychain.engine, .whenUnlocked)
        try keychain.engine.rotate()
        keychain.engine.close()
        let report = try KeychainEngine.recover(directory: keychain.directory, options: .testing)
        #expect(report.isComplete && report.itemCount == 1)
        #expect(try names(keychain).contains("keychain-1.db"))
        try keychain.reopen()
        #expect(try load("a", from: keychain.engine).data == Data("a".utf8))
    }

    @Test
    func `after a rotation, an older copy put over the files is refused, and no file is changed`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try add("a", to: keychain.engine, .whenUnlocked)
        keychain.engine.close()
        let files = FileManager.default
        func contents() throws -> [String: Data] {
            var all: [String: Data] = [:]
            for name in ["keychain.db", "keychain-1.db", "device.key", "keybag"] {
                all[name] = files.contents(atPath: keychain.directory + "/" + name)
            }
            return all
        }
        let backup = try contents()
        try keychain.reopen()
        try keychain.engine.rotate()
        try add("b", to: keychain.engine, .whenUnlocked)
        keychain.engine.close()
        for (name, content) in backup {
            try? files.removeItem(atPath: keychain.directory + "/" + name)
            #expect(
                files.createFile(
                    atPath: keychain.directory + "/" + name, contents: content,
                    attributes: [.posixPermissions: 0o600]))
        }
        let before = try contents()
        #expect(before.count == 4)
        #expect(status { try keychain.reopen() } == .notAvailable)
        #expect(
            status {
                _ = try KeychainEngine.recover(directory: keychain.directory, options: .testing)
            } == .notAvailable)
        #expect(try contents() == before)
        // Without the later database and the later anchor, the older copy opens.
        try files.removeItem(atPath: keychain.directory + "/keychain-1.db")
        try files.removeItem(atPath: keychain.directory + "/anchor")
        try keychain.reopen()
        #expect(try load("a", from: keychain.engine).data == Data("a".utf8))
    }

    @Test
    func `a request that notices a rotation late doesn't end a grant issued after the rotation`()
        throws
    {
        let keychain = try TemporaryKeychain()
        let engine = keychain.engine
        _ = try engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword("a"),
                    protection: .whenUnlocked, isSynchronizable: true, data: Data("a".utf8))),
            as: AccessGroups(["G1"]))
        let other = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        let before = engine.grantForRecognition()
        let grant = Mutex<AuthenticationGrant?>(nil)
        try engine.forEachSynchronizable { _ throws(KeychainFailure) in
            guard grant.withLock({ $0 == nil }) else { return }
            // Another request, on another thread, notices the rotation first.
            let done = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                _ = try? other.rotate()
                _ = try? engine.check()
                grant.withLock { $0 = engine.grantForRecognition() }
                done.signal()
            }
            done.wait()
            throw .superseded
        }
        let issued = try #require(grant.withLock { $0 })
        #expect(issued != before)
        #expect(engine.grantForRecognition() == issued)
    }

    @Test func `rows that are set aside are kept by a rotation and can be restored`() throws {
        let keychain = try TemporaryKeychain()
        try add("a", to: keychain.engine, .whenUnlocked)
        let row = try #require(
            try keychain.rows(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a"))
            ).first)
        _ = try keychain.engine.store.write(
            keybagGeneration: try keychain.engine.store.header().keybagGeneration
        ) { transaction throws(KeychainFailure) in
            try transaction.setAside(row, reason: .foundByCheck, at: 1)
        }
        try keychain.engine.rotate()
        #expect(try keychain.engine.status().setAsideCount == 1)
        #expect(try keychain.engine.restoreSetAside().map(\.isRestored) == [true])
        #expect(try load("a", from: keychain.engine).data == Data("a".utf8))
    }
}
