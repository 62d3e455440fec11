// ServiceMessage: the messages of the service.
// Documentation/Formats/service-protocol-v2.md.
//   (1) A long answer is sent in several messages, split at any point. The bodies of these messages
//       in order are the bytes of the answer.
//   (2) A client rejects an answer above a limit, so that a service can't exhaust the client's
//       memory. The service enforces the same limit, except on answers to requests that change the
//       keychain.

package import KeychainCore

/// The kind of a service's message, which follows the id. The id is that of the client's message,
/// or 0 if the message concerns the whole connection, which then ends.
package enum ServiceMessage: UInt8, Sendable {
    /// The answer, or its last part. The body is its bytes.
    case answer = 0
    /// A part of the answer; more parts follow. The body is its bytes.
    case part = 1
    /// The request failed, or, with the id 0, the connection did. The body is a `KeychainFailure`.
    /// Nothing was changed, unless the failure says otherwise.
    case failure = 2
    /// The progress of a long request. The body is a `RequestProgress`.
    case progress = 3
    /// For a subscription: something changed. One message can report several changes.
    case changed = 4
    /// The connection ends; the id is 0. Messages that have not been answered were not carried out.
    case closing = 5

    // MARK: Writing

    /// Returns the frames of an answer, in order.
    ///
    /// - Parameters:
    ///   - id: The id of the request.
    ///   - answer: The answer of the request.
    ///   - partByteCount: The maximum number of the answer's bytes in one frame.
    ///   - limit: The maximum size of the answer in bytes. For a request that changes the keychain,
    ///     pass no limit: the change has been made, so its answer must be sent.
    /// - Returns: At least one frame.
    /// - Throws: `allocate` if the answer exceeds the limit.
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
    /// The size of the frame's header, the id and the kind.
    private static let headByteCount = FrameHeader.byteCount + 9

    // MARK: Reading

    /// Reads the id and kind of a message.
    /// - Throws: `param` if the bytes are not a message of the service.
    package static func head(
        from reader: inout MessageReader
    ) throws(KeychainFailure) -> (id: UInt64, kind: ServiceMessage) {
        let id: UInt64 = try reader.number()
        guard let kind = ServiceMessage(rawValue: try reader.number()) else {
            throw .unreadable("a reply of an unknown kind")
        }
        return (id, kind)
    }
}

extension KeychainFailure {
    /// The error for an answer that is larger than a client accepts.
    package static func answerTooLarge(_ limit: Int) -> KeychainFailure {
        KeychainFailure(
            .allocate,
            "The answer of the keychain service is larger than \(limit) bytes. Request fewer items "
                + "at once, or without their secrets.")
    }
}

/// Describes the service and the rights of the client. It is the answer to the first message of a
/// connection.
package struct Welcome: Hashable, Sendable, MessageCodable {
    /// The keychains that the service holds.
    package enum Kind: Hashable, Sendable, CodedByPosition {
        /// The keychain of the user who runs the service.
        case user
        /// The keychains of all users of the machine, one per user.
        case system
    }

    /// The protocol version used from here on: the newest that both ends support.
    package var version: UInt32
    /// The entitlements of the client.
    package var entitlements: Entitlements
    package var kind: Kind
    /// Whether the client may administer the keychain, see ``RequestCode/isAdministration``.
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
