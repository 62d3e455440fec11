// LockRaceTests: locking while another thread unlocks.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainModel
import Synchronization
import Testing

@Suite struct `Locking during an unlock` {
    @Test func `a lock that comes while a passcode is derived stands`() throws {
        // Long enough that locks are carried out meanwhile, on any machine.
        let keychain = try TemporaryKeychain(
            options: EngineOptions(
                passcodeCost: PasscodeCost(logN: 14, blockSize: 8, parallelism: 1)))
        let engine = keychain.engine
        try engine.setPasscode(passcode("1234"))
        try engine.lock()

        let outcome = Mutex<Status?>(nil)
        let hasEnded = Atomic(false)
        let group = DispatchGroup()
        let isDeriving = DispatchSemaphore(value: 0)
        DispatchQueue.global().async(group: group) {
            isDeriving.signal()
            let found = status { try engine.unlock(passcode: passcode("1234")) }
            outcome.withLock { $0 = found }
            hasEnded.store(true, ordering: .releasing)
        }
        isDeriving.wait()
        while !hasEnded.load(ordering: .acquiring) { try engine.lock() }
        group.wait()
        #expect(outcome.withLock { $0 } == .notAvailable)
        #expect(engine.lockState != .unlocked)

        try engine.unlock(passcode: passcode("1234"))
        #expect(engine.lockState == .unlocked)
    }

    @Test func `a lock that comes while the passcode is changed stands`() throws {
        let keychain = try TemporaryKeychain(
            options: EngineOptions(
                passcodeCost: PasscodeCost(logN: 14, blockSize: 8, parallelism: 1)))
        let engine = keychain.engine
        try engine.setPasscode(passcode("1234"))

        let outcome = Mutex<Status?>(nil)
        let hasEnded = Atomic(false)
        let group = DispatchGroup()
        let isDeriving = DispatchSemaphore(value: 0)
        DispatchQueue.global().async(group: group) {
            isDeriving.signal()
            let found = status {
                try engine.changePasscode(from: passcode("1234"), to: passcode("5678"))
            }
            outcome.withLock { $0 = found }
            hasEnded.store(true, ordering: .releasing)
        }
        isDeriving.wait()
        var lockCount = 0
        while !hasEnded.load(ordering: .acquiring) {
            try engine.lock()
            lockCount += 1
        }
        group.wait()
        #expect(lockCount > 0)
        #expect(outcome.withLock { $0 } == nil)
        #expect(engine.lockState == .locked)
        try engine.unlock(passcode: passcode("5678"))
    }

    @Test func `locking all goes back to before the first unlock`() throws {
        let keychain = try TemporaryKeychain()
        let engine = keychain.engine
        let classes: [ProtectionClass] = [.always, .afterFirstUnlock, .whenUnlocked]
        for protection in classes {
            _ = try engine.add(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(protection.code),
                    protection: protection, data: Data("x".utf8)), as: keychain.caller)
        }
        let readable = {
            classes.filter { protection in
                let query = ItemQuery(
                    itemClass: .genericPassword, attributes: genericPassword(protection.code))
                let found = try? engine.find(
                    query, Retrieval(includesData: true), as: keychain.caller)
                return found?.first?.data == Data("x".utf8)
            }
        }
        #expect(status { try engine.lockAll() } == .param)
        try engine.setPasscode(passcode("1234"))
        #expect(readable() == classes)
        try engine.lock()
        #expect(readable() == [.always, .afterFirstUnlock])
        try engine.lockAll()
        #expect(readable() == [.always])
        #expect(engine.lockState == .beforeFirstUnlock)
        // A lock that comes later doesn't make it look unlocked once.
        try engine.lock()
        #expect(engine.lockState == .beforeFirstUnlock)
        try engine.unlock(passcode: passcode("1234"))
        #expect(readable() == classes)
    }
}
