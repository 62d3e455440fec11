// MachineState: what a machine keeps about its circle between two runs, as items of its keychain.
// Documentation/Synchronization.md, "What a machine keeps".
//   (1) The items are generic passwords in an access group of their own, of the class
//       AfterFirstUnlockThisDeviceOnly. So they are sealed, rotated and recovered like all other
//       items, synchronization doesn't send them, and in a backup they are sealed for this machine.
//   (2) The private keys are written once. Nothing else here is secret, except the circle key.

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSynchronization

struct MachineState: Sendable {
    static let accessGroup = "swift-keychain.synchronization"
    private static let service = "swift-keychain.synchronization"

    var keys: MachineKeys
    private let storedKeys: StoredKeys
    var circleKey: CircleKey?
    /// All group keys that the machine has. Others may have deleted the logs with the grants.
    var groupKeys: [GroupKey] = []
    /// The membership log as far as it was verified. Empty until the machine has joined.
    private(set) var membership: [MembershipEntry] = []
    /// How far the machine has read all logs, its own included.
    var heads: LogHeads = [:]
    /// A change of the membership that this machine has signed and that isn't in the log yet.
    var change: MembershipEntry?

    /// The circle, verified again from the founding entry. `nil` until the machine has joined.
    func circle() throws(KeychainFailure) -> Circle? {
        guard let founding = membership.first else { return nil }
        do throws(SynchronizationFailure) {
            var circle = try Circle(founding: founding)
            for entry in membership.dropFirst() { try circle.append(entry) }
            return circle
        } catch {
            throw .damagedStore("the stored membership log of its circle is not valid: \(error)")
        }
    }

    // MARK: Storing

    /// The state of a keychain. `nil` if the machine has no keys yet.
    static func load(from engine: KeychainEngine) throws(KeychainFailure) -> MachineState? {
        guard let bytes = try item("keys", in: engine) else { return nil }
        let keys = try StoredKeys(messageBytes: bytes)
        var state = try MachineState(keys, engine)
        while let bytes = try item(name(ofEntry: state.membership.count + 1), in: engine) {
            do throws(SynchronizationFailure) {
                state.membership.append(try MembershipEntry(decoding: Array(bytes)))
            } catch {
                throw .damagedStore("a stored entry of the membership log can't be read")
            }
        }
        if let bytes = try item("state", in: engine) {
            try state.restore(try StoredState(messageBytes: bytes))
        }
        return state
    }

    /// The state of a keychain. If the machine has no keys yet, they are made and stored; the
    /// signing key is made in hardware if the keychain has any.
    static func loadOrMake(in engine: KeychainEngine) throws(KeychainFailure) -> MachineState {
        if let state = try load(from: engine) { return state }
        let keys = try StoredKeys.make(in: engine)
        let state = try MachineState(keys, engine)
        try put("keys", keys.messageBytes, in: engine)
        return state
    }

    private init(_ stored: StoredKeys, _ engine: KeychainEngine) throws(KeychainFailure) {
        storedKeys = stored
        guard let signer = stored.signer(in: engine),
            let keys = MachineKeys(signer: signer, agreementSeed: stored.seed)
        else { throw .damagedStore("the stored keys of its circle are not valid") }
        self.keys = keys
    }

    private mutating func restore(_ stored: StoredState) throws(KeychainFailure) {
        circleKey = stored.circleKey.map { CircleKey(bytes: $0) }
        if let founding = membership.first {
            groupKeys = stored.groupKeys.map { $0.key(in: CircleID(founding.digest)) }
        }
        heads = stored.heads
        if let bytes = stored.change {
            do throws(SynchronizationFailure) {
                change = try MembershipEntry(decoding: Array(bytes))
            } catch {
                throw .damagedStore("a stored change of its circle can't be read")
            }
        }
    }

    /// What ``save(in:)`` stores, to be compared.
    struct Saved: Hashable {
        let hasCircleKey: Bool
        let groupKeys: Set<Bytes16>
        let heads: LogHeads
        let change: MembershipEntry?
    }

    var saved: Saved {
        Saved(
            hasCircleKey: circleKey != nil, groupKeys: Set(groupKeys.map(\.id)), heads: heads,
            change: change)
    }

    /// Stores everything but the keys and the membership log.
    func save(in engine: KeychainEngine) throws(KeychainFailure) {
        let stored = StoredState(
            circleKey: circleKey?.bytes, groupKeys: groupKeys.map(StoredGroupKey.init),
            heads: heads, change: change.map { Data($0.bytes) })
        try Self.put("state", stored.messageBytes, in: engine)
    }

    /// Adds the next entry of the membership log.
    mutating func append(
        _ entry: MembershipEntry, in engine: KeychainEngine
    ) throws(KeychainFailure) {
        try Self.put(Self.name(ofEntry: membership.count + 1), Data(entry.bytes), in: engine)
        membership.append(entry)
    }

    /// Stores the membership log of a circle that the machine has joined. The founding entry,
    /// without which the log is empty, is stored last.
    mutating func replaceMembership(
        by entries: [MembershipEntry], in engine: KeychainEngine
    ) throws(KeychainFailure) {
        for (index, entry) in entries.enumerated().reversed() {
            try Self.put(Self.name(ofEntry: index + 1), Data(entry.bytes), in: engine)
        }
        membership = entries
    }

