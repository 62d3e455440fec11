// RestoredItemTests: items of a circle that are restored from a backup, with earlier dates.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Items that are restored while changes wait` {
    /// The items are too large for one entry, so that some of them are not in the entry that waits
    /// for the server.
    @Test func `restored versions of waiting items, which have earlier dates, reach all machines`()
        async throws
    {
        let server = MemoryStore()
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two)
        let accounts = ["a", "b", "c", "d", "e"]
        let (old, new) = (
            String(repeating: "1", count: 300_000), String(repeating: "2", count: 300_000)
        )
        for account in accounts { try one.set(account, old) }
        try await converge(one, two)
        let path = NSTemporaryDirectory() + "backup-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data().write(to: URL(filePath: path))
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        let identity = AgeIdentity.x25519(.random(byteCount: 32))
        _ = try one.engine.backUp(
            to: AgeWriter([try #require(identity.recipient)], to: file.fileDescriptor))
        server.setReadOnly(true)
        for account in accounts { try one.set(account, new) }
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        for account in accounts { try one.delete(account, tombstones: .never) }
        let source = BackupSource(descriptor: file.fileDescriptor, identities: [identity])
        _ = try one.engine.restore(source, .merge)
        server.setReadOnly(false)
        try await converge(one, two)
        #expect(try await one.status().waitingCount == 0)
        for device in [one, two] {
            #expect(
                try device.values() == Dictionary(uniqueKeysWithValues: accounts.map { ($0, old) }))
        }
    }

    /// The entry that waits has a later version, which the user has given up.
    @Test func `a restored item counts although an entry with a later version waits`() async throws
    {
        let (server, devices, source) = try await circleWithBackup()
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.signRemoval(of: three)
        try two.set("a", "new")
        try await two.settle()
        // The removal, which makes that entry void, is stored now.
        try await one.settle()
        server.setReadOnly(true)
        _ = try? await two.settle()
        try two.delete("a", tombstones: .never)
        _ = try two.engine.restore(source, .merge)
        _ = try? await two.settle()
        server.setReadOnly(false)
        try await converge(one, two)
        try two.beginAgain()
        try await converge(one, two)
        for device in [one, two] { #expect(try device.values() == ["a": "old"]) }
    }

    /// If no change waited, the session would begin again after 5 minutes, and read the version
    /// that it doesn't have any more.
    @Test func `a restored item counts although the session lacks a version`() async throws {
        let (server, devices, source) = try await circleWithBackup()
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try two.set("a", "new")
        try await two.settle()
        for value in ["1", "2"] {
            try two.set("c", value)
            try await two.settle()
        }
        try await converge(one, two, three)
        try await one.signRemoval(of: three)
        server.setReadOnly(true)
        try two.set("b", "1")
        _ = try? await two.settle()
        server.setReadOnly(false)
        try await one.settle()
        try two.delete("a", tombstones: .never)
        _ = try two.engine.restore(source, .merge)
        two.clock.now += 400
        try await converge(one, two)
        for device in [one, two] { #expect(try device.values()["a"] == "old") }
    }

    @Test func `a restored item counts although a log is rejected`() async throws {
        let (server, devices, source) = try await circleWithBackup()
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try two.set("a", "new")
        try await converge(one, two, three)
        let log = "/l/\(Hexadecimal.text(try await three.id().bytes))/"
        let last = try #require(server.records.keys.filter { $0.contains(log) }.max())
        let next = String(try #require(UInt64(last.suffix(16), radix: 16)) + 1, radix: 16)
        server.records[last.dropLast(next.count) + next] = [0]
        try await two.settle()
        try two.delete("a", tombstones: .never)
        _ = try two.engine.restore(source, .merge)
        two.clock.now += 400
        try await converge(one, two)
        for device in [one, two] { #expect(try device.values()["a"] == "old") }
    }

    /// Three machines with the item "a", and a backup of the second machine's.
    private func circleWithBackup() async throws -> (MemoryStore, [Device], BackupSource) {
        let server = MemoryStore()
        let devices = try await server.circle("one", "two", "three")
        try devices[1].set("a", "old")
        try await converge(devices[0], devices[1], devices[2])
        let path = NSTemporaryDirectory() + "backup-" + UUID().uuidString
        // The backup is read through a descriptor.
        defer { try? FileManager.default.removeItem(atPath: path) }
        return (server, devices, try backUp(devices[1], to: path))
    }

    private func backUp(_ device: Device, to path: String) throws -> BackupSource {
        try Data().write(to: URL(filePath: path))
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        let identity = AgeIdentity.x25519(.random(byteCount: 32))
        _ = try device.engine.backUp(
            to: AgeWriter([try #require(identity.recipient)], to: file.fileDescriptor))
        return BackupSource(descriptor: dup(file.fileDescriptor), identities: [identity])
    }
}
