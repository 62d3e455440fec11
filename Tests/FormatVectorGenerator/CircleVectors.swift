// CircleVectors: the vectors of Documentation/Synchronization.md. The circle has three machines, of
// which the third sees one group and the second is removed.

import FormatVectors
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSQLite
import KeychainSynchronization

struct CircleVectors {
    private struct Machine {
        let scalar: [UInt8]
        let seed: [UInt8]
        var replica: Replica
        var items: [Bytes16: SynchronizedItem] = [:]

        mutating func write(
            _ account: String, _ value: String?, group: String, at moment: Double
        ) throws {
            let record = ItemRecord(
                itemClass: .genericPassword,
                attributes: [
                    .service: .string("service"), .account: .string(account),
                    .creationDate: .date(moment), .modificationDate: .date(moment),
                ], accessGroup: group, isSynchronizable: true, isTombstone: value == nil)
            guard
                let item = SynchronizedItem(
                    record, .afterFirstUnlock, data: value.map { Data($0.utf8) })
            else { throw Missing() }
            items[item.name] = item
            replica.write(item)
        }
    }

    private struct Missing: Error {}

    private static let recoveryCode = Example.counting(from: 0xE0).prefix(16)
    private var membership: [MembershipEntry] = []
    private var logs: [MachineID: [LogEntry]] = [:]
    private var heads: [SignedHead] = []
    private var machines: [Machine] = []

    private static func keys(_ first: UInt8) throws -> (MachineKeys, [UInt8], [UInt8]) {
        let scalar = Array(Example.counting(from: first))
        let seed = Array(Example.counting(from: first + 0x20))
        guard let signer = SoftwareSigner(privateKey: SecretBytes(copying: scalar)),
            let keys = MachineKeys(signer: signer, agreementSeed: SecretBytes(copying: seed))
        else { throw Missing() }
        return (keys, scalar, seed)
    }

    init() throws {
        let code = RecoveryCode(bytes: SecretBytes(copying: Self.recoveryCode))
        let (keys, scalar, seed) = try Self.keys(0x01)
        let (replica, entry) = try Replica.found(keys, name: "one", recovery: code, created: 1)
        machines.append(Machine(scalar: scalar, seed: seed, replica: replica))
        membership.append(entry)
        guard let circleKey = replica.circleKey else { throw Missing() }
        try add("two", 0x41, .all)
        try add("three", 0x81, .groups([circleKey.label(of: "web")]))
        try machines[0].write("alice", "a value", group: "vault", at: 800_000_000)
        try machines[0].write("bob", "another", group: "web", at: 800_000_001.5)
        try machines[1].write("carol", "of the second", group: "vault", at: 800_000_002)
        try exchange()
        try machines[1].write("alice", nil, group: "vault", at: 800_000_003)
        try exchange()
        let second = machines[1].replica.id
        try change(.remove(machines[0].replica.closing(of: second)))
        machines.remove(at: 1)
        try machines[0].write("dave", "after the removal", group: "vault", at: 800_000_004)
        try exchange()
        heads = try machines.map { try $0.replica.signedHead(moment: 1_800_000_000_000) }
    }

    private mutating func add(_ name: String, _ first: UInt8, _ scope: GroupScope) throws {
        let (keys, scalar, seed) = try Self.keys(first)
        guard
            let addition = machines[0].replica.addition(
                of: keys.description, name: name, scope: scope)
        else { throw Missing() }
        try change(addition)
        machines.append(
            Machine(
                scalar: scalar, seed: seed, replica: Replica(keys, machines[0].replica.circle)))
    }

    private mutating func change(_ change: MembershipEntry.Change) throws {
        let entry = try machines[0].replica.change(change, created: Int64(membership.count + 1))
        try machines[0].replica.take(entry)
        membership.append(entry)
    }

    /// All machines read everything and append their entries.
    private mutating func exchange() throws {
        for _ in 0..<4 {
            for index in machines.indices {
                var machine = machines[index]
                try read(&machine)
                let items = machine.items
                while let entry = try machine.replica.nextEntry(
                    compacts: false, load: { items[$0] })
                {
                    logs[entry.frame.writer, default: []].append(entry)
                    machine.replica.confirm()
                }
                machines[index] = machine
            }
        }
    }

    private func read(_ machine: inout Machine) throws {
        for entry in membership where entry.index > machine.replica.circle.head.index {
            try machine.replica.take(entry)
        }
        for (writer, log) in logs where writer != machine.replica.id {
            for entry in log where entry.index >= machine.replica.nextIndex(of: writer) {
                for case .store(let item) in try machine.replica.take(entry) {
                    machine.items[item.name] = item
                }
            }
        }
    }

    // MARK: File

    private func vector(
        _ comment: String, _ flag: String, of machine: Machine?,
        _ alter: (inout CircleVector) -> Void = { _ in }
    ) -> CircleVector {
        var vector = CircleVector(
            comment, flag, .valid, signingKey: Hex(machine?.scalar ?? []),
            agreementSeed: Hex(machine?.seed ?? []),
            recoveryCode: machine == nil ? Hex(Self.recoveryCode) : nil,
            membership: membership.map { Hex($0.bytes) },
            logs: logs.sorted { $0.key < $1.key }.map { $0.value.map { Hex($0.bytes) } },
            heads: heads.map { Hex($0.bytes) })
        let circle = machines[0].replica.circle
        vector.circle = Hex(circle.id.digest.bytes)
        vector.members = circle.roster.members.map { Hex($0.bytes) }
        vector.epoch = circle.roster.epoch
        let groups = machine == nil ? nil : machine?.replica.groupKeys.values.map(\.group)
        vector.versions = machines[0].items.values
            .filter { !$0.record.isTombstone }
            .filter { groups?.contains($0.record.accessGroup) ?? true }
            .map { Hex($0.encoded()) }.sorted { $0.digits < $1.digits }
        alter(&vector)
        if vector.result == .invalid {
            vector.circle = nil
            vector.members = nil
            vector.epoch = nil
            vector.versions = nil
        }
        return vector
    }

    private func invalid(
        _ comment: String, _ alter: (inout CircleVector) -> Void
    ) -> CircleVector {
        vector(comment, "Altered", of: machines[0]) { vector in
            vector.result = .invalid
            alter(&vector)
        }
    }

    var file: VectorFile<CircleVector> {
        VectorFile(
            algorithm: "swift-keychain circle",
            notes: [
                "Reader": "What one machine reads.",
                "Altered": "One part differs from what was signed.",
            ],
            tests: [
                vector("the founder", "Reader", of: machines[0]),
                vector("a machine that sees one group", "Reader", of: machines[1]),
                vector("the recovery code", "Reader", of: nil),
                invalid("a bit of the founding entry") { $0.membership[0].bytes[110] ^= 1 },
                invalid("a bit of a signature") { vector in
                    vector.membership[1].bytes[vector.membership[1].bytes.count - 1] ^= 1
                },
                invalid("an addition is missing") { $0.membership.remove(at: 1) },
                invalid("two additions are exchanged") { $0.membership.swapAt(1, 2) },
                invalid("the second entry of a log is missing") { $0.logs[0].remove(at: 1) },
                invalid("a bit of a log's entry") { $0.logs[1][0].bytes[150] ^= 1 },
                invalid("an entry has another one's index") { vector in
                    vector.logs[0][1] = vector.logs[0][0]
                },
                invalid("a bit of a signed head") { $0.heads[0].bytes[60] ^= 1 },
            ])
    }
}
