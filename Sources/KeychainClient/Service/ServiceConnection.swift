// ServiceConnection: one connection to the service, from the handshake to its end.
//   (1) One thread at a time uses it: the one that took it out of the pool. So it needs no lock.
//   (2) Nothing is sent before it is known whose service it is.
//   (3) After any outcome but an answer it is of no more use.
//   (4) A process that keeps others away from its memory can be read while it connects, so it holds
//       no secret then: see `ProcessProtection`.

import KeychainCrypto
import KeychainModel
import KeychainWire

final class ServiceConnection: @unchecked Sendable {
    // `@unchecked`: no lock is needed, see (1).
    let socket: UnixSocket
    private let buffer: MessageBuffer
    private let path: String
    /// What the service said in its greeting.
    let welcome: Welcome

    /// What came of a request.
    enum Outcome {
        /// The service answered, and be it with a failure. The connection can be used again.
        case answered(ServiceReply.Content)
        /// The connection was broken before anything of the request was sent.
        case notSent
        /// The connection broke after that.
        case broken
        case timedOut
        case unreadable
    }

    // MARK: Beginning

    /// Connects, and presents itself.
    ///
    /// - Throws: `notAvailable` where there is no service that answers, with the cause
    ///   `permission` where it is another user's; `wrongVersion` for one of another version.
    init(to path: String, _ options: ServiceOptions) throws(KeychainFailure) {
        let buffer = MessageBuffer(limit: options.messageByteCount)
        self.path = path
        self.buffer = buffer
        do throws(KeychainFailure) {
            // Until the greeting the service looks at what this process runs.
            (socket, welcome) = try ProcessProtection.whileIdentifiable {
                () throws(KeychainFailure) in try Self.begun(path, buffer, options)
            }
        } catch {
            guard ProcessProtection.isHiddenForGood, error.cause == .contention else { throw error }
            throw .serviceLost(path)
        }
    }

    private static func begun(
        _ path: String, _ buffer: MessageBuffer, _ options: ServiceOptions
    ) throws(KeychainFailure) -> (UnixSocket, Welcome) {
        let deadline = Deadline(options.connectionTime)
        let socket = try connected(to: path, options, until: deadline)
        try shakeHands(socket, buffer, path, until: deadline)
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

    /// Sends back what the service sent, so that it sees whose process has the connection.
    private static func shakeHands(
        _ socket: UnixSocket, _ buffer: MessageBuffer, _ path: String, until deadline: Deadline
    ) throws(KeychainFailure) {
        switch buffer.bytes(Handshake.byteCount, from: socket, until: deadline) {
        case .message(let bytes):
            guard let handshake = Handshake(bytes: bytes) else { throw .serviceUnreadable(path) }
            // It is in one message of the socket: its buffer is empty, so that it takes them all.
            guard socket.sends(handshake.bytes, until: deadline) else {
                throw .serviceRefuses(path)
            }
        case .closed: throw .serviceRefuses(path)
        case .timedOut: throw .serviceSilent(path)
        case .unreadable: throw .serviceUnreadable(path)
        case .failed(let code): throw .serviceNotReached(path, code: code)
        }
    }

    private static func greeted(
        _ socket: UnixSocket, _ buffer: MessageBuffer, _ path: String, until deadline: Deadline
    ) throws(KeychainFailure) -> Welcome {
        let id: UInt64 = 1
        let hello = try ServiceRequest(id: id, .hello(ClientHello())).frame()
        // A service that has refused the connection already said why before it closed it.
        _ = hello.send(to: socket, until: deadline)
        switch buffer.reply(from: socket, until: deadline) {
        case .message(let reply):
            switch reply.content {
            case .answer(.welcome(let welcome)) where reply.id == id:
                guard welcome.version == WireLimits.version else {
                    throw .serviceOfOtherVersion(path, welcome.version)
                }
                return welcome
            case .failure(let failure): throw failure
            default: throw .serviceUnreadable(path)
            }
        case .closed: throw .serviceRefuses(path)
        case .timedOut: throw .serviceSilent(path)
        case .unreadable: throw .serviceUnreadable(path)
        case .failed(let code): throw .serviceNotReached(path, code: code)
        }
    }

    // MARK: Asking

    /// Sends a request and waits for its answer. `time` is the longest silence; `progress` is
    /// told of each sign of life.
    func exchange(
        _ frame: FrameBuffer, id: UInt64, time: Duration, progress: (Int, Int) -> Void
    ) -> Outcome {
        var deadline = Deadline(time)
        if let end = send(frame, until: deadline) { return end }
        var parts = PartialAnswer()
        while true {
            switch buffer.reply(from: socket, until: deadline) {
            case .message(let reply):
                // The failure of the connection as a whole has no request's id.
                if reply.id == 0, case .failure = reply.content { return .broken }
                guard reply.id == id else { return .unreadable }
                switch reply.content {
                case .progress(let done, let total):
                    progress(done, total)
                    deadline = Deadline(time)
                case .part(let part):
                    guard parts.append(part) else { return .unreadable }
                    deadline = Deadline(time)
                case .answer(let answer):
                    guard let whole = parts.completed(by: answer) else { return .unreadable }
                    return .answered(.answer(whole))
                case .failure(let failure): return .answered(.failure(failure))
                case .changed: return .unreadable
                }
            case .closed, .failed: return .broken
            case .timedOut: return .timedOut
            case .unreadable: return .unreadable
            }
        }
    }

    /// - Returns: nil when all was sent.
    private func send(_ frame: FrameBuffer, until deadline: Deadline) -> Outcome? {
        let (count, end) = frame.send(to: socket, until: deadline)
        switch end {
        case nil: return nil
        case .timedOut: return .timedOut
        default: return count == 0 ? .notSent : .broken
        }
    }

    // MARK: Listening

    /// What came unasked, or the end.
    enum Notice {
        case changed
        case other
        case ended
    }

    /// Whether a notification was received already, together with something else.
    var isPending: Bool { buffer.isPending }

    /// Receives what the service sends unasked; it is to be there, or to come within the time.
    func notice(within time: Duration) -> Notice {
        switch buffer.reply(from: socket, until: Deadline(time)) {
        case .message(let reply):
            switch reply.content {
            case .changed: return .changed
            case .failure: return .ended
            default: return .other
            }
        case .closed, .timedOut, .unreadable, .failed: return .ended
        }
    }
}

/// An answer that comes in several replies.
private struct PartialAnswer {
    private var items: [Item]?
    private var identities: [Identity]?

    init() {}

    /// - Returns: Whether it is a part of the same answer.
    mutating func append(_ part: ServiceAnswer) -> Bool {
        switch part {
        case .items(let more) where identities == nil:
            items = items ?? []
            items?.append(contentsOf: more)
        case .identities(let more) where items == nil:
            identities = identities ?? []
            identities?.append(contentsOf: more)
        default: return false
        }
        return true
    }

    /// The whole answer; nil where this is no end of what came before.
    mutating func completed(by last: ServiceAnswer) -> ServiceAnswer? {
        if items == nil, identities == nil { return last }
        guard append(last) else { return nil }
        return items.map { .items($0) } ?? identities.map { .identities($0) }
    }
}
