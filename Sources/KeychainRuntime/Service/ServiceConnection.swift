// ServiceConnection: one connection to the service, from the handshake to its end.
//   (1) One thread at a time uses a connection: the one that took it from the pool. So the
//       connection needs no lock.
//   (2) Nothing is sent before this process has checked which user the service runs as.
//   (3) After any outcome except an answer or a failure of the request, the connection must not be
//       used again.
//   (4) A process that protects its memory lifts this protection while it connects, so that the
//       service can identify it, but only if it has not held a secret yet: see `ProcessProtection`.

import KeychainCrypto
import KeychainCore
import KeychainWire

final class ServiceConnection: @unchecked Sendable {
    // `@unchecked`: no lock is needed, see (1).
    let socket: UnixSocket
    private let buffer: MessageBuffer
    private let path: String
    private let answerByteCount: Int
    private var briefWait = BriefWait()
    /// The greeting of the service.
    let welcome: Welcome
    /// The process and the user that made the connection.
    let holder: ConnectionHolder

    /// The outcome of a request.
    enum Outcome<Answer> {
        /// The service answered. The connection can be used again.
        case answered(Answer)
        /// The service answered with a failure. The connection can be used again.
        case failed(KeychainFailure)
        /// The connection ended before the request was carried out: the service said so, or the
        /// request was not sent completely.
        case notCarriedOut
        /// The connection broke after the request was sent. The request may have been carried out.
        case broken
        case timedOut
        case unreadable
        /// The answer exceeds the size limit.
        case tooLarge
        /// The caller canceled the request.
        case givenUp
    }

    // MARK: Connecting

    /// Connects, and completes the handshake and the greeting.
    ///
    /// - Throws: `notAvailable` if no service answers, or the answer can't be decoded, or, with the
    ///   cause `permission`, if this user may not use the socket or the service's user isn't
    ///   trusted; `wrongVersion` if this program doesn't support the service's version of the
    ///   protocol; `param` for a path that has an invalid length or contains a NUL byte; and the
    ///   failure with which the service refuses this program.
    init(to path: String, _ options: ServiceOptions) throws(KeychainFailure) {
        let buffer = MessageBuffer(limit: options.messageByteCount)
        self.path = path
        self.buffer = buffer
        holder = .current
        answerByteCount = options.answerByteCount
        do throws(KeychainFailure) {
            // The service determines the executable of this process before it sends its greeting.
            (socket, welcome) = try ProcessProtection.whileIdentifiable {
                () throws(KeychainFailure) in try Self.begun(path, buffer, options)
            }
        } catch {
            // A service that can't determine the executable reports this, or ends the connection
            // without a report.
            guard ProcessProtection.isHiddenForGood,
                error.cause == .contention || error.cause == .permission
            else { throw error }
            throw .serviceLost(path)
        }
    }

    private static func begun(
        _ path: String, _ buffer: MessageBuffer, _ options: ServiceOptions
    ) throws(KeychainFailure) -> (UnixSocket, Welcome) {
        let deadline = Deadline(options.connectionTime)
        let first = try connected(to: path, options, until: deadline)
        let socket = try shakenHands(first, buffer, path, until: deadline)
        return (socket, try greeted(socket, buffer, path, until: deadline))
    }

    private static func connected(
        to path: String, _ options: ServiceOptions, until deadline: Deadline
    ) throws(KeychainFailure) -> UnixSocket {
        switch UnixSocket.connect(to: path, until: deadline) {
        case .connected(let socket):
            let owner = socket.peerUserID
            guard let owner, options.trusts(owner) else {
                throw .serviceNotTrusted(path, userID: owner)
            }
            return socket
        case .refused: throw .serviceRefuses(path)
        case .missing: throw .serviceMissing(path)
        case .denied: throw .serviceDenied(path)
        case .timedOut: throw .serviceSilent(path)
        case .tooLong: throw .socketPathTooLong(path)
        case .failed(let code): throw .serviceNotReached(path, code: code)
        }
    }

