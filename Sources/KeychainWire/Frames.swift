// Frames: the bytes around the messages of a connection, and what both ends hold each other to.
//   (1) Before the first frame a handshake goes both ways: over the socket that the client made, with
//       a new socket beside it, and back over the new one. A client that sends its bytes back has
//       the connection now: the kernel puts the credentials of the process that sends beside them.
//   (2) A frame's header says how many bytes its message has.

package import KeychainCore

/// What the service sends when it has accepted a connection, and the client sends back over the
/// socket that came with it.
package struct Handshake: Hashable, Sendable {
    package static let byteCount = 24
    /// Says that a keychain service is at the other end.
    package static let mark = Array("keychain".utf8)

    package let nonce: Bytes16

    package init(nonce: Bytes16) {
        self.nonce = nonce
    }

    /// - Returns: nil for anything that is no handshake.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.mark),
            let nonce = Bytes16(bytes.dropFirst(Self.mark.count))
        else { return nil }
        self.nonce = nonce
    }

    /// One for a new connection.
    package static func random() -> Handshake { Handshake(nonce: .random()) }

    /// The bytes, ``byteCount`` of them.
    package var bytes: [UInt8] { Self.mark + nonce.bytes }
}

/// The bytes before a message: its size, most significant byte first.
package enum FrameHeader {
    package static let byteCount = 4

    /// The size of the message that follows.
    ///
    /// It is to be called before anything is set aside for the message.
    ///
    /// - Parameters:
    ///   - field: The four bytes as a number.
    ///   - limit: The largest size to take, in bytes.
    /// - Returns: The size in bytes, 1 and up.
    /// - Throws: `param` for a size of zero or above the limit: the connection can't go on, since
    ///   it isn't known where the next frame begins.
    package static func messageByteCount(
        _ field: UInt32, limit: Int = WireLimits.messageByteCount
    ) throws(KeychainFailure) -> Int {
        guard field > 0 else { throw .param("A message of the keychain service is empty.") }
        guard Int(field) <= limit else {
            throw .param("A message of the keychain service has more than \(limit) bytes.")
        }
        return Int(field)
    }

    /// The size of the message whose frame begins with these bytes; nil while there are fewer than
    /// ``byteCount``.
    package static func messageByteCount(
        of frame: some Sequence<UInt8>, limit: Int = WireLimits.messageByteCount
    ) throws(KeychainFailure) -> Int? {
        var field: UInt32 = 0
        var count = 0
        for byte in frame.prefix(byteCount) {
            field = field << 8 | UInt32(byte)
            count += 1
        }
        guard count == byteCount else { return nil }
        return try messageByteCount(field, limit: limit)
    }
}

// MARK: - Limits

package enum WireLimits {
    /// The versions of the protocol that this end speaks. Version 1 was another protocol.
    package static let versions: ClosedRange<UInt32> = 2...2
    /// The most bytes of the first message of a client: nobody is believed before it.
    package static let helloByteCount = 1024
    /// The most bytes of one message: a request with the largest secret and its attributes.
    package static let messageByteCount = 64 << 20
    /// The most bytes of an answer in one message. A longer one comes in several.
    package static let partByteCount = 1 << 20
    /// The most bytes of an answer in all its messages: what a client sets aside for it. A listing of
    /// all items of a keychain without their secrets is far below, a few hundred bytes for each item.
    package static let answerByteCount = 1 << 30
    /// The most elements in the lists of one request: items, attributes, access groups.
    package static let elementCount = 50_000
}
