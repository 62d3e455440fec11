// TestServer: an in-memory server, whose records a test can change, and machines that use it.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSQLite
import KeychainSynchronization
import Testing

/// The records of a circle, as bytes.
final class TestServer {
    var membership: [[UInt8]] = []
    var logs: [MachineID: [UInt64: [UInt8]]] = [:]

    /// All entries that `append` has ever stored, as bytes.
    private(set) var everything: [[UInt8]] = []

    func append(_ entry: MembershipEntry) {
        membership.append(entry.bytes)
        everything.append(entry.bytes)
    }

    func append(_ entry: LogEntry) {
        logs[entry.frame.writer, default: [:]][entry.index] = entry.bytes
        everything.append(entry.bytes)
        for index in logs[entry.frame.writer]?.keys.filter({ $0 < entry.frame.first }) ?? [] {
            logs[entry.frame.writer]?[index] = nil
        }
    }

    func circle() throws -> Circle {
        var circle = try Circle(founding: MembershipEntry(decoding: try #require(membership.first)))
        for bytes in membership.dropFirst() { try circle.append(MembershipEntry(decoding: bytes)) }
        return circle
    }
}

/// A machine with a keychain of its own.
final class TestMachine {
    var replica: Replica
    let server: TestServer
    var items: [Bytes16: SynchronizedItem] = [:]
    /// Seconds since 2001-01-01.
    var clock = 800_000_000.0

    init(_ replica: Replica, _ server: TestServer) {
        self.replica = replica
        self.server = server
    }

    var id: MachineID { replica.id }

    static func founder(
        _ server: TestServer, recovery: RecoveryCode? = nil
    ) throws -> TestMachine {
        let (replica, entry) = try Replica.found(
            .random(), name: "founder", recovery: recovery, created: 0)
        server.append(entry)
        return TestMachine(replica, server)
    }

    /// The founder of a circle and a second machine, which both have one item.
    static func pair(_ server: TestServer) throws -> (TestMachine, TestMachine) {
        let a = try founder(server)
        let b = try a.add("second")
        try a.set("one", "1")
        try converge(a, b)
        return (a, b)
    }

    /// Adds a machine, which then belongs to the circle.
    func add(
        _ name: String, scope: GroupScope = .all, keys: MachineKeys = .random()
    ) throws -> TestMachine {
        let change = try #require(
            replica.addition(of: keys.description, name: name, scope: scope))
        try carryOut(change)
        return TestMachine(Replica(keys, try server.circle()), server)
    }

    func carryOut(_ change: MembershipEntry.Change) throws {
        let entry = try replica.change(change, created: 0)
        try replica.take(entry)
        server.append(entry)
    }

    // MARK: Items

    func set(_ account: String, _ value: String, group: String = "group") throws {
        try write(Self.record(account, group: group, at: clock), value)
    }

    func delete(_ account: String, group: String = "group") throws {
        var record = Self.record(account, group: group, at: clock)
        record.isTombstone = true
        try write(record, nil)
    }

    private func write(_ record: ItemRecord, _ value: String?) throws {
        clock += 1
        let version = try #require(
            SynchronizedItem(record, .whenUnlocked, data: value.map { Data($0.utf8) }))
        items[version.name] = version
        replica.write(version)
    }

    static func record(_ account: String, group: String = "group", at moment: Double) -> ItemRecord
    {
        ItemRecord(
            itemClass: .genericPassword,
            attributes: [
                .service: .string("service"), .account: .string(account),
                .creationDate: .date(moment), .modificationDate: .date(moment),
            ], accessGroup: group, isSynchronizable: true, isTombstone: false)
    }

    /// Accounts and values of the items, without tombstones.
    var values: [String: String] {
        var values: [String: String] = [:]
        for item in items.values where !item.record.isTombstone {
            guard case .string(let account) = item.record.attributes[.account] else { continue }
            values[account] = item.data.map { String(decoding: $0, as: UTF8.self) }
        }
        return values
    }

    // MARK: Exchange

    /// Reads all there is, and appends what there is to append.
    func exchange() throws {
        try read()
        while try append() {}
    }

    func read() throws {
        while replica.circle.head.index < server.membership.count {
            try replica.take(
                MembershipEntry(decoding: server.membership[Int(replica.circle.head.index)]))
        }
        for writer in server.logs.keys.sorted() where writer != id { try read(writer) }
        store(replica.settle())
    }

    func read(_ writer: MachineID) throws {
        let log = server.logs[writer] ?? [:]
        if let first = log.keys.min(), first > replica.nextIndex(of: writer) {
            replica.skip(writer, to: first)
        }
        while let bytes = log[replica.nextIndex(of: writer)] {
            store(try replica.take(LogEntry(decoding: bytes)))
        }
    }

    /// - Returns: Whether there was an entry to append.
    func append() throws -> Bool {
        guard let entry = try replica.nextEntry(compacts: true, load: { items[$0] }) else {
            return false
        }
        server.append(entry)
        replica.confirm()
        return true
    }

    func store(_ changes: [Replica.Change]) {
        for change in changes {
            switch change {
            case .store(let version): items[version.name] = version
            case .delete(let name): items[name] = nil
            }
        }
    }
}

/// Lets machines exchange six times each, so that nothing changes any more.
func converge(_ machines: TestMachine...) throws {
    for _ in 0..<6 {
        for machine in machines { try machine.exchange() }
    }
}
