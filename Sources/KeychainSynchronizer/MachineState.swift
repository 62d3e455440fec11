// MachineState: what a machine keeps about its circle between two sessions, as items of its
// keychain. Documentation/Synchronization.md, "What a machine keeps".
//   (1) The items are generic passwords in an access group of their own, of the class
//       AfterFirstUnlockThisDeviceOnly. So they are sealed, rotated and recovered like all other
//       items, synchronization doesn't send them, and in a backup they are sealed for this machine.
//   (2) The private keys are written once. Nothing else here is secret, except the circle key and
//       the group keys.
//   (3) Several processes may have the same keychain open. None overwrites the state that another
//       one has stored: each save names the revision that it replaces. The circle key, group
//       keys, heads, sightings and `decided` are merged. Of two processes that append to the
//       machine's log, or sign a change of the members, the second one fails, and has to begin
//       again with what the first one stored.

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
    /// All group keys that the machine has. They are kept because the grants of these keys may be
    /// deleted with the logs that contain them.
    var groupKeys: [GroupKey] = []
    /// The membership log as far as it was verified. Empty until the machine has founded or joined
    /// a circle.
    private(set) var membership: [MembershipEntry] = []
    /// How far the machine had read each log, its own included. See ``Replica/settledHeads``.
    var heads: LogHeads = [:]
    /// The last entry of its own log that the machine has given to the relay to store. This field
    /// is saved first, so no other machine can have read a later entry.
    var sent = LogHead.empty
    /// The entry that ``sent`` names, until the server is known to have it. A later session sends
    /// the same bytes again: the server may have shown the entry to other machines, and for these,
    /// a different entry with the same index would be a fork.
    var entry: LogEntry?
    /// See ``StoredState/decided``.
    var decided: UInt64 = 0
    /// When the other members were last heard of.
    var sightings: [MachineID: Sighting] = [:]
    /// A change of the membership that this machine has signed and that isn't in the log yet.
    var change: MembershipEntry?
    /// The revision of the stored state. `nil` if nothing is stored yet.
    private var revision: Bytes16?
    /// The fields that only one process at a time may change, with their values in the stored state
    /// that has ``revision``.
    private var stored = Claim()

    /// The fields that only one process at a time may change.
    private struct Claim: Hashable {
        var sent = LogHead.empty
        var change: MembershipEntry?
    }

    /// The circle, verified again from the founding entry. `nil` until the machine has founded or
    /// joined one.
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
        if let (bytes, revision) = try storedState(in: engine) {
            try state.restore(try StoredState(messageBytes: bytes))
            state.revision = revision
        }
        return state
    }

    /// The state of a keychain. If the machine has no keys yet, they are made and stored; the
    /// signing key is made in a chip if the keychain has one.
    static func loadOrMake(in engine: KeychainEngine) throws(KeychainFailure) -> MachineState {
        if let state = try load(from: engine) { return state }
        let keys = try StoredKeys.make(in: engine)
        let state = try MachineState(keys, engine)
        guard try add("keys", keys.messageBytes, in: engine) else {
            // Another process has made them in the meantime.
            guard let state = try load(from: engine) else { throw otherProcess }
            return state
        }
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
            if let circleKey, case .found(let content) = founding.change,
                circleKey.check != content.keyCheck
            {
                throw .damagedStore("the stored circle key is not that of its circle")
            }
            groupKeys = stored.groupKeys.map { $0.key(in: CircleID(founding.digest)) }
        }
        heads = stored.heads
        decided = stored.decided
        sightings = stored.sightings
        self.stored = try Self.claim(of: stored)
        (sent, change) = (self.stored.sent, self.stored.change)
        do throws(SynchronizationFailure) {
            if let bytes = stored.entry { entry = try LogEntry(decoding: Array(bytes)) }
        } catch {
            throw .damagedStore("a stored entry of its log can't be read")
        }
    }

    private static func claim(of stored: StoredState) throws(KeychainFailure) -> Claim {
        guard let bytes = stored.change else { return Claim(sent: stored.sent) }
        do throws(SynchronizationFailure) {
            return Claim(
                sent: stored.sent, change: try MembershipEntry(decoding: Array(bytes)))
        } catch {
            throw .damagedStore("a stored change of its circle can't be read")
        }
    }

    /// What ``save(in:)`` stores, in a form in which it can be compared.
    struct Saved: Hashable {
        let hasCircleKey: Bool
        let groupKeys: Set<Bytes16>
        let heads: LogHeads
        let sightings: [MachineID: Sighting]
        let sent: LogHead
        let hasEntry: Bool
        let decided: UInt64
        let change: MembershipEntry?
    }

    var saved: Saved {
        Saved(
            hasCircleKey: circleKey != nil, groupKeys: Set(groupKeys.map(\.id)), heads: heads,
            sightings: sightings, sent: sent, hasEntry: entry != nil, decided: decided,
            change: change)
    }

    /// The number of attempts to save while other processes save.
    private static let attemptCount = 10

    static let otherProcess = KeychainFailure.busy(
        "Another process has synchronized this keychain. Try again.")

    /// Takes over what another process has stored since this state was loaded or saved.
    ///
    /// - Throws: The failure ``otherProcess`` if the other process has appended to the machine's
    ///   log, has signed a change of the members, has read a signed change from the membership log,
    ///   or has founded, joined or left a circle. The session has to begin again.
    mutating func refresh(in engine: KeychainEngine) throws(KeychainFailure) {
        guard let (bytes, latest) = try Self.storedState(in: engine) else {
            guard revision == nil else { throw Self.otherProcess }
            return
        }
        guard latest != revision else { return }
        guard revision != nil, let founding = membership.first,
            try Self.item("keys", in: engine) == storedKeys.messageBytes
        else { throw Self.otherProcess }
        let other = try StoredState(messageBytes: bytes)
        guard try Self.claim(of: other) == stored else { throw Self.otherProcess }
        if circleKey == nil { circleKey = other.circleKey.map { CircleKey(bytes: $0) } }
        keep(other.groupKeys.map { $0.key(in: CircleID(founding.digest)) })
        heads.merge(other.heads) { $1.index > $0.index ? $1 : $0 }
        decided = max(decided, other.decided)
        sightings.merge(other.sightings) { $1.seen > $0.seen ? $1 : $0 }
        revision = latest
    }

    /// Discards, in this value, what an interrupted attempt to join or found a circle has left.
    mutating func clear() {
        circleKey = nil
        groupKeys = []
        heads = [:]
        decided = 0
        sightings = [:]
        sent = .empty
        entry = nil
        change = nil
    }

    /// Adds group keys to those that are kept.
    mutating func keep(_ keys: [GroupKey]) {
        let known = Set(groupKeys.map(\.id))
        groupKeys += keys.filter { !known.contains($0.id) }
    }

    /// Stores everything but the machine's private keys and the membership log.
    ///
    /// - Throws: ``otherProcess``, as ``refresh(in:)`` does, or if other processes have saved
    ///   before each of ten attempts.
    mutating func save(in engine: KeychainEngine) throws(KeychainFailure) {
        for _ in 0..<Self.attemptCount {
            let state = StoredState(
                circleKey: circleKey?.bytes, groupKeys: groupKeys.map(StoredGroupKey.init),
                heads: heads, sightings: sightings, sent: sent,
                change: change.map { Data($0.bytes) }, entry: entry.map { Data($0.bytes) },
                decided: decided)
            let next = Bytes16.random()
            if try Self.replace(revision, by: next, state.messageBytes, in: engine) {
                revision = next
                stored = Claim(sent: sent, change: change)
                return
            }
            try refresh(in: engine)
        }
        throw Self.otherProcess
    }

    /// Adds the next entry of the membership log.
    ///
    /// - Throws: ``otherProcess`` if another process has stored another entry in its place.
    mutating func append(
        _ entry: MembershipEntry, in engine: KeychainEngine
    ) throws(KeychainFailure) {
        let name = Self.name(ofEntry: membership.count + 1)
        let bytes = Data(entry.bytes)
        if try !Self.add(name, bytes, in: engine) {
            // Entries that differ only in the signature are one entry.
            guard let present = try Self.item(name, in: engine),
                (try? MembershipEntry(decoding: Array(present)))?.digest == entry.digest
            else { throw Self.otherProcess }
        }
        membership.append(entry)
    }

    /// Stores the membership log of a circle that the machine has founded or joined. The founding
    /// entry is stored last, since without it the stored log counts as empty.
    mutating func replaceMembership(
        by entries: [MembershipEntry], in engine: KeychainEngine
    ) throws(KeychainFailure) {
        // An interrupted attempt to join may have left the last entries of another log.
        let names = Set((1...max(entries.count, 1)).map(Self.name(ofEntry:)))
        for account in try Self.accounts(in: engine)
        where account.hasPrefix(Self.entryPrefix) && !names.contains(account) {
            try Self.delete(Self.query(account), from: engine)
        }
        for (index, entry) in entries.enumerated().reversed() {
            try Self.put(Self.name(ofEntry: index + 1), Data(entry.bytes), in: engine)
        }
        membership = entries
    }

    /// Deletes everything that is stored.
    static func delete(from engine: KeychainEngine) throws(KeychainFailure) {
        try delete(everything, from: engine)
    }

    private static func delete(
        _ query: ItemQuery, from engine: KeychainEngine
    ) throws(KeychainFailure) {
        do throws(KeychainFailure) {
            _ = try engine.perform(
                DeleteItems(query, tombstones: .never), as: AccessGroups([accessGroup]))
        } catch {
            guard error.status == .itemNotFound else { throw error }
        }
    }

    private static let entryPrefix = "membership "
    private static func name(ofEntry index: Int) -> String { entryPrefix + "\(index)" }

    /// The accounts of all items that are stored.
    private static func accounts(in engine: KeychainEngine) throws(KeychainFailure) -> [String] {
        do throws(KeychainFailure) {
            return try engine.perform(
                FindItems(everything, Retrieval(limit: nil)), as: AccessGroups([accessGroup])
            ).compactMap {
                if case .string(let account) = $0.attributes[.account] { account } else { nil }
            }
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return []
        }
    }

    private static var everything: ItemQuery {
        ItemQuery(
            itemClass: .genericPassword, attributes: [.service: .string(service)],
            accessGroup: accessGroup)
    }

    private static func query(_ account: String) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string(service), .account: .string(account)],
            accessGroup: accessGroup)
    }

    private static func item(
        _ account: String, in engine: KeychainEngine
    ) throws(KeychainFailure) -> Data? {
        try snapshot(account, in: engine)?.data
    }

    private static func snapshot(
        _ account: String, in engine: KeychainEngine
    ) throws(KeychainFailure) -> ItemSnapshot? {
        do throws(KeychainFailure) {
            return try engine.perform(
                FindItems(query(account), Retrieval(includesData: true)),
                as: AccessGroups([accessGroup])
            ).first
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return nil
        }
    }

    private static func newItem(
        _ account: String, _ data: Data, revision: Bytes16? = nil
    ) -> NewItem {
        var attributes = query(account).attributes
        if let revision { attributes[.generic] = .data(Data(revision.bytes)) }
        return NewItem(
            itemClass: .genericPassword, attributes: attributes, accessGroup: accessGroup,
            protection: .afterFirstUnlockThisDeviceOnly, data: data)
    }

    /// The stored state and its revision.
    private static func storedState(
        in engine: KeychainEngine
    ) throws(KeychainFailure) -> (bytes: Data, revision: Bytes16)? {
        guard let item = try snapshot("state", in: engine) else { return nil }
        guard let bytes = item.data, case .data(let generic) = item.attributes[.generic],
            let revision = Bytes16(generic)
        else { throw .damagedStore("the stored state of its circle can't be read") }
        return (bytes, revision)
    }

    /// Replaces the stored state that has the given revision. With `nil`, stores the first state.
    ///
    /// - Returns: `false` if a state with another revision is stored, or if the given one isn't
    ///   stored any more. Nothing is changed then.
    private static func replace(
        _ revision: Bytes16?, by next: Bytes16, _ bytes: Data, in engine: KeychainEngine
    ) throws(KeychainFailure) -> Bool {
        guard let revision else {
            return try add(newItem("state", bytes, revision: next), in: engine)
        }
        var query = query("state")
        query.attributes[.generic] = .data(Data(revision.bytes))
        let changes = ItemChanges(
            attributes: [.generic: .data(Data(next.bytes))], data: bytes)
        do throws(KeychainFailure) {
            _ = try engine.keepingFromOutbox { () throws(KeychainFailure) in
                try engine.perform(
                    UpdateItems(query, changes), as: AccessGroups([accessGroup]))
            }
            return true
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return false
        }
    }

    /// - Returns: `false` if there is an item already.
    private static func add(
        _ account: String, _ data: Data, in engine: KeychainEngine
    ) throws(KeychainFailure) -> Bool {
        try add(newItem(account, data), in: engine)
    }

    private static func add(
        _ item: NewItem, in engine: KeychainEngine
    ) throws(KeychainFailure) -> Bool {
        do throws(KeychainFailure) {
            _ = try engine.keepingFromOutbox { () throws(KeychainFailure) in
                try engine.perform(AddItem(item), as: AccessGroups([accessGroup]))
            }
            return true
        } catch {
            guard error.status == .duplicateItem else { throw error }
            return false
        }
    }

    private static func put(
        _ account: String, _ data: Data, in engine: KeychainEngine
    ) throws(KeychainFailure) {
        let query = query(account)
        let item = newItem(account, data)
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
                    NewSecureEnclaveKey(
                        protection: .afterFirstUnlockThisDeviceOnly,
                        constraints: .privateKeyUsage)), as: all)
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
