// RestoredItemTests: items of a circle that are restored from a backup, with earlier dates.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
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

    /// The entry that waits contains a later version of the item. The user has deleted that version
    /// and restored the earlier one.
    @Test func `a restored item counts although an entry with a later version waits`() async throws
    {
        let (server, devices, source) = try await circleWithBackup()
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.signRemoval(of: three)
        try two.set("a", "new")
        try await two.settle()
        // Now the server stores the removal of the third machine, which makes that entry void.
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

    /// A change of the second machine waits here. Without a waiting change, the machine's session
    /// would begin again after 5 minutes, and read again the version that the session lacks.
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

    /// Three machines with the item "a", and a backup of the second machine's keychain.
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

@Suite struct `The identity of an item in a circle` {
    /// Text and data with the same bytes are equal in a primary key.
    @Test
    func `an item whose account changes from text to data is the same item for a new machine too`()
        async throws
    {
        let server = MemoryStore()
        let devices = try await server.circle("one", "two")
        let (one, two) = (devices[0], devices[1])
        try one.set("a", "1")
        try await converge(one, two)
        two.clock.now += 1
        try two.engine.perform(
            UpdateItems(
                Device.query("a"),
                ItemChanges(
                    attributes: [.account: .data(Data("a".utf8))], data: Data("2".utf8))),
            as: Device.caller)
        try await converge(one, two)
        one.clock.now = two.clock.now
        // The log of the machine that wrote the first version doesn't contain the second one.
        try one.delete("a")
        try await converge(one, two)
        let three = try Device("three", server)
        try await one.add(three)
        try await converge(one, two, three)
        for device in [one, two, three] {
            #expect(throws: KeychainFailure.self, "\(device.name)") {
                try device.engine.perform(
                    FindItems(Device.query("a"), Retrieval(limit: nil)), as: Device.caller)
            }
        }
    }

    @Test func `text and data, and an empty value and none, are equal in its name`() throws {
        func name(_ attributes: Attributes) throws -> Bytes16 {
            let item = ItemRecord(
                itemClass: .genericPassword,
                attributes: attributes.merging([.modificationDate: .date(1)]) { $1 },
                accessGroup: "group", isSynchronizable: true, isTombstone: false)
            return try #require(
                SynchronizedItem(item, .whenUnlocked, data: Data())
            ).name
        }
        let names = try [
            name([.service: .string("s"), .account: .string("")]),
            name([.service: .data(Data("s".utf8)), .account: .data(Data())]),
            name([.service: .string("s")]),
        ]
        #expect(Set(names).count == 1)
        #expect(try name([.service: .string("s"), .account: .string("a")]) != names[0])
        #expect(try name([.service: .string(""), .account: .string("s")]) != names[0])
    }
}
