// StoredState: the encoding of what a machine keeps about its circle, apart from its own keys and
// the membership log. Documentation/Synchronization.md, "What a machine keeps".

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainSynchronization

struct StoredState: MessageCodable, Sendable {
    var circleKey: SecretBytes?
    var groupKeys: [StoredGroupKey]
    var heads: LogHeads
    var sightings: [MachineID: Sighting]
    var sent: LogHead
    var change: Data?
    /// The bytes of the entry with the head `sent`, until the server is known to have it.
    var entry: Data?
    /// The index in the membership log of a change that added or suspended this machine: the last
    /// such change after which this machine has decided on all items that no log contained. 0 if
    /// there is none.
    var decided: UInt64 = 0

    init(
        circleKey: SecretBytes?, groupKeys: [StoredGroupKey], heads: LogHeads,
        sightings: [MachineID: Sighting], sent: LogHead, change: Data?, entry: Data?,
        decided: UInt64
    ) {
        self.circleKey = circleKey
        self.groupKeys = groupKeys
        self.heads = heads
        self.sightings = sightings
        self.sent = sent
        self.change = change
        self.entry = entry
        self.decided = decided
    }

    func encode(to writer: inout MessageWriter) {
        circleKey.encode(to: &writer)
        groupKeys.encode(to: &writer)
        writer.number(UInt32(clamping: heads.count))
        for (machine, head) in heads.sorted(by: { $0.key < $1.key }) {
            machine.bytes.encode(to: &writer)
            Self.encode(head, to: &writer)
        }
        writer.number(UInt32(clamping: sightings.count))
        for (machine, sighting) in sightings.sorted(by: { $0.key < $1.key }) {
            machine.bytes.encode(to: &writer)
            writer.number(sighting.index)
            writer.number(sighting.head)
            writer.number(sighting.seen)
        }
        Self.encode(sent, to: &writer)
        change.encode(to: &writer)
        (entry ?? Data()).encode(to: &writer)
        writer.number(decided)
    }

    init(from reader: inout MessageReader) throws(KeychainFailure) {
        circleKey = try .init(from: &reader)
        groupKeys = try .init(from: &reader)
        heads = [:]
        for _ in 0..<(try reader.number() as UInt32) {
            let machine = MachineID(try .init(from: &reader))
            heads[machine] = try Self.head(from: &reader)
        }
        sightings = [:]
        for _ in 0..<(try reader.number() as UInt32) {
            let machine = MachineID(try .init(from: &reader))
            sightings[machine] = Sighting(
                index: try reader.number(), head: try reader.number(), seen: try reader.number())
        }
        sent = try Self.head(from: &reader)
        change = try .init(from: &reader)
        // States of earlier versions of this module lack `decided`, or `entry` and `decided`.
        if reader.remainingCount > 0 {
            let bytes = try Data(from: &reader)
            entry = bytes.isEmpty ? nil : bytes
        }
        if reader.remainingCount > 0 { decided = try reader.number() }
    }

    private static func encode(_ head: LogHead, to writer: inout MessageWriter) {
        writer.number(head.index)
        Data(head.digest.bytes).encode(to: &writer)
    }

    private static func head(from reader: inout MessageReader) throws(KeychainFailure) -> LogHead {
        let index: UInt64 = try reader.number()
        guard let digest = Digest(try Data(from: &reader)) else {
            throw .unreadable("a head of a log")
        }
        return LogHead(index: index, digest: digest)
    }
}

struct StoredGroupKey: MessageCodable, Sendable {
    let epoch: UInt64
    let group: String
    let bytes: SecretBytes

    init(_ key: GroupKey) {
        epoch = key.epoch
        group = key.group
        bytes = key.bytes
    }

    func key(in circle: CircleID) -> GroupKey {
        GroupKey(epoch: epoch, group: group, bytes: bytes, in: circle)
    }

    func encode(to writer: inout MessageWriter) {
        epoch.encode(to: &writer)
        group.encode(to: &writer)
        bytes.encode(to: &writer)
    }

    init(from reader: inout MessageReader) throws(KeychainFailure) {
        epoch = try .init(from: &reader)
        group = try .init(from: &reader)
        bytes = try .init(from: &reader)
    }
}
