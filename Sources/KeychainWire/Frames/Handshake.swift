// Handshake: the bytes that go both ways before the first frame.
//   (1) A client that sends them back has the connection now: the kernel puts the credentials of
//       the process that sends beside them.

package import KeychainCore

/// What the service sends when it has accepted a connection, and the client sends back.
package struct Handshake: Hashable, Sendable {
    package static let byteCount = 24
    /// Says that a keychain service is at the other end.
    private static let mark = Array("keychain".utf8)

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