    /// Deletes everything that is stored.
    static func delete(from engine: KeychainEngine) throws(KeychainFailure) {
        do throws(KeychainFailure) {
            try engine.perform(
                DeleteItems(
                    ItemQuery(
                        itemClass: .genericPassword, attributes: [.service: .string(service)],
                        accessGroup: accessGroup),
                    tombstones: .never), as: AccessGroups([accessGroup]))
        } catch {
            guard error.status == .itemNotFound else { throw error }
        }
    }

    private static func name(ofEntry index: Int) -> String { "membership \(index)" }

    private static func query(_ account: String) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string(service), .account: .string(account)],
            accessGroup: accessGroup)
    }

    private static func item(
        _ account: String, in engine: KeychainEngine
    ) throws(KeychainFailure) -> Data? {
        do throws(KeychainFailure) {
            return try engine.perform(
                FindItems(query(account), Retrieval(includesData: true)),
                as: AccessGroups([accessGroup])
            ).first?.data
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return nil
        }
    }

    private static func put(
        _ account: String, _ data: Data, in engine: KeychainEngine
    ) throws(KeychainFailure) {
        let query = query(account)
        let item = NewItem(
            itemClass: .genericPassword, attributes: query.attributes, accessGroup: accessGroup,
            protection: .afterFirstUnlockThisDeviceOnly, data: data)
        _ = try engine.keepingFromOutbox { () throws(KeychainFailure) in
            try engine.perform(
                PutItem(item, orChange: query, ItemChanges(data: data)),
                as: AccessGroups([accessGroup]))
        }
    }
}

/// The private keys of a machine, as they are stored.
private struct StoredKeys: MessageCodable, Sendable {
    /// The scalar of a key in software.
    var scalar: SecretBytes?
    /// The blob and the public key of a key in hardware.
    var blob: Data?
    var publicKey: Data?
    var seed: SecretBytes

    static func make(in engine: KeychainEngine) throws(KeychainFailure) -> StoredKeys {
        let seed = SecretBytes.random(byteCount: MachineKeys.seedByteCount)
        let all = AccessGroups([MachineState.accessGroup])
        if try engine.perform(HasSecureEnclave()) {
            let made = try engine.perform(
                MakeSecureEnclaveKey(
                    NewSecureEnclaveKey(protection: .afterFirstUnlockThisDeviceOnly)), as: all)
            return StoredKeys(blob: made.blob, publicKey: made.publicKey, seed: seed)
        }
        return StoredKeys(scalar: SoftwareSigner.random().privateKey, seed: seed)
    }

    func signer(in engine: KeychainEngine) -> (any MachineSigner)? {
        if let scalar { return SoftwareSigner(privateKey: scalar) }
        guard let blob, let publicKey else { return nil }
        return HardwareSigner(engine: engine, blob: blob, publicKey: Array(publicKey))
    }

    init(scalar: SecretBytes? = nil, blob: Data? = nil, publicKey: Data? = nil, seed: SecretBytes) {
        self.scalar = scalar
        self.blob = blob
        self.publicKey = publicKey
        self.seed = seed
    }

    func encode(to writer: inout MessageWriter) {
        scalar.encode(to: &writer)
        blob.encode(to: &writer)
        publicKey.encode(to: &writer)
        seed.encode(to: &writer)
    }

    init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            scalar: try .init(from: &reader), blob: try .init(from: &reader),
            publicKey: try .init(from: &reader), seed: try .init(from: &reader))
    }
}

/// A signing key that never leaves the hardware.
private struct HardwareSigner: MachineSigner {
    let engine: KeychainEngine
    let blob: Data
    let publicKey: [UInt8]

    func signature(over message: [UInt8]) throws(KeychainFailure) -> [UInt8] {
        let digest = Data(Fingerprint.sha256(of: message))
        return Array(
            try engine.perform(
                SignDigest(digest, with: blob), as: AccessGroups([MachineState.accessGroup])))
    }
}

private struct StoredState: MessageCodable, Sendable {
    var circleKey: SecretBytes?
    var groupKeys: [StoredGroupKey]
    var heads: LogHeads
    var change: Data?

    init(
        circleKey: SecretBytes?, groupKeys: [StoredGroupKey], heads: LogHeads, change: Data?
    ) {
        self.circleKey = circleKey
        self.groupKeys = groupKeys
        self.heads = heads
        self.change = change
    }

    func encode(to writer: inout MessageWriter) {
        circleKey.encode(to: &writer)
        groupKeys.encode(to: &writer)
        writer.number(UInt32(clamping: heads.count))
        for (machine, head) in heads.sorted(by: { $0.key < $1.key }) {
            machine.bytes.encode(to: &writer)
            writer.number(head.index)
            Data(head.digest.bytes).encode(to: &writer)
        }
        change.encode(to: &writer)
    }

    init(from reader: inout MessageReader) throws(KeychainFailure) {
        circleKey = try .init(from: &reader)
        groupKeys = try .init(from: &reader)
        heads = [:]
        for _ in 0..<(try reader.number() as UInt32) {
            let machine = MachineID(try .init(from: &reader))
            let index: UInt64 = try reader.number()
            guard let digest = Digest(try Data(from: &reader)) else {
                throw .unreadable("a head of a log")
            }
            heads[machine] = LogHead(index: index, digest: digest)
        }
        change = try .init(from: &reader)
    }
}

private struct StoredGroupKey: MessageCodable, Sendable {
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