    /// Receives a nonce and a new socket, which the service sends over the first socket. Sends the
    /// nonce back over the new socket, so that the service knows which process has the connection.
    /// - Returns: The new socket, over which the connection continues.
    private static func shakenHands(
        _ first: UnixSocket, _ buffer: MessageBuffer, _ path: String, until deadline: Deadline
    ) throws(KeychainFailure) -> UnixSocket {
        switch first.beginning(
            Handshake.byteCount, markedWith: Handshake.mark, until: deadline)
        {
        case .greeting(let bytes, let socket):
            guard let handshake = Handshake(bytes: bytes) else { throw .serviceUnreadable(path) }
            // One call sends the nonce completely, because the socket's buffer is empty. A failure
            // is ignored here: a service that has refused this program has said why before closing
            // the connection.
            _ = socket.sends(handshake.bytes, until: deadline)
            return socket
        case .other:
            _ = try welcome(from: first, buffer, path, until: deadline)
            throw .serviceUnreadable(path)
        case .ended(.closed), .ended(.moved): throw .serviceRefuses(path)
        case .ended(.timedOut): throw .serviceSilent(path)
        case .ended(.failed(let code)): throw .serviceNotReached(path, code: code)
        }
    }

    private static func greeted(
        _ socket: UnixSocket, _ buffer: MessageBuffer, _ path: String, until deadline: Deadline
    ) throws(KeychainFailure) -> Welcome {
        let hello = try ClientMessage.hello(ClientHello()).frame(id: helloID)
        // A failure is ignored here: a service that has refused the connection has said why before
        // closing it.
        _ = hello.send(to: socket, until: deadline)
        return try welcome(from: socket, buffer, path, until: deadline)
    }

    private static let helloID: UInt64 = 1

    /// The answer to `hello`, or the failure of the whole connection, which the service sends
    /// unprompted.
    private static func welcome(
        from socket: UnixSocket, _ buffer: MessageBuffer, _ path: String, until deadline: Deadline
    ) throws(KeychainFailure) -> Welcome {
        let received = buffer.message(from: socket, until: deadline) {
            reader throws(KeychainFailure) -> Result<Welcome?, KeychainFailure> in
            let head = try ServiceMessage.head(from: &reader)
            switch head.kind {
            case .answer where head.id == helloID: return .success(try Welcome(from: &reader))
            case .failure: return .failure(try KeychainFailure(from: &reader))
            case .closing: return .failure(.serviceRefuses(path))
            case .answer, .part, .progress, .changed: return .success(nil)
            }
        }
        switch received {
        case .message(let result):
            guard let welcome = try result.get() else { throw .serviceUnreadable(path) }
            guard WireLimits.versions.contains(welcome.version) else {
                throw .serviceOfOtherVersion(path, welcome.version)
            }
            return welcome
        case .closed: throw .serviceRefuses(path)
        case .timedOut: throw .serviceSilent(path)
        case .unreadable: throw .serviceUnreadable(path)
        case .failed(let code): throw .serviceNotReached(path, code: code)
        }
    }

    // MARK: Requests

    /// Sends a request and waits for its answer. `time` is the maximum time between two messages.
    /// `progress` receives each progress message, and returns `false` to cancel the request.
    func exchange<Answer: MessageCodable>(
        _ frame: FrameBuffer, id: UInt64, time: Duration, for type: Answer.Type,
        progress: (RequestProgress) -> Bool = { _ in true }
    ) -> Outcome<Answer> {
        var deadline = Deadline(time)
        if let end: Outcome<Answer> = send(frame, until: deadline) { return end }
        briefWait.wait { socket.isReadable }
        var parts = PartialAnswer(limit: answerByteCount)
        while true {
            let received = buffer.message(from: socket, until: deadline) {
                reader throws(KeychainFailure) in
                try Notice<Answer>(from: &reader, id: id, &parts)
            }
            switch received {
            case .message(.answer(let answer)): return .answered(answer)
            case .message(.failure(let failure)): return .failed(failure)
            case .message(.closing): return .notCarriedOut
            case .message(.endOfConnection): return .broken
            case .message(.part): deadline = Deadline(time)
            case .message(.progress(let made)):
                guard progress(made) else { return .givenUp }
                deadline = Deadline(time)
            // A change can be reported before the answer to the subscription arrives.
            case .message(.changed): continue
            case .message(.tooLarge): return .tooLarge
            case .message(.other): return .unreadable
            case .closed, .failed: return .broken
            case .timedOut: return .timedOut
            case .unreadable: return .unreadable
            }
        }
    }

