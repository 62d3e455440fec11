// JoiningMessages: the bytes of the messages by which a machine joins with six digits.
// Documentation/Synchronization.md, "Messages of joining".
//   (1) Each kind of message has one length. A reader rejects any other length, kind and version,
//       and reserved bytes that aren't zero. Refusals aren't read: a refusal ends the attempt,
//       whatever its bytes are.
//   (2) The messages aren't signed. What the server alters is rejected or leads to different digits
//       on the two machines, except for `Request.created`, which affects only the order of the
//       answers.

import KeychainCore

extension Joining {
    private static let magic = Array("KCSJ".utf8)
    private static let version: UInt8 = 1

    /// What a message is. The numbers are part of the format.
    fileprivate enum Kind: UInt8 {
        case request = 1
        case challenge = 2
        case opening = 3
        case refusal = 4
    }

    fileprivate static func writer(_ kind: Kind) -> ByteWriter {
        var writer = ByteWriter(capacity: 1400)
        writer.bytes(magic)
        writer.number(version)
        writer.number(kind.rawValue)
        writer.number(UInt16(0))
        return writer
    }

    /// A reader of what follows a message's header; `nil` if the header is not that of this kind in
    /// this version.
    fileprivate static func reader(_ bytes: [UInt8], _ kind: Kind) -> ByteReader? {
        var reader = ByteReader(bytes)
        guard reader.bytes(4) == magic, reader.number() == version,
            reader.number() == kind.rawValue, reader.number() == UInt16(0)
        else { return nil }
        return reader
    }

    // MARK: Request

    /// The joiner's first message: its commitment, and when the joiner made it.
    package struct Request: Hashable, Sendable {
        package let commitment: Commitment
        /// Milliseconds since 1970-01-01 00:00:00 UTC, by the joiner's clock. A member uses it only
        /// to answer the latest request first.
        package let created: Int64

        package init(commitment: Commitment, created: Int64) {
            self.commitment = commitment
            self.created = created
        }

        package var bytes: [UInt8] {
            var writer = Joining.writer(.request)
            commitment.write(to: &writer)
            writer.number(created)
            return writer.result
        }

        /// - Throws: ``SynchronizationFailure/malformed(_:)``.
        package init(decoding bytes: [UInt8]) throws(SynchronizationFailure) {
            guard var reader = Joining.reader(bytes, .request),
                let commitment = Commitment(reading: &reader),
                let created: Int64 = reader.number(), reader.isAtEnd
            else { throw .malformed("a request to join can't be decoded") }
            self.init(commitment: commitment, created: created)
        }
    }

    // MARK: Refusal

    /// The message by which either side ends an attempt.
    package static var refusal: [UInt8] { writer(.refusal).result }
}

extension Joining.Commitment {
    fileprivate func write(to writer: inout ByteWriter) {
        circle.digest.write(to: &writer)
        digest.write(to: &writer)
    }

    fileprivate init?(reading reader: inout ByteReader) {
        guard let circle = Digest(reading: &reader), let digest = Digest(reading: &reader) else {
            return nil
        }
        self.init(circle: CircleID(circle), digest: digest)
    }
}

extension Joining.Challenge {
    package var bytes: [UInt8] {
        var writer = Joining.writer(.challenge)
        commitment.write(to: &writer)
        writer.write(member)
        head.write(to: &writer)
        writer.bytes(nonce)
        return writer.result
    }

    /// - Throws: ``SynchronizationFailure/malformed(_:)``.
    package init(decoding bytes: [UInt8]) throws(SynchronizationFailure) {
        guard var reader = Joining.reader(bytes, .challenge),
            let commitment = Joining.Commitment(reading: &reader),
            let member = reader.machine(), let head = LogHead(reading: &reader),
            let nonce = reader.bytes(Joining.nonceByteCount), reader.isAtEnd
        else { throw .malformed("the answer to a request to join can't be decoded") }
        self.init(commitment: commitment, member: member, head: head, nonce: nonce)
    }
}

extension Joining.Opening {
    package var bytes: [UInt8] {
        var writer = Joining.writer(.opening)
        writer.bytes(machine.bytes)
        writer.bytes(nonce)
        return writer.result
    }

    /// - Throws: ``SynchronizationFailure/malformed(_:)``.
    package init(decoding bytes: [UInt8]) throws(SynchronizationFailure) {
        guard var reader = Joining.reader(bytes, .opening),
            let machine = MachineDescription(reading: &reader),
            let nonce = reader.bytes(Joining.nonceByteCount), reader.isAtEnd
        else { throw .malformed("the keys of a machine that joins can't be decoded") }
        self.init(machine: machine, nonce: nonce)
    }
}
