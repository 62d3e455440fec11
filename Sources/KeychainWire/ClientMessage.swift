// ClientMessage: the messages of a client.
// Documentation/Formats/service-protocol-v2.md.

package import KeychainCore

/// The part of a client's message before the body.
package enum ClientMessage: Sendable {
    /// The first message of a connection.
    case hello(ClientHello)
    /// A request, followed by its body. The claim names the access groups whose items the request
    /// asks to see. Of these, the service grants only the groups that the client is entitled to.
    /// The claim is empty in requests about the keychain as a whole.
    case request(RequestCode, claim: AccessGroups)
    /// Starts a subscription: from then on, changes are reported under the id of this message.
    case subscribe
    /// Ends the subscription that the message with this id started.
    case unsubscribe(UInt64)

    // MARK: Writing

    /// Returns the frame of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - id: An id of at least 1, different for each message of a connection.
    ///   - claim: The access groups that the request claims.
    ///   - limit: The maximum size of the message in bytes.
    /// - Returns: The frame.
    /// - Throws: `param` if the request is larger than the limit.
    package static func frame<R: Request>(
        of request: R, id: UInt64, claim: AccessGroups,
        limit: Int = WireLimits.messageByteCount
    ) throws(KeychainFailure) -> FrameBuffer {
        var writer = MessageWriter(forMessage: id, kind: 1)
        writer.number(R.code.rawValue)
        claim.encode(to: &writer)
        request.encode(to: &writer)
        return try writer.frame(limit: limit)
    }

    /// Returns the frame of a message that consists of this value alone, without a body.
    package func frame(id: UInt64) throws(KeychainFailure) -> FrameBuffer {
        switch self {
        case .hello(let hello):
            var writer = MessageWriter(forMessage: id, kind: 0)
            hello.encode(to: &writer)
            return try writer.frame()
        case .request(let code, let claim):
            var writer = MessageWriter(forMessage: id, kind: 1)
            writer.number(code.rawValue)
            claim.encode(to: &writer)
            return try writer.frame()
        case .subscribe: return try MessageWriter(forMessage: id, kind: 2).frame()
        case .unsubscribe(let subscription):
            var writer = MessageWriter(forMessage: id, kind: 3)
            writer.number(subscription)
            return try writer.frame()
        }
    }

    // MARK: Reading

    /// Reads the id of a message.
    /// - Throws: `param` if the bytes are not a message. The connection must then be closed.
    package static func id(from reader: inout MessageReader) throws(KeychainFailure) -> UInt64 {
        let id: UInt64 = try reader.number()
        guard id > 0 else { throw .unreadable("its id is missing") }
        return id
    }

    /// Reads the part of a message between the id and the body.
    /// - Throws: `param` if the bytes are malformed; `unimplemented` if the kind or the code is
    ///   unknown.
    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        switch try reader.number() as UInt8 {
        case 0: self = .hello(try ClientHello(from: &reader))
        case 1:
            guard let code = RequestCode(rawValue: try reader.number()) else { throw .unknown }
            self = .request(code, claim: try AccessGroups(from: &reader))
        case 2:
            try reader.requireEnd()
            self = .subscribe
        case 3: self = .unsubscribe(try reader.whole())
        default: throw .unknown
        }
    }
}

/// The range of protocol versions that a client supports.
package struct ClientHello: Hashable, Sendable, MessageCodable {
    package var versions: ClosedRange<UInt32>

    package init(versions: ClosedRange<UInt32> = WireLimits.versions) {
        self.versions = versions
    }

    package func encode(to writer: inout MessageWriter) {
        writer.number(versions.lowerBound)
        writer.number(versions.upperBound)
    }

    /// Ignores additional bytes, which a client of a later version may send.
    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        let oldest: UInt32 = try reader.number()
        let newest: UInt32 = try reader.number()
        guard oldest <= newest else {
            throw .unreadable("the oldest protocol version that it names is above the newest one")
        }
        versions = oldest...newest
    }
}

extension KeychainFailure {
    fileprivate static let unknown = KeychainFailure(
        .unimplemented, "The keychain service doesn't know this request.")
}

// MARK: Frames

extension MessageWriter {
    /// Starts a message after leaving space for the header of its frame.
    init(forMessage id: UInt64, kind: UInt8) {
        self.init()
        number(0 as UInt32)
        number(id)
        number(kind)
    }

    /// Returns the message, preceded by its size.
    /// - Throws: `param` if the message exceeds the limit.
    consuming func frame(
        limit: Int = WireLimits.messageByteCount
    ) throws(KeychainFailure) -> FrameBuffer {
        let size = byteCount - FrameHeader.byteCount
        guard size <= limit, let field = UInt32(exactly: size) else {
            throw .param(
                "The request is too large: the keychain service accepts at most \(limit) bytes in "
                    + "one message.")
        }
        replace(field, at: 0)
        return finished()
    }
}
