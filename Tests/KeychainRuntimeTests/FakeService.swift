// FakeService: a service on a temporary socket. The test defines the service's behavior.

import Foundation
import Glibc
import KeychainEngine
import KeychainCore
import KeychainCrypto
import KeychainWire
import Synchronization

/// A service that listens on a temporary socket until it is released or stopped. A separate thread
/// serves each connection.
final class FakeService: Sendable {
    let path: String
    private let folder: String
    private let listener: Int32
    private let isStopped = Mutex(false)

    /// - Parameters:
    ///   - takesConnections: Whether the socket accepts connections.
    ///   - serve: Serves a connection. The second argument is the connection's number, from 1.
    /// - Throws: If the socket can't be created.
    init(
        takesConnections: Bool = true,
        _ serve: @escaping @Sendable (FakePeer, Int) -> Void = { _, _ in }
    ) throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "fake-\(UUID().uuidString.prefix(8))").path(percentEncoded: false)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        path = folder + "/socket"
        listener = try Self.listening(at: path)
        guard takesConnections else {
            close(listener)
            isStopped.withLock { $0 = true }
            return
        }
        let listener = listener
        Thread {
            var number = 0
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                number += 1
                let (peer, index) = (FakePeer(descriptor), number)
                Thread { serve(peer, index) }.start()
            }
            // The descriptor is closed only here, after the last `accept`: once it is closed,
            // another file can get its number.
            close(listener)
        }.start()
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Stops accepting connections. Existing connections stay open.
    func stop() {
        let wasStopped = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return isStopped
        }
        guard !wasStopped else { return }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private static func listening(at path: String) throws -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        guard descriptor >= 0, name.count < 108 else { throw POSIXError(.EINVAL) }
        // SAFETY: the name is shorter than the field; sizes are those of the values.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0, listen(descriptor, 64) == 0 else { throw POSIXError(.EADDRINUSE) }
        return descriptor
    }
}

/// The service's end of a connection, which is closed when this object is released.
final class FakePeer: Sendable {
    private let first: OwnedDescriptor
    /// The service's end of the socket pair whose other end the handshake passed to the client.
    /// `nil` before the handshake.
    private let given = Mutex<OwnedDescriptor?>(nil)

    private var descriptor: Int32 { given.withLock { $0 }?.number ?? first.number }

    init(_ descriptor: Int32) { first = OwnedDescriptor(descriptor) }

    /// Sends the challenge and, with it, the client's end of a new socket pair. All later messages
    /// use the new pair.
    /// - Returns: The challenge, or an empty array after an error.
    @discardableResult
    func beginHandshake() -> [UInt8] {
        guard let (own, passed) = UnixSockets.pair() else { return [] }
        var one: Int32 = 1
        // SAFETY: the value is read within the call.
        unsafe _ = setsockopt(own.number, SOL_SOCKET, SO_PASSCRED, &one, 4)
        let bytes = Handshake.random().bytes
        guard UnixSockets.send(bytes, passing: passed, to: first) else { return [] }
        given.withLock { $0 = own }
        return bytes
    }

    /// Shuts the connection down in both directions.
    func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Ends the stream that the client receives. This end can still receive.
    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    // MARK: Bytes

    /// - Returns: Whether all bytes were sent.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            // SAFETY: the bytes are valid within the closure.
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Receives `count` bytes, or fewer at the end of the stream.
    func receive(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            // SAFETY: the call writes only to the rest of the array.
            let moved = unsafe bytes.withUnsafeMutableBytes {
                unsafe recv(
                    descriptor, UnsafeMutableRawBufferPointer(rebasing: $0[filled...]).baseAddress,
                    count - filled, 0)
            }
            guard moved > 0 else { break }
            filled += moved
        }
        return Array(bytes.prefix(filled))
    }

    /// Receives up to `count` bytes with one call, and the process id of their sender according to
    /// the kernel.
    func receiveWithSender(_ count: Int) -> (bytes: [UInt8], processID: Int32?) {
        var bytes = [UInt8](repeating: 0, count: count)
        var control = [UInt64](repeating: 0, count: 8)
        var moved = 0
        // SAFETY: the header points to the two arrays for the duration of the call.
        unsafe bytes.withUnsafeMutableBytes { data in
            unsafe control.withUnsafeMutableBytes { ancillary in
                var vector = unsafe iovec(iov_base: data.baseAddress, iov_len: data.count)
                unsafe withUnsafeMutablePointer(to: &vector) { vector in
                    var header = unsafe msghdr()
                    unsafe header.msg_iov = vector
                    unsafe header.msg_iovlen = 1
                    unsafe header.msg_control = ancillary.baseAddress
                    unsafe header.msg_controllen = ancillary.count
                    moved = unsafe recvmsg(descriptor, &header, 0)
                }
            }
        }
        // The control message with the credentials has 28 bytes. Its header of 16 bytes contains
        // this size, the level and the type. The process, user and group ids follow the header.
        let isThere =
            control[0] == 28 && UInt32(truncatingIfNeeded: control[1]) == UInt32(SOL_SOCKET)
            && control[1] >> 32 == 2
        return (
            Array(bytes.prefix(max(moved, 0))),
            isThere ? Int32(truncatingIfNeeded: control[2]) : nil
        )
    }

    // MARK: Messages

    /// The next message, or `nil` if the stream has ended or the message is invalid.
    func request() -> FakeRequest? {
        guard let size = try? FrameHeader.messageByteCount(of: receive(FrameHeader.byteCount))
        else { return nil }
        return try? FakeRequest(message: receive(size))
    }

    func reply(_ id: UInt64, _ answer: FakeAnswer) {
        for frame in answer.frames(id) {
            // SAFETY: the bytes are copied within the closure.
            send(unsafe frame.withUnsafeBytes { unsafe Array($0) })
        }
    }

    static let welcome = Welcome(
        version: WireLimits.versions.upperBound,
        entitlements: Entitlements(
            accessGroups: AccessGroups(["one", "two"]), values: ["a": .text("b")]),
        kind: .user, allowsAdministration: true)

    /// Performs what a service does before the first request: the handshake and the answer to
    /// hello.
    /// - Returns: `false` if the client doesn't follow the protocol.
    func greet(_ welcome: Welcome = FakePeer.welcome) -> Bool {
        let question = beginHandshake()
        guard receive(Handshake.byteCount) == question, let hello = request(),
            case .hello(let client) = hello.message, client.versions == WireLimits.versions
        else { return false }
        reply(hello.id, .answer(welcome))
        return true
    }

    /// Answers hello and every request.
    func serve(_ answer: (FakeRequest) -> FakeAnswer) {
        guard greet() else { return }
        while let request = request() { reply(request.id, answer(request)) }
    }
}

