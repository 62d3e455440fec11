// Frames: the framing of messages on a connection, and the limits that one or both ends enforce.
//   (1) A handshake precedes the first frame. The service sends it over the socket that the client
//       created, together with the descriptor of a new socket; the client sends it back over the
//       new socket. The kernel attaches the credentials of the sending process, which proves that
//       the sender holds the connection now.
//   (2) A frame consists of a header with the size of the message, and the message.

package import KeychainCore

/// The bytes that the service sends when it has accepted a connection, and that the client sends
/// back over the new socket that came with them.
package struct Handshake: Hashable, Sendable {
    package static let byteCount = 24
    /// Identifies the peer as a keychain service.
    package static let mark = Array("keychain".utf8)

    package let nonce: Bytes16

    package init(nonce: Bytes16) {
        self.nonce = nonce
    }

    /// - Returns: `nil` if the bytes are not a handshake.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.mark),
            let nonce = Bytes16(bytes.dropFirst(Self.mark.count))
        else { return nil }
        self.nonce = nonce
    }

    /// Returns the handshake for a new connection.
    package static func random() -> Handshake { Handshake(nonce: .random()) }

    /// The ``byteCount`` bytes of the handshake.
    package var bytes: [UInt8] { Self.mark + nonce.bytes }
}

/// The bytes before a message: its size as a big-endian number.
package enum FrameHeader {
    package static let byteCount = 4

    /// Checks the size of the message that follows.
    ///
    /// Call it before allocating memory for the message.
    ///
    /// - Parameters:
    ///   - field: The four bytes of the header as a number.
    ///   - limit: The maximum size in bytes.
    /// - Returns: The size in bytes, at least 1.
    /// - Throws: `param` if the size is zero or exceeds the limit. The connection can't continue
    ///   then, because the start of the next frame is unknown.
    package static func messageByteCount(
        _ field: UInt32, limit: Int = WireLimits.messageByteCount
    ) throws(KeychainFailure) -> Int {
        guard field > 0 else { throw .param("A message to or from the keychain service is empty.") }
        guard Int(field) <= limit else {
            throw .param("A message to or from the keychain service has more than \(limit) bytes.")
        }
        return Int(field)
    }

    /// The size of the message whose frame starts with these bytes; `nil` if there are fewer than
    /// ``byteCount``.
    package static func messageByteCount(
        of frame: some Sequence<UInt8>, limit: Int = WireLimits.messageByteCount
    ) throws(KeychainFailure) -> Int? {
        var field: UInt32 = 0
        var bytes = frame.makeIterator()
        for _ in 0..<byteCount {
            guard let byte = bytes.next() else { return nil }
            field = field << 8 | UInt32(byte)
        }
        return try messageByteCount(field, limit: limit)
    }
}

// MARK: - Limits

package enum WireLimits {
    /// The protocol versions that this end supports. Version 1 was a different protocol.
    package static let versions: ClosedRange<UInt32> = 2...2
    /// The maximum size of a client's first message in bytes. It is small, because the service
    /// doesn't trust the client before that message.
    package static let helloByteCount = 1024
    /// The maximum size of one message in bytes. It limits the size of the secrets that a client
    /// can save, because a request is one message.
    package static let messageByteCount = 64 << 20
    /// The maximum number of an answer's bytes in one message. A longer answer is sent in several
    /// messages.
    package static let partByteCount = 1 << 20
    /// The maximum size of a whole answer in bytes, which limits the memory that a client allocates
    /// for it. A list of all items of a keychain without their secrets is far smaller: it has a few
    /// hundred bytes per item.
    package static let answerByteCount = 1 << 30
    /// The maximum number of elements in all lists of one request together: items, attributes,
    /// access groups.
    package static let elementCount = 50_000
}
