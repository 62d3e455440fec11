// ServiceMessage: what the service sends.
// Documentation/Formats/service-protocol-v2.md.
//   (1) A long answer comes in several messages, cut anywhere: its bytes are those of all of them,
//       one after the other.
//   (2) Both ends hold an answer to one limit, so a service can't fill the memory of a client.

package import KeychainCore

/// What stands between the id and the body of a message from the service. The id is that of the
/// client's message; 0 in the failure of a whole connection, after which it ends.
package enum ServiceMessage: UInt8, Sendable {
    /// The answer, or its last part. The body is its bytes.
    case answer = 0
    /// A part of the answer that others follow. The body is its bytes.
    case part = 1
    /// The request was not carried out. The body is a `KeychainFailure`.
    case failure = 2
    /// A request takes its time. The body is a `RequestProgress`.
    case progress = 3
    /// To a subscription: something changed. Several changes may be told of by one.
    case changed = 4
    /// The connection ends, with the id 0. A message that has no answer yet was not carried out.
    case closing = 5

    // MARK: Writing

    /// The frames of an answer, in their order.
    ///
    /// - Parameters:
    ///   - id: Of the request.
    ///   - answer: What the request gave.
    ///   - partByteCount: The most bytes of the answer in one frame.
    ///   - limit: The most bytes of the answer. That of a change is sent whatever its size: the change
    ///     was made.
    /// - Returns: One frame and up.
    /// - Throws: `allocate` where the answer is larger than an answer may be.
    package static func frames<Answer: MessageCodable>(
        id: UInt64, _ answer: Answer, partByteCount: Int = WireLimits.partByteCount,
        limit: Int = .max
    ) throws(KeychainFailure) -> [FrameBuffer] {
        var writer = MessageWriter(forMessage: id, kind: answerKind)
        answer.encode(to: &writer)
        let size = writer.byteCount - headByteCount
        guard size <= limit else { throw .answerTooLarge(limit) }
        if size <= partByteCount {
            writer.replace(UInt32(clamping: writer.byteCount - FrameHeader.byteCount), at: 0)
            return [writer.finished()]
        }
        let whole = writer.finished()
        return stride(from: headByteCount, to: whole.count, by: partByteCount).map { start in
            let end = min(start + partByteCount, whole.count)
            var writer = MessageWriter(
                forMessage: id, kind: end == whole.count ? answerKind : part.rawValue)
            writer.append(whole, start..<end)
            writer.replace(UInt32(clamping: writer.byteCount - FrameHeader.byteCount), at: 0)
            return writer.finished()
        }
    }

    package static func frame(id: UInt64, _ failure: KeychainFailure) -> FrameBuffer {
        frame(id: id, .failure, failure)
    }

    package static func frame(id: UInt64, _ progress: RequestProgress) -> FrameBuffer {
        frame(id: id, .progress, progress)
    }

    package static func frameOfChange(id: UInt64) -> FrameBuffer { frame(id: id, .changed, Done()) }

    package static var frameOfClosing: FrameBuffer { frame(id: 0, .closing, Done()) }

    private static func frame(
        id: UInt64, _ kind: ServiceMessage, _ body: some MessageCodable
    ) -> FrameBuffer {
        var writer = MessageWriter(forMessage: id, kind: kind.rawValue)
        body.encode(to: &writer)
        writer.replace(UInt32(clamping: writer.byteCount - FrameHeader.byteCount), at: 0)
        return writer.finished()
    }

    private static let answerKind = ServiceMessage.answer.rawValue
    /// The header of the frame, the id and the kind.
    private static let headByteCount = FrameHeader.byteCount + 9

    // MARK: Reading

    /// Id and kind of a message.
    /// - Throws: `param` for bytes that are no message of the service.
    package static func head(
        from reader: inout MessageReader
    ) throws(KeychainFailure) -> (id: UInt64, kind: ServiceMessage) {
        let id: UInt64 = try reader.number()
        guard let kind = ServiceMessage(rawValue: try reader.number()) else {
            throw .unreadable("a reply of no kind")
        }
        return (id, kind)
    }
}

extension KeychainFailure {
    /// An answer that a client doesn't take.
    package static func answerTooLarge(_ limit: Int) -> KeychainFailure {
        KeychainFailure(
            .allocate,
            "The answer of the keychain service has more than \(limit) bytes. Ask for fewer items at "
                + "once, or without their secrets.")
    }
}

/// What the service says of itself and of the client that it speaks to: the answer to the first
/// message of a connection.
package struct Welcome: Hashable, Sendable, MessageCodable {
    /// Whose keychain the service keeps.
    package enum Kind: Hashable, Sendable, CodedByPosition {
        /// Of the user who runs it.
        case user
        /// Of every user of the machine, one each.
        case system
    }

    /// The version of the protocol from here on: the newest that both ends speak.
    package var version: UInt32
    /// What the client is entitled to.
    package var entitlements: Entitlements
    package var kind: Kind
    /// Whether the client may ask for what is about the keychain as a whole.
    package var allowsAdministration: Bool

    package init(
        version: UInt32, entitlements: Entitlements, kind: Kind, allowsAdministration: Bool
    ) {
        self.version = version
        self.entitlements = entitlements
        self.kind = kind
        self.allowsAdministration = allowsAdministration
    }

    package func encode(to writer: inout MessageWriter) {
        writer.number(version)
        entitlements.encode(to: &writer)
        kind.encode(to: &writer)
        allowsAdministration.encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            version: try reader.number(), entitlements: try .init(from: &reader),
            kind: try .init(from: &reader), allowsAdministration: try .init(from: &reader))
    }
}