/// A message from a client, as a service reads it.
struct FakeRequest: Sendable {
    let id: UInt64
    let message: ClientMessage
    private let body: FrameBuffer

    init(message bytes: [UInt8]) throws {
        // SAFETY: the reader is used within the closure.
        (id, message, body) = unsafe try bytes.withUnsafeBytes { bytes in
            var reader = unsafe MessageReader(bytes)
            return (
                try ClientMessage.id(from: &reader), try ClientMessage(from: &reader),
                reader.rest()
            )
        }
    }

    /// The code of the request, or `nil` if the message isn't a request.
    var code: RequestCode? { if case .request(let code, _) = message { code } else { nil } }

    var claim: AccessGroups? {
        if case .request(_, let claim) = message { claim } else { nil }
    }

    /// Decodes the body as a request of the given type.
    func decoded<R: Request>(_ type: R.Type) throws -> R {
        // SAFETY: the reader is used within the closure.
        unsafe try body.withUnsafeBytes { bytes in
            var reader = unsafe MessageReader(bytes)
            let request = try R(from: &reader)
            try reader.requireEnd()
            return request
        }
    }
}

/// An answer of the service.
struct FakeAnswer: Sendable {
    let frames: @Sendable (_ id: UInt64) -> [FrameBuffer]

    static func answer(
        _ answer: some MessageCodable & Sendable, partByteCount: Int = WireLimits.partByteCount
    ) -> FakeAnswer {
        FakeAnswer {
            (try? ServiceMessage.frames(id: $0, answer, partByteCount: partByteCount)) ?? []
        }
    }

    /// The size of an encoded answer.
    static func byteCount(of answer: some MessageCodable) -> Int {
        var writer = MessageWriter()
        answer.encode(to: &writer)
        return writer.byteCount
    }

    /// The frame of one part of an answer. The part has the given number of bytes, up to 65,000.
    static func part(_ id: UInt64, byteCount: Int) -> [UInt8] {
        let message =
            (0..<8).map { UInt8(truncatingIfNeeded: id >> (56 - 8 * $0)) }
            + [ServiceMessage.part.rawValue] + [UInt8](repeating: 0, count: byteCount)
        return [0, 0, UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
    }

    static func failure(_ failure: KeychainFailure) -> FakeAnswer {
        FakeAnswer { [ServiceMessage.frame(id: $0, failure)] }
    }

    static func progress(done: Int, total: Int) -> FakeAnswer {
        FakeAnswer { [ServiceMessage.frame(id: $0, RequestProgress(done: done, total: total))] }
    }

    static let changed = FakeAnswer { [ServiceMessage.frameOfChange(id: $0)] }
}

/// Values that several threads append to.
final class Recorded<Value: Sendable>: Sendable {
    private let list = Mutex<[Value]>([])
    private let added = DispatchSemaphore(value: 0)

    var values: [Value] { list.withLock { $0 } }

    func append(_ value: Value) {
        list.withLock { $0.append(value) }
        added.signal()
    }

    /// Waits until a value was added that no earlier call has waited for. Returns at once if such a
    /// value is there already.
    /// - Returns: `false` if there is no such value within a minute.
    func waitForNext() -> Bool { added.wait(timeout: .now() + 60) == .success }
}
