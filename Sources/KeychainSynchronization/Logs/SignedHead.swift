// SignedHead: the head of a machine's log, signed at intervals, so that the age of the latest
// signed head reveals a server that withholds entries. Documentation/Synchronization.md, "Heads".

package import KeychainCore

package struct SignedHead: Hashable, Sendable {
    package let circle: CircleID
    package let machine: MachineID
    package let log: LogHead
    package let membership: LogHead
    /// Milliseconds since 1970-01-01 00:00:00 UTC, by the machine's clock.
    package let moment: Int64
    package let signature: [UInt8]

    package init(
        _ log: LogHead, membership: LogHead, moment: Int64, in circle: CircleID,
        by keys: MachineKeys
    ) throws(KeychainFailure) {
        let unsigned = SignedHead(circle, keys.id, log, membership, moment, signature: [])
        self = SignedHead(
            circle, keys.id, log, membership, moment,
            signature: try keys.signer.signature(over: unsigned.signedBytes))
    }

    private init(
        _ circle: CircleID, _ machine: MachineID, _ log: LogHead, _ membership: LogHead,
        _ moment: Int64, signature: [UInt8]
    ) {
        self.circle = circle
        self.machine = machine
        self.log = log
        self.membership = membership
        self.moment = moment
        self.signature = signature
    }

    /// - Throws: The reason why the head isn't that of a member of the circle.
    package func verify(in circle: Circle) throws(SynchronizationFailure) {
        let name = "the signed head of \(machine)"
        guard self.circle == circle.id else {
            throw .misplaced("\(name) belongs to another circle")
        }
        guard let member = circle.member(machine) else {
            throw .notEntitled("\(name) isn't from a member")
        }
        guard member.description.isValid(signature, over: signedBytes) else {
            throw .badSignature(name)
        }
    }

    // MARK: Bytes

    private static let magic = Array("KCSH".utf8)
    private static let version: UInt8 = 1

    package var bytes: [UInt8] { signedBytes + signature }

    var signedBytes: [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.bytes(Self.magic)
        writer.number(Self.version)
        writer.bytes([0, 0, 0])
        circle.digest.write(to: &writer)
        writer.write(machine)
        log.write(to: &writer)
        membership.write(to: &writer)
        writer.number(moment)
        return writer.result
    }

    /// - Throws: ``SynchronizationFailure/malformed(_:)``. The signature isn't checked.
    package init(decoding bytes: [UInt8]) throws(SynchronizationFailure) {
        var reader = ByteReader(bytes)
        guard reader.bytes(4) == Self.magic, reader.number() == Self.version,
            reader.bytes(3) == [0, 0, 0], let circle = Digest(reading: &reader),
            let machine = reader.machine(), let log = LogHead(reading: &reader),
            let membership = LogHead(reading: &reader), let moment: Int64 = reader.number(),
            let signature = reader.bytes(SoftwareSigner.signatureByteCount), reader.isAtEnd
        else { throw .malformed("a signed head can't be decoded") }
        self.init(
            CircleID(circle), machine, log, membership, moment, signature: signature)
    }
}
