// RawClient: a connection on which a test sends what it wants.

import Foundation
import Glibc
import KeychainModel
import KeychainWire
import Testing

@testable import KeychainDaemon

final class RawClient {
    let descriptor: Int32
    private var received: [UInt8] = []

    struct Ended: Error {}
    struct TimedOut: Error {}

    /// Connects, and answers the service's question.
    init(_ path: String, isAnswering: Bool = true) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let owned = OwnedDescriptor(descriptor)
        defer { _ = owned.handOn() }
        try #require(Sockets.connectForTests(owned, path), "\(errno)")
        if isAnswering { try send(try receive(Handshake.byteCount)) }
    }

    deinit { close(descriptor) }

    /// Sends bytes; it may wait until they are taken.
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

    /// Sends as much as the socket takes without waiting.
    /// - Returns: Whether it took all.
    func sendWithoutWaiting(_ bytes: [UInt8]) -> Bool {
        // SAFETY: the bytes are read within the call.
        unsafe bytes.withUnsafeBytes { buffer in
            unsafe Glibc.send(
                descriptor, buffer.baseAddress, buffer.count,
                Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        } == bytes.count
    }

    func request(_ id: UInt64, _ operation: ServiceOperation, as claim: [String] = []) throws
        -> [UInt8]
    {
        let frame = try ServiceRequest(id: id, claim: AccessGroups(claim), operation).frame()
        // SAFETY: copied within the call.
        return unsafe frame.withUnsafeBytes { unsafe Array($0) }
    }

    func ask(_ id: UInt64, _ operation: ServiceOperation, as claim: [String] = []) throws
        -> ServiceReply
    {
        try send(try request(id, operation, as: claim))
        return try reply()
    }

    func greet() throws {
        guard case .answer(.welcome) = try ask(1, .hello(ClientHello())).content else {
            throw Ended()
        }
    }

    /// The next reply.
    func reply() throws -> ServiceReply {
        let size = try receive(4).reduce(0) { $0 << 8 | Int($1) }
        let message = try receive(size)
        return try Self.reply(message)
    }

    private static func reply(_ message: [UInt8]) throws -> ServiceReply {
        // SAFETY: the bytes live for the call.
        unsafe try message.withUnsafeBytes { unsafe try ServiceReply(message: $0.bytes) }
    }

    /// Whether the service has closed the connection; waits for it.
    func isClosed() throws -> Bool {
        do {
            while true { _ = try receive(1) }
        } catch is Ended {
            return true
        } catch is TimedOut {
            return false
        }
    }

    func receive(_ count: Int) throws -> [UInt8] {
        while received.count < count {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // SAFETY: one structure, used within the call.
            guard unsafe Glibc.poll(&poll, 1, 60_000) > 0 else { throw TimedOut() }
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
