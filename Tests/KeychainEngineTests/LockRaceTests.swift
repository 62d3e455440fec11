// LockRaceTests: locking while another thread unlocks.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import Synchronization
import Testing

@Suite struct `Locking during an unlock` {
    /// With this cost, a key derivation takes long enough on any machine for locks to happen
    /// meanwhile.
    private let options = EngineOptions(
        passcodeCost: PasscodeCost(logN: 14, blockSize: 8, parallelism: 1))

    /// Locks the keychain again and again while `change` runs.
    /// - Returns: The error status of `change`, or `nil`.
    private func locking(
        _ engine: KeychainEngine, during change: @escaping @Sendable () throws -> Void
    ) throws -> Status? {
        let outcome = Mutex<Status?>(nil)
        let hasEnded = Atomic(false)
        let group = DispatchGroup()
        let hasBegun = DispatchSemaphore(value: 0)
        DispatchQueue.global().async(group: group) {
            hasBegun.signal()
            let found = status(change)
            outcome.withLock { $0 = found }
            hasEnded.store(true, ordering: .releasing)
        }
        hasBegun.wait()
        var lockCount = 0
        while !hasEnded.load(ordering: .acquiring) {
            try engine.lock()
            lockCount += 1
        }
        group.wait()
        #expect(lockCount > 0)
        return outcome.withLock { $0 }
    }

    @Test func `a lock during the key derivation of an unlock takes precedence`() throws {
        let keychain = try TemporaryKeychain(options: options)
        let engine = keychain.engine
        try engine.setPasscode(passcode("1234"))
        try engine.lock()
        let outcome = try locking(engine) { try engine.unlock(passcode: passcode("1234")) }
        #expect(outcome == .notAvailable)
        #expect(engine.lockState != .unlocked)

        try engine.unlock(passcode: passcode("1234"))
        #expect(engine.lockState == .unlocked)
    }

    @Test func `a lock during a passcode change takes precedence`() throws {
        let keychain = try TemporaryKeychain(options: options)
        let engine = keychain.engine
        try engine.setPasscode(passcode("1234"))
        let outcome = try locking(engine) {
            try engine.changePasscode(from: passcode("1234"), to: passcode("5678"))
        }
        #expect(outcome == nil)
        #expect(engine.lockState == .locked)
        try engine.unlock(passcode: passcode("5678"))
    }

    @Test func `lockAll returns the keychain to the state before the first unlock`() throws {
        let keychain = try TemporaryKeychain()
        let engine = keychain.engine
        let classes: [ProtectionClass] = [.always, .afterFirstUnlock, .whenUnlocked]
        for protection in classes {
            _ = try engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: genericPassword(protection.code),
                        protection: protection, data: Data("x".utf8))), as: keychain.caller)
        }
        let readable = {
            classes.filter { protection in
                let query = ItemQuery(
                    itemClass: .genericPassword, attributes: genericPassword(protection.code))
                let found = try? engine.perform(
                    FindItems(query, Retrieval(includesData: true)), as: keychain.caller)
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
        // A later lock doesn't make the keychain look as if it had been unlocked once.
        try engine.lock()
        #expect(engine.lockState == .beforeFirstUnlock)
        try engine.unlock(passcode: passcode("1234"))
        #expect(readable() == classes)
    }
}
