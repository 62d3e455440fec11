// RawClient: a connection over which a test sends any bytes.

import Foundation
import Glibc
import KeychainCrypto
import KeychainCore
import KeychainWire
import Testing

@testable import KeychainDaemon

final class RawClient {
    /// The socket that came with the challenge or, before the challenge arrives, the socket that
    /// the client created.
    var descriptor: Int32 { (given ?? first).number }
    private let first: OwnedDescriptor
    private var given: OwnedDescriptor?
    private var received: [UInt8] = []

    struct Ended: Error {}
    struct TimedOut: Error {}

    /// Connects and, if `isAnswering`, answers the service's challenge.
    init(_ path: String, isAnswering: Bool = true) throws {
        first = try #require(UnixSockets.make())
        try #require(UnixSockets.connect(first, to: path), "\(errno)")
        if isAnswering { try send(try question()) }
    }

    /// Receives the service's challenge. Everything sent afterwards goes over the socket that came
    /// with the challenge.
    func question() throws -> [UInt8] {
        try waitForBytes()
        let received = UnixSockets.receive(
            atMost: Handshake.byteCount, withDescriptorFrom: first.number)
        guard let received, let passed = received.descriptor else { throw Ended() }
        given = passed
        first.close()
        return received.bytes
    }

    /// Sends bytes, and blocks until the socket accepts them all.
    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            // SAFETY: the bytes are read within the call.
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Ended() }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends as much as the socket accepts without blocking.
    /// - Returns: Whether the socket accepted all bytes.
    func sendWithoutWaiting(_ bytes: [UInt8]) -> Bool {
        // SAFETY: the bytes are read within the call.
        unsafe bytes.withUnsafeBytes { buffer in
            unsafe Glibc.send(
                descriptor, buffer.baseAddress, buffer.count,
                Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        } == bytes.count
    }

    /// A message from the service.
    struct Reply {
        let id: UInt64
        let kind: ServiceMessage
        fileprivate let message: [UInt8]

        /// Decodes the body as a value of a type.
        func body<Body: MessageCodable>(_ type: Body.Type) throws -> Body {
            try read(message) { reader in
                _ = try ServiceMessage.head(from: &reader)
                return try Body(from: &reader)
            }
        }
    }

    func request(_ id: UInt64, _ request: some Request, as claim: [String] = []) throws -> [UInt8] {
        try Self.bytes(ClientMessage.frame(of: request, id: id, claim: AccessGroups(claim)))
    }

    func ask(_ id: UInt64, _ request: some Request, as claim: [String] = []) throws -> Reply {
        try send(try self.request(id, request, as: claim))
        return try reply()
    }

    /// Sends a message that isn't a request, and waits for the reply.
    func tell(_ id: UInt64, _ message: ClientMessage) throws -> Reply {
        try send(try bytes(message, id: id))
        return try reply()
    }

    func bytes(_ message: ClientMessage, id: UInt64) throws -> [UInt8] {
        try Self.bytes(message.frame(id: id))
    }

    func greet() throws {
        guard try tell(1, .hello(ClientHello())).kind == .answer else { throw Ended() }
    }

    /// Waits for the next message from the service.
    func reply() throws -> Reply {
        let size = try receive(4).reduce(0) { $0 << 8 | Int($1) }
        let message = try receive(size)
        let head = try read(message) { try ServiceMessage.head(from: &$0) }
        return Reply(id: head.id, kind: head.kind, message: message)
    }

    private static func bytes(_ frame: FrameBuffer) -> [UInt8] {
        // SAFETY: the bytes are copied within the call.
        unsafe frame.withUnsafeBytes { unsafe Array($0) }
    }

    /// Whether the service has sent anything that was not received yet.
    var hasBytes: Bool {
        Descriptor.ready(among: [descriptor], for: POLLIN, milliseconds: 0)?[0] == true
    }

    /// Waits until the service closes the connection.
    /// - Returns: `false` if the service neither sends bytes nor closes the connection for a
    ///   minute.
    func isClosed() throws -> Bool {
        do {
            while true { _ = try receive(1) }
        } catch is Ended {
            return true
        } catch is TimedOut {
            return false
        }
    }

    private func waitForBytes() throws {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // SAFETY: the structure is used within the call.
        guard unsafe Glibc.poll(&poll, 1, 60_000) > 0 else { throw TimedOut() }
    }

    func receive(_ count: Int) throws -> [UInt8] {
        while received.count < count {
            try waitForBytes()
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            // SAFETY: the array is written within its bounds, within the call.
            let more = unsafe bytes.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
            }
            guard more > 0 else { throw Ended() }
            received += bytes[..<more]
        }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }
}

/// Calls `body` with a reader for a message.
private func read<Result>(
    _ message: [UInt8], _ body: (inout MessageReader) throws -> Result
) throws -> Result {
    // SAFETY: the reader is used within the call.
    try unsafe message.withUnsafeBytes { bytes in
        var reader = unsafe MessageReader(bytes)
        return try body(&reader)
    }
}