    /// - Returns: `nil` if the frame was sent completely.
    private func send<Answer>(
        _ frame: FrameBuffer, until deadline: Deadline
    ) -> Outcome<Answer>? {
        switch frame.send(to: socket, until: deadline) {
        case nil: nil
        case .timedOut: .timedOut
        default: .notCarriedOut
        }
    }

    // MARK: Listening

    /// What arrives on the connection of a subscription: a change, another message, or the end of
    /// the connection.
    enum Event {
        case changed
        case other
        case ended
    }

    /// Whether bytes of an event were received already, together with an earlier message.
    var isPending: Bool { buffer.isPending }

    /// Receives an event, waiting for it at most `time`.
    func event(within time: Duration) -> Event {
        let received = buffer.message(from: socket, until: Deadline(time)) {
            reader throws(KeychainFailure) in try ServiceMessage.head(from: &reader).kind
        }
        switch received {
        case .message(.changed): return .changed
        case .message(.failure), .message(.closing): return .ended
        case .message: return .other
        case .closed, .timedOut, .unreadable, .failed: return .ended
        }
    }
}

/// A message that arrives while a client waits for an answer.
private enum Notice<Answer: MessageCodable> {
    case answer(Answer)
    case failure(KeychainFailure)
    /// The failure of the whole connection, which has no request id.
    case endOfConnection
    case closing
    case part
    case tooLarge
    case progress(RequestProgress)
    case changed
    case other

    init(
        from reader: inout MessageReader, id: UInt64, _ parts: inout PartialAnswer
    ) throws(KeychainFailure) {
        let head = try ServiceMessage.head(from: &reader)
        switch head.kind {
        case .closing: self = .closing
        case .failure where head.id == 0: self = .endOfConnection
        case .failure where head.id == id: self = .failure(try reader.whole())
        case .answer where head.id == id:
            self = try parts.completed(from: &reader).map { .answer($0) } ?? .tooLarge
        case .part where head.id == id:
            self = parts.append(from: &reader) ? .part : .tooLarge
        case .progress where head.id == id:
            self = .progress(try reader.whole())
        case .changed where head.id == id: self = .changed
        case .answer, .part, .failure, .progress, .changed: self = .other
        }
    }
}

/// Collects an answer that arrives in several messages.
private struct PartialAnswer {
    private let limit: Int
    private var parts: [FrameBuffer] = []
    private var byteCount = 0

    init(limit: Int) { self.limit = limit }

    /// - Returns: `false` if the answer exceeds the limit.
    mutating func append(from reader: inout MessageReader) -> Bool {
        byteCount += reader.remainingCount
        guard byteCount <= limit else { return false }
        parts.append(reader.rest())
        // Small parts are joined, so that many small parts need no more memory than a few large
        // parts of the same total size.
        while let last = parts.last, let other = parts.dropLast().last,
            other.count <= min(last.count, WireLimits.partByteCount / 2)
        {
            parts.removeLast(2)
            parts.append(FrameBuffer(joining: [other, last]))
        }
        return true
    }

    /// The complete answer; `nil` if it exceeds the limit. `reader` is at the answer's last part.
    mutating func completed<Answer: MessageCodable>(
        from reader: inout MessageReader
    ) throws(KeychainFailure) -> Answer? {
        guard !parts.isEmpty else { return try reader.whole() as Answer }
        guard append(from: &reader) else { return nil }
        return try FrameBuffer(joining: parts).read { reader throws(KeychainFailure) -> Answer in
            try reader.whole()
        }
    }
}
