// LogEntry: an entry of a machine's log: versions of items, grants of keys, requests for keys, and
// acknowledgements of other logs. Documentation/Synchronization.md, "Logs".

package import KeychainCore
import KeychainCrypto

package struct LogEntry: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        case version(SealedVersion)
        case grant(KeyGrant)
        /// The identifiers of group keys that the writer needs and has not been given.
        case wanted(Set<Bytes16>)
    }

    /// The fields of an entry other than its parts and its signature.
    package struct Frame: Hashable, Sendable {
        package var circle: CircleID
        package var writer: MachineID
        package var previous: LogHead
        /// The head of the membership log that the writer knew.
        package var membership: LogHead
        /// The index of the first entry of this log that is still needed. Earlier entries may be
        /// deleted.
        package var first: UInt64
        /// How far the writer has read other logs. A log is left out if the writer has skipped
        /// entries of it that are still needed. It is also left out if the writer has read nothing
        /// new in it since the writer's earlier entries, unless ``first`` rises. Empty in an entry
        /// with nothing but grants and requests for keys.
        package var acknowledged: LogHeads
        /// Whether the log is clean with this entry: from ``first`` on, it contains no version that
        /// the writer knows to be superseded or that a later entry repeats, and the writer has no
        /// version left to append.
        package var isClean: Bool

        package init(
            circle: CircleID, writer: MachineID, previous: LogHead, membership: LogHead,
            first: UInt64, acknowledged: LogHeads, isClean: Bool
        ) {
            self.isClean = isClean
            self.circle = circle
            self.writer = writer
            self.previous = previous
            self.membership = membership
            self.first = first
            self.acknowledged = acknowledged
        }

        package var index: UInt64 { previous.index + 1 }
    }

    package let frame: Frame
    package let parts: [Part]
    package let signature: [UInt8]

    /// Signs an entry.
    package init(
        _ frame: Frame, _ parts: [Part], by keys: MachineKeys
    ) throws(KeychainFailure) {
        self = LogEntry(
            frame, parts,
            signature: try keys.signer.signature(
                over: LogEntry(frame, parts, signature: []).signedBytes))
    }

    private init(_ frame: Frame, _ parts: [Part], signature: [UInt8]) {
        self.frame = frame
        self.parts = parts
        self.signature = signature
    }

    package var index: UInt64 { frame.index }

    package var head: LogHead { LogHead(index: index, digest: digest) }

    /// The digest of the signed bytes. Entries that differ only in the signature are one entry.
    package var digest: Digest {
        guard let digest = Digest(Fingerprint.sha256(of: signedBytes)) else {
            preconditionFailure("a digest has the wrong size")
        }
        return digest
    }

    /// Whether a machine with this description has signed the entry.
    package func isSigned(by machine: MachineDescription) -> Bool {
        machine.isValid(signature, over: signedBytes)
    }

    /// The place of a part of this entry.
    package func place(ofPart part: Int) -> SealedVersion.Place {
        SealedVersion.Place(
            circle: frame.circle, writer: frame.writer, index: index,
            part: UInt32(truncatingIfNeeded: part))
    }

    // MARK: Bytes

    private static let magic = Array("KCSL".utf8)
    private static let version: UInt8 = 1
    /// By default, etcd accepts requests of at most 1.5 MiB.
    package static let byteLimit = 1 << 20

    package var bytes: [UInt8] { signedBytes + signature }

    var signedBytes: [UInt8] {
        var writer = ByteWriter(capacity: 4096)
        writer.bytes(Self.magic)
        writer.number(Self.version)
        writer.number(UInt8(frame.isClean ? 1 : 0))
        writer.number(UInt16(0))
        frame.circle.digest.write(to: &writer)
        writer.write(frame.writer)
        writer.number(index)
        frame.previous.digest.write(to: &writer)
        frame.membership.write(to: &writer)
        writer.number(frame.first)
        writer.list(frame.acknowledged)
        writer.list(parts) { part, writer in
            switch part {
            case .version(let version):
                writer.number(UInt8(1))
                version.write(to: &writer)
            case .grant(let grant):
                writer.number(UInt8(2))
                grant.write(to: &writer)
            case .wanted(let keys):
                writer.number(UInt8(3))
                writer.list(keys)
            }
        }
        return writer.result
    }

    /// - Throws: ``SynchronizationFailure/malformed(_:)``. The signature isn't checked.
    package init(decoding bytes: [UInt8]) throws(SynchronizationFailure) {
        var reader = ByteReader(bytes)
        guard bytes.count <= Self.byteLimit, let entry = LogEntry(reading: &reader),
            reader.isAtEnd
        else { throw .malformed("an entry of a log can't be decoded") }
        self = entry
    }

    private init?(reading reader: inout ByteReader) {
        guard reader.bytes(4) == Self.magic, reader.number() == Self.version,
            let flags: UInt8 = reader.number(), flags <= 1, reader.number() == UInt16(0),
            let circle = Digest(reading: &reader),
            let writer = reader.machine(), let index: UInt64 = reader.number(),
            (1...LogHead.indexLimit).contains(index),
            let previous = Digest(reading: &reader),
            let membership = LogHead(reading: &reader), let first: UInt64 = reader.number(),
            (1...index).contains(first), let acknowledged = reader.heads(),
            let parts = reader.list({ Self.part(&$0) }),
            let signature = reader.bytes(SoftwareSigner.signatureByteCount)
        else { return nil }
        self.init(
            Frame(
                circle: CircleID(circle), writer: writer,
                previous: LogHead(index: index - 1, digest: previous), membership: membership,
                first: first, acknowledged: acknowledged, isClean: flags == 1),
            parts, signature: signature)
    }

    private static func part(_ reader: inout ByteReader) -> Part? {
        guard let kind: UInt8 = reader.number() else { return nil }
        switch kind {
        case 1: return SealedVersion(reading: &reader).map { .version($0) }
        case 2: return KeyGrant(reading: &reader).map { .grant($0) }
        case 3: return reader.identifiers().map { .wanted($0) }
        default: return nil
        }
    }
}

extension LogEntry {
    func grants(to machine: MachineID) -> Bool {
        parts.contains {
            if case .grant(let grant) = $0 { grant.recipient == machine } else { false }
        }
    }
}
