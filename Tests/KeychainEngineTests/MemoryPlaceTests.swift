// A keychain in memory: the engine without a folder, and a probe that can make its writes fail.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Synchronization
import Testing

@Suite struct `A keychain in memory` {
    private let caller = AccessGroups(["G1"])

    private func newItem(
        _ account: String, protection: ProtectionClass = .whenUnlocked
    ) -> NewItem {
        NewItem(
            itemClass: .genericPassword, attributes: genericPassword(account),
            protection: protection, data: Data("secret".utf8))
    }

    private func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
    }

    /// The moments at which the writes of `body` call the probe, in order.
    private func moments(_ body: () throws -> Void) rethrows -> [WriteProbe.Moment] {
        let seen = Moments()
        let probe = WriteProbe { moment in
            seen.all.withLock { $0.append(moment) }
            return nil
        }
        try WriteProbe.$current.withValue(probe) { try body() }
        return seen.all.withLock { $0 }
    }

    private final class Moments: Sendable {
        let all = Mutex<[WriteProbe.Moment]>([])
    }

    @Test func `engines on one in-memory keychain share items and passcode, and lock separately`()
        throws
    {
        let place = try MemoryPlace()
        let first = try KeychainEngine.open(place, options: .testing)
        try first.setPasscode(passcode("1234"))
        _ = try first.perform(AddItem(newItem("a")), as: caller)
        let second = try KeychainEngine.open(place, options: .testing)
        #expect(second.lockState == .beforeFirstUnlock)
        #expect(
            status { _ = try second.perform(FindItems(query("a"), Retrieval()), as: caller) }
                == .interactionNotAllowed)
        try second.unlock(passcode: passcode("1234"))
        first.close()
        #expect(try second.perform(FindItems(query("a"), Retrieval()), as: caller).count == 1)
        try first.lock()
        #expect(second.lockState == .unlocked)
        #expect(try second.check().isSound)
    }

    @Test func `two in-memory keychains share nothing`() throws {
        let first = try KeychainEngine.open(try MemoryPlace(), options: .testing)
        let second = try KeychainEngine.open(try MemoryPlace(), options: .testing)
        _ = try first.perform(AddItem(newItem("a")), as: caller)
        #expect(
            status { _ = try second.perform(FindItems(query("a"), Retrieval()), as: caller) }
                == .itemNotFound)
        #expect(first.store.keychainID != second.store.keychainID)
    }

    @Test func `a test's probe is called at each step of a write to a keychain in memory`() throws {
        let engine = try KeychainEngine.open(try MemoryPlace(), options: .testing)
        let addition = try moments { _ = try engine.perform(AddItem(newItem("a")), as: caller) }
        // The steps between `began` and `changed` write the row, its terms and the header.
        #expect(addition.first == .began)
        #expect(addition.suffix(2) == [.changed, .committed])
        #expect(addition.dropFirst().dropLast(2).count >= 2)
        #expect(addition.dropFirst().dropLast(2).allSatisfy { $0 == .tookStep })
        // A request that changes nothing has no commit.
        let duplicate = moments {
            #expect(
                status { _ = try engine.perform(AddItem(newItem("a")), as: caller) }
                    == .duplicateItem)
        }
        #expect(duplicate == [.began])
        let search = try moments {
            _ = try engine.perform(FindItems(query("a"), Retrieval()), as: caller)
        }
        #expect(search.isEmpty)
    }

    @Test func `a write that fails at any step has no effect`() throws {
        let engine = try KeychainEngine.open(try MemoryPlace(), options: .testing)
        _ = try engine.perform(AddItem(newItem("kept")), as: caller)
        let generation = try engine.store.header().generation
        let stop = KeychainFailure(.ioError, "Stopped.")
        var step = 0
        var isDone = false
        // An addition has fewer than 100 moments before its commit. The limit ends the loop if no
        // attempt ever succeeds.
        while !isDone, step < 100 {
            let left = Moments()
            let probe = WriteProbe { [step] moment in
                left.all.withLock { seen in
                    guard moment != .committed else { return nil }
                    seen.append(moment)
                    return seen.count == step + 1 ? stop : nil
                }
            }
            isDone = WriteProbe.$current.withValue(probe) {
                status { _ = try engine.perform(AddItem(newItem("new")), as: caller) } == nil
            }
            if !isDone {
                try #require(try engine.store.header().generation == generation)
                #expect(try engine.check().isSound)
                #expect(try engine.check().itemCount == 1)
                step += 1
            }
        }
        try #require(isDone)
        // Attempts were aborted at four or more moments: at the beginning, after the row, after the
        // header and before the commit.
        #expect(step >= 4)
        #expect(try engine.check().itemCount == 2)
    }

    @Test func `a write to a keychain in a folder never calls a test's probe`() throws {
        let temporary = try TemporaryKeychain()
        let seen = try moments {
            _ = try temporary.engine.perform(AddItem(newItem("a")), as: temporary.caller)
            try temporary.engine.perform(
                DeleteItems(query("a"), tombstones: .automatic), as: temporary.caller)
        }
        #expect(seen.isEmpty)
    }
}
