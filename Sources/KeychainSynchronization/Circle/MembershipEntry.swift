// MembershipEntry: one change of a circle's membership, signed by a machine or with the keys of the
// recovery code.
// Documentation/Synchronization.md, "Membership log".

package import KeychainCore
import KeychainCrypto

package struct MembershipEntry: Hashable, Sendable {
    /// The change that an entry makes.
    package enum Change: Hashable, Sendable {
        case found(Founding)
        case add(Addition)
        case remove(Closing)
        case suspend(Closing)
        case retire(Closing)

        /// The heads of logs that the change names.
        var heads: LogHeads {
            switch self {
            case .found: [:]
            case .add(let addition): addition.heads
            case .remove(let closing), .suspend(let closing), .retire(let closing): closing.heads
            }
        }
    }

    /// The first entry.
    package struct Founding: Hashable, Sendable {
        /// Random or, with a recovery code, derived from the code and the founder's keys.
        package var salt: Bytes16
        /// The digest of the circle key, see ``CircleKey/check``.
        package var keyCheck: Digest
        package var founder: MachineDescription
        /// The public keys derived from the recovery code; `nil` if there is none.
        package var recovery: MachineDescription?
        /// The founder's name, sealed under a key that is derived from the circle key.
        package var sealedName: [UInt8]

        package init(
            salt: Bytes16, keyCheck: Digest, founder: MachineDescription,
            recovery: MachineDescription?, sealedName: [UInt8]
        ) {
            self.salt = salt
            self.keyCheck = keyCheck
            self.founder = founder
            self.recovery = recovery
            self.sealedName = sealedName
        }
    }

    package struct Addition: Hashable, Sendable {
        package var machine: MachineDescription
        package var scope: GroupScope
        /// The identifier of the join token with which the machine was added. The token can't be
        /// used again. `nil` if none was used.
        package var token: Bytes16?
        package var sealedName: [UInt8]
        /// How far the signer has read each log. If the server withholds an entry that the signer
        /// has read, the new machine reports that. Empty if the entry is signed with the recovery
        /// code's keys.
        package var heads: LogHeads

        package init(
            machine: MachineDescription, scope: GroupScope, token: Bytes16? = nil,
            sealedName: [UInt8], heads: LogHeads
        ) {
            self.machine = machine
            self.scope = scope
            self.token = token
            self.sealedName = sealedName
            self.heads = heads
        }
    }

    /// The removal or suspension of a machine, or the retirement of its log.
    package struct Closing: Hashable, Sendable {
        package var machine: MachineID
        /// Heads of logs; what they mean depends on the change, see `Roster.Change`.
        package var heads: LogHeads

        package init(machine: MachineID, heads: LogHeads) {
            self.machine = machine
            self.heads = heads
        }
    }

    /// `nil` in the founding entry, whose digest is the circle's identifier.
    package let circle: CircleID?
    /// 1 for the founding entry.
    package let index: UInt64
    package let previous: Digest
    package let signer: MachineID
    /// Milliseconds since 1970-01-01 00:00:00 UTC, by the signer's clock. No decision depends on
    /// this time.
    package let created: Int64
    package let change: Change
    package let signature: [UInt8]

    /// Makes and signs an entry.
    package init(
        _ change: Change, after head: LogHead, in circle: CircleID?, created: Int64,
        by keys: MachineKeys
    ) throws(KeychainFailure) {
        let unsigned = MembershipEntry(
            circle, head.index + 1, head.digest, keys.id, created, change, signature: [])
        self = MembershipEntry(
            circle, unsigned.index, unsigned.previous, unsigned.signer, created, change,
            signature: try keys.signer.signature(over: unsigned.signedBytes))
    }

    private init(
        _ circle: CircleID?, _ index: UInt64, _ previous: Digest, _ signer: MachineID,
        _ created: Int64, _ change: Change, signature: [UInt8]
    ) {
        self.circle = circle
        self.index = index
        self.previous = previous
        self.signer = signer
        self.created = created
        self.change = change
        self.signature = signature
    }

    // MARK: Bytes

    private static let magic = Array("KCSM".utf8)
    private static let version: UInt8 = 1
    /// The maximum size of a sealed name, in bytes. The limit is generous: a name has at most 255
    /// bytes, to which sealing adds a nonce and a tag.
    static let sealedNameLimit = 512

    package var bytes: [UInt8] { signedBytes + signature }

    /// The digest of the signed bytes. Entries that differ only in the signature are one entry.
    package var digest: Digest {
        guard let digest = Digest(Fingerprint.sha256(of: signedBytes)) else {
            preconditionFailure("a digest has the wrong size")
        }
        return digest
    }

    package var head: LogHead { LogHead(index: index, digest: digest) }

    var signedBytes: [UInt8] {
        var writer = ByteWriter(capacity: 2048)
        writer.bytes(Self.magic)
        writer.number(Self.version)
        writer.number(kind)
        writer.number(UInt16(0))
        (circle?.digest ?? .zero).write(to: &writer)
        writer.number(index)
        previous.write(to: &writer)
        writer.write(signer)
        writer.number(created)
        switch change {
        case .found(let founding):
            founding.salt.write(to: &writer)
            founding.keyCheck.write(to: &writer)
            writer.bytes(founding.founder.bytes)
            writer.number(UInt8(founding.recovery == nil ? 0 : 1))
            writer.bytes(founding.recovery?.bytes ?? [])
            writer.sized(founding.sealedName)
        case .add(let addition):
            writer.bytes(addition.machine.bytes)
            addition.scope.write(to: &writer)
            (addition.token ?? Digest.zeroToken).write(to: &writer)
            writer.sized(addition.sealedName)
            writer.list(addition.heads)
        case .remove(let closing), .suspend(let closing), .retire(let closing):
            writer.write(closing.machine)
            writer.list(closing.heads)
        }
        return writer.result
    }

    private var kind: UInt8 {
        switch change {
        case .found: 1
        case .add: 2
        case .remove: 3
        case .suspend: 4
        case .retire: 5
        }
    }

    /// - Throws: ``SynchronizationFailure/malformed(_:)``. The signature isn't checked.
    package init(decoding bytes: [UInt8]) throws(SynchronizationFailure) {
        var reader = ByteReader(bytes)
        guard let entry = MembershipEntry(reading: &reader), reader.isAtEnd else {
            throw .malformed("an entry of the membership log can't be decoded")
        }
        self = entry
    }

    private init?(reading reader: inout ByteReader) {
        guard reader.bytes(4) == Self.magic, reader.number() == Self.version,
            let kind: UInt8 = reader.number(), reader.number() == UInt16(0),
            let circle = Digest(reading: &reader), let index: UInt64 = reader.number(),
            let previous = Digest(reading: &reader), let signer = reader.machine(),
            let created: Int64 = reader.number(),
            let change = Self.change(kind, &reader),
            let signature = reader.bytes(SoftwareSigner.signatureByteCount)
        else { return nil }
        self.init(
            circle == .zero ? nil : CircleID(circle), index, previous, signer, created, change,
            signature: signature)
    }

    private static func change(_ kind: UInt8, _ reader: inout ByteReader) -> Change? {
        switch kind {
        case 1:
            guard let salt = reader.bytes16(), let keyCheck = Digest(reading: &reader),
                let founder = MachineDescription(reading: &reader),
                let hasRecovery: UInt8 = reader.number(), hasRecovery <= 1
            else { return nil }
            var recovery: MachineDescription?
            if hasRecovery == 1 {
                guard let description = MachineDescription(reading: &reader) else { return nil }
                recovery = description
            }
            guard let sealedName = reader.sized(limit: sealedNameLimit) else { return nil }
            return .found(
                Founding(
                    salt: salt, keyCheck: keyCheck, founder: founder, recovery: recovery,
                    sealedName: sealedName))
        case 2:
            guard let machine = MachineDescription(reading: &reader),
                let scope = GroupScope(reading: &reader), let token = reader.bytes16(),
                let sealedName = reader.sized(limit: sealedNameLimit),
                let heads = reader.heads()
            else { return nil }
            return .add(
                Addition(
                    machine: machine, scope: scope,
                    token: token == Digest.zeroToken ? nil : token,
                    sealedName: sealedName, heads: heads))
        case 3...5:
            guard let machine = reader.machine(), let heads = reader.heads() else { return nil }
            let closing = Closing(machine: machine, heads: heads)
            return switch kind {
            case 3: .remove(closing)
            case 4: .suspend(closing)
            default: .retire(closing)
            }
        default:
            return nil
        }
    }
}

extension Digest {
    /// Stands for a missing token.
    fileprivate static let zeroToken = Bytes16(high: 0, low: 0)
}
