// ServiceConnection: one connection to the service, from the handshake to its end.
//   (1) One thread at a time uses it: the one that took it out of the pool. So it needs no lock.
//   (2) Nothing is sent before it is known whose service it is.
//   (3) After any outcome but an answer it is of no more use.
//   (4) A process that keeps others away from its memory can be read while it connects, so it holds
//       no secret then: see `ProcessProtection`.

import KeychainCrypto
import KeychainCore
import KeychainWire

final class ServiceConnection: @unchecked Sendable {
    // `@unchecked`: no lock is needed, see (1).
    let socket: UnixSocket
    private let buffer: MessageBuffer
    private let path: String
    private let answerByteCount: Int
    /// What the service said in its greeting.
    let welcome: Welcome
    /// Who made it.
    let holder: ConnectionHolder

    /// What came of a request.
    enum Outcome<Answer> {
        /// The connection can be used again, as after `failed`.
        case answered(Answer)
        /// The service didn't carry the request out.
        case failed(KeychainFailure)
        /// The connection ended, and the request was not carried out: the service said so, or the
        /// request hadn't been sent whole.
        case notCarriedOut
        /// The connection broke after the request was sent.
        case broken
        case timedOut
        case unreadable
        /// The answer has more bytes than one may have.
        case tooLarge
        /// The caller doesn't want it any more.
        case givenUp
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
        holder = .current
        answerByteCount = options.answerByteCount
        do throws(KeychainFailure) {
            // Until the greeting the service looks at what this process runs.
            (socket, welcome) = try ProcessProtection.whileIdentifiable {
                () throws(KeychainFailure) in try Self.begun(path, buffer, options)
            }
        } catch {
            // The service says that it can't see what this process runs, or nothing.
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

    /// Sends back what the service sent, over the socket that came with it, so that the service sees
    /// whose process has the connection.
    /// - Returns: That socket, which is the connection from here on.
    private static func shakenHands(
        _ first: UnixSocket, _ buffer: MessageBuffer, _ path: String, until deadline: Deadline
    ) throws(KeychainFailure) -> UnixSocket {
        switch first.beginning(
            Handshake.byteCount, markedWith: Handshake.mark, until: deadline)
        {
        case .greeting(let bytes, let socket):
            guard let handshake = Handshake(bytes: bytes) else { throw .serviceUnreadable(path) }
            // It is in one message of the socket: its buffer is empty, so that it takes them all. A
            // service that refuses the program already has said why.
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
        // A service that has refused the connection already said why before it closed it.
        _ = hello.send(to: socket, until: deadline)
        return try welcome(from: socket, buffer, path, until: deadline)
    }

    private static let helloID: UInt64 = 1

    /// The answer to hello, or the failure of the whole connection, which comes unasked.
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

    // MARK: Asking

    /// Sends a request and waits for its answer. `time` is the longest silence; `progress` is
    /// told of each sign of life, and gives the request up where it returns false.
    func exchange<Answer: MessageCodable>(
        _ frame: FrameBuffer, id: UInt64, time: Duration, for type: Answer.Type,
        progress: (RequestProgress) -> Bool = { _ in true }
    ) -> Outcome<Answer> {
        var deadline = Deadline(time)
        if let end: Outcome<Answer> = send(frame, until: deadline) { return end }
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
            case .message(.tooLarge): return .tooLarge
            case .message(.other): return .unreadable
            case .closed, .failed: return .broken
            case .timedOut: return .timedOut
            case .unreadable: return .unreadable
            }
        }
    }

    /// - Returns: nil when all was sent.
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

    /// What came unasked, or the end.
    enum Event {
        case changed
        case other
        case ended
    }

    /// Whether a notification was received already, together with something else.
    var isPending: Bool { buffer.isPending }

    /// Receives what the service sends unasked; it is to be there, or to come within the time.
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

/// A message of the service while an answer is waited for.
private enum Notice<Answer: MessageCodable> {
    case answer(Answer)
    case failure(KeychainFailure)
    /// The failure of the connection as a whole, which has no request's id.
    case endOfConnection
    case closing
    case part
    case tooLarge
    case progress(RequestProgress)
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
        case .answer, .part, .failure, .progress, .changed: self = .other
        }
    }
}

/// An answer that comes in several messages.
private struct PartialAnswer {
    private let limit: Int
    private var parts: [FrameBuffer] = []
    private var byteCount = 0

    init(limit: Int) { self.limit = limit }

    /// - Returns: False where the answer is larger than the limit.
    mutating func append(from reader: inout MessageReader) -> Bool {
        byteCount += reader.remainingCount
        guard byteCount <= limit else { return false }
        parts.append(reader.rest())
        // Small ones are joined, so that many of them take no more memory than a few.
        while let last = parts.last, let other = parts.dropLast().last,
            other.count <= min(last.count, WireLimits.partByteCount / 2)
        {
            parts.removeLast(2)
            parts.append(FrameBuffer(joining: [other, last]))
        }
        return true
    }

    /// The answer, whose last part the reader has. nil: it is larger than the limit.
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
