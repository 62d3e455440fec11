// ClientMessage: what a client sends.
// Documentation/Formats/service-protocol-v2.md.

package import KeychainCore

/// What stands before the body of a message from a client.
package enum ClientMessage: Sendable {
    /// The first message of a connection.
    case hello(ClientHello)
    /// A request, whose body follows. The claim says whose items it may see; the service takes of
    /// these groups those that the client is entitled to. It is empty in requests about the keychain
    /// as a whole.
    case request(RequestCode, claim: AccessGroups)
    /// From now on every change is told of under the id of this message.
    case subscribe
    /// The id of the message that began the subscription which is to end.
    case unsubscribe(UInt64)

    // MARK: Writing

    /// The frame of a request.
    ///
    /// - Parameters:
    ///   - request: What is asked for.
    ///   - id: 1 and up, another one for each message of a connection.
    ///   - claim: On behalf of which access groups.
    ///   - limit: The most bytes of the message.
    /// - Returns: The frame.
    /// - Throws: `param` where the request is larger than a message may be.
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

    /// The frame of a message that says no more than this value does.
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

    /// The id of a message.
    /// - Throws: `param` for bytes that are no message: the connection is to be ended.
    package static func id(from reader: inout MessageReader) throws(KeychainFailure) -> UInt64 {
        let id: UInt64 = try reader.number()
        guard id > 0 else { throw .unreadable("it has no id") }
        return id
    }

    /// What stands between the id and the body.
    /// - Throws: `param` for bytes that are none of it; `unimplemented` for what isn't known.
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

/// Which versions of the protocol a client speaks.
package struct ClientHello: Hashable, Sendable, MessageCodable {
    package var versions: ClosedRange<UInt32>

    package init(versions: ClosedRange<UInt32> = WireLimits.versions) {
        self.versions = versions
    }

    package func encode(to writer: inout MessageWriter) {
        writer.number(versions.lowerBound)
        writer.number(versions.upperBound)
    }

    /// What an end of a later version says beside it is passed over.
    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        let oldest: UInt32 = try reader.number()
        let newest: UInt32 = try reader.number()
        guard oldest <= newest else { throw .unreadable("its versions") }
        versions = oldest...newest
    }
}

extension KeychainFailure {
    fileprivate static let unknown = KeychainFailure(
        .unimplemented, "The keychain service doesn't know this request.")
}

// MARK: Frames

extension MessageWriter {
    /// A message after the header of its frame.
    init(forMessage id: UInt64, kind: UInt8) {
        self.init()
        number(0 as UInt32)
        number(id)
        number(kind)
    }

    /// The message with its size before it.
    /// - Throws: `param` for a message above the limit.
    consuming func frame(
        limit: Int = WireLimits.messageByteCount
    ) throws(KeychainFailure) -> FrameBuffer {
        let size = byteCount - FrameHeader.byteCount
        guard size <= limit, let field = UInt32(exactly: size) else {
            throw .param(
                "This is too large for the keychain service, which takes \(limit) bytes at once.")
        }
        replace(field, at: 0)
        return finished()
    }
}
