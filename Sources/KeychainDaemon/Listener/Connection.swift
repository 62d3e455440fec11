// Connection: the requests of one client, from bytes to answers, and the table of open connections.
//   (1) All variables of a `Connection` belong to the event loop of its channel.
//   (2) Nothing is read from a connection while it has its maximum number of pending requests. A
//       request is pending until its answer has been sent, so the service doesn't read from a
//       client that doesn't read. Likewise, no request of a party is started while too many bytes
//       of the party's answers are in flight.
//   (3) The bytes of requests and answers are erased after they have been read or sent.
//   (4) Reporting an event to a connection never blocks the reporting thread, which may be one that
//       writes to the store.
//   (5) If the service closes a connection without an error, the last message says that requests
//       without an answer were not carried out. A client that has sent a request meanwhile can
//       repeat it over another connection. A client that doesn't receive its answers in time is
//       cut off without this message.
//   (6) Events are sent in batches, one at a time. Those that occur while a batch is sent are part
//       of the next batch. An event replaces a waiting one of the same request, so the number of
//       subscriptions and requests bounds the queue.

import Dispatch
import Glibc
import KeychainCore
import KeychainWire
import NIOCore
import NIOPosix
import Synchronization

final class Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let session: PeerSession
    private let workers: Workers
    private let limits: DaemonConfiguration.Limits
    private let log: AuditLog
    private let events: EventQueue
    private let held: HeldBytes
    private let answers: AnswerBudget

    private var heldByteCount = 0
    private var assembler = FrameAssembler(limit: WireLimits.helloByteCount)
    private var waiting: [FrameBuffer] = []
    private var underWay = 0
    private var isWaitingForRoom = false
    private var isReading = false
    /// When bytes were last received or sent.
    private var lastMove = NIODeadline.now()
    /// The number of unsent bytes when the connection was last checked for idleness.
    private var unsentByteCount = 0
    /// Set when no more requests are read. Pending requests are still answered, except after an
    /// error.
    private var isEnding = false
    private var isLastSent = false
    private var isClosed = false
    private let onEnd: () -> Void

    /// `onEnd` is called once, when the channel is closed and no request is pending.
    init(
        _ session: PeerSession, _ workers: Workers, _ limits: DaemonConfiguration.Limits,
        events: EventQueue, held: HeldBytes, answers: AnswerBudget, log: AuditLog,
        onEnd: @escaping () -> Void
    ) {
        self.held = held
        self.answers = answers
        self.session = session
        self.workers = workers
        self.limits = limits
        self.events = events
        self.log = log
        self.onEnd = onEnd
    }

    func channelActive(context: ChannelHandlerContext) {
        events.attach(context.channel)
        readMore(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosed = true
        waiting = []
        _ = hold(0)
        events.detach()
        session.end()
        endIfDone()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        defer { buffer.erase() }
        guard !isEnding else { return }
        lastMove = .now()
        if session.isGreeted { assembler.limit = WireLimits.messageByteCount }
        do {
            waiting += try buffer.withReadableSpan { span throws(KeychainFailure) in
                try assembler.take(span)
            }
        } catch {
            breakOff(context, because: error as? KeychainFailure ?? .param("Unreadable bytes."))
        }
        guard !hold(assembler.heldByteCount) else { return }
        breakOff(
            context,
            because: KeychainFailure(
                .notAvailable,
                "Too many large messages are sent at the same time. Send them one after the other.",
                cause: .contention))
        assembler = FrameAssembler()
        _ = hold(0)
    }

    private func hold(_ byteCount: Int) -> Bool {
        defer { heldByteCount = byteCount }
        return held.change(from: heldByteCount, to: byteCount, of: session.party)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        proceed(context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is EndOfService:
            isEnding = true
            proceed(context)
        case is RightsMayHaveChanged: checkRights(context)
        case is LookForIdleness: endIfIdle(context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// Ends the connection if the client's rights have changed. The client then reconnects and gets
    /// its current rights. Pending requests are answered, and waiting ones are not started.
    private func checkRights(_ context: ChannelHandlerContext) {
        let contextBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let selfBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        workers.identify(for: session.party) { [session] in
            guard !session.hasSameRights else { return }
            eventLoop.execute {
                let connection = selfBound.value
                guard !connection.isClosed else { return }
                connection.isEnding = true
                connection.waiting = []
                connection.proceed(contextBound.value)
            }
        }
    }

    /// Ends a connection over which nothing has been transferred for too long, in two cases: the
    /// client hasn't received everything that was sent to it, or the client has neither pending
    /// requests nor subscriptions.
    private func endIfIdle(_ context: ChannelHandlerContext) {
        let unsent = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
        if unsentByteCount != unsent ?? 0 {
            unsentByteCount = unsent ?? 0
            lastMove = .now()
        }
        let rest = NIODeadline.now() - lastMove
        if unsentByteCount > 0 {
            guard rest >= TimeAmount(limits.answerTime) else { return }
            log.broken(session.peer, "The client doesn't receive the data sent to it.")
            context.close(promise: nil)
        } else if underWay == 0, waiting.isEmpty, !session.isSubscribed {
            let limit = session.isGreeted ? limits.connectionIdleTime : limits.handshakeTime
            guard rest >= TimeAmount(limit) else { return }
            isEnding = true
            proceed(context)
        }
    }

    private func proceed(_ context: ChannelHandlerContext) {
        while underWay < limits.requestsPerConnection, !waiting.isEmpty, hasRoom(context) {
            if underWay > 0, !session.isGreeted {
                breakOff(context, because: .param("A request arrived before hello was answered."))
                return
            }
            start(waiting.removeFirst(), context)
        }
        if isEnding, underWay == 0, waiting.isEmpty {
            close(context, with: ServiceMessage.frameOfClosing)
        }
        readMore(context)
    }

    private func readMore(_ context: ChannelHandlerContext) {
        guard !isReading, !isEnding, !isClosed, underWay < limits.requestsPerConnection,
            waiting.isEmpty
        else { return }
        isReading = true
        context.read()
    }

    private func hasRoom(_ context: ChannelHandlerContext) -> Bool {
        guard !isWaitingForRoom else { return false }
        let contextBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let selfBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        isWaitingForRoom = !answers.hasRoom(for: session.party) {
            eventLoop.execute {
                let connection = selfBound.value
                connection.isWaitingForRoom = false
                if !connection.isClosed { connection.proceed(contextBound.value) }
            }
        }
        return !isWaitingForRoom
    }

    private func start(_ frame: FrameBuffer, _ context: ChannelHandlerContext) {
        underWay += 1
        let contextBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let selfBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        // Only a request that is alone may be answered on the event loop. Pipelined requests take
        // their turns among the requests of other parties.
        let isAlone = underWay == 1 && waiting.isEmpty
        workers.answer(frame, of: session, on: isAlone ? eventLoop : nil) { outcome in
            eventLoop.execute { selfBound.value.send(outcome, contextBound.value) }
        }
    }

    private func send(_ outcome: Outcome, _ context: ChannelHandlerContext) {
        switch outcome {
        case .answer(let frames) where !isClosed:
            // Until a hello has been accepted, each answer is the refusal of a hello.
            if !session.isGreeted {
                isEnding = true
                waiting = []
            }
            let buffer = ByteBuffer(frames, allocator: context.channel.allocator)
            let contextBound = NIOLoopBound(context, eventLoop: context.eventLoop)
            let selfBound = NIOLoopBound(self, eventLoop: context.eventLoop)
            answers.add(buffer.readableBytes, of: session.party)
            context.writeAndFlush(wrapOutboundOut(buffer)).whenComplete { _ in
                let connection = selfBound.value
                connection.answers.remove(buffer.readableBytes, of: connection.session.party)
                buffer.erase()
                selfBound.value.finish(contextBound.value)
            }
        case .answer: finish(context)
        case .end(let failure):
            breakOff(context, because: failure)
            finish(context)
        }
    }

    private func finish(_ context: ChannelHandlerContext) {
        underWay -= 1
        lastMove = .now()
        if isClosed { endIfDone() } else { proceed(context) }
    }

    /// Reports an error that isn't the answer to a request, and ends the connection.
    private func breakOff(_ context: ChannelHandlerContext, because failure: KeychainFailure) {
        guard !isEnding, !isClosed else { return }
        isEnding = true
        waiting = []
        log.broken(session.peer, failure.reason)
        close(context, with: ServiceMessage.frame(id: 0, failure))
    }

    private func close(_ context: ChannelHandlerContext, with frame: FrameBuffer) {
        guard !isLastSent else { return }
        isLastSent = true
        let buffer = ByteBuffer([frame], allocator: context.channel.allocator)
        let contextBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(buffer)).whenComplete { _ in
            contextBound.value.close(promise: nil)
        }
    }

    private func endIfDone() {
        if underWay == 0 { onEnd() }
    }
}

/// Tells a connection that the service is ending. The connection answers pending requests, then
/// closes.
struct EndOfService: Sendable {}

/// Tells a connection to end if it is idle.
struct LookForIdleness: Sendable {}

/// Tells a connection that the registry has changed.
struct RightsMayHaveChanged: Sendable {}

// MARK: - Events

final class EventQueue: Sendable {
    private struct State {
        var channel: (any Channel)?
        /// The frame of the latest event of each request.
        var waiting: [UInt64: FrameBuffer] = [:]
        var isSending = false
    }

    private let state = Mutex(State())

    /// Sends events to the channel from now on. Called when the channel has been opened.
    func attach(_ channel: any Channel) {
        state.withLock { $0.channel = channel }
        send()
    }

    /// Drops the waiting events, and sends no more. Called when the channel has been closed.
    func detach() {
        state.withLock { state in
            state.channel = nil
            state.waiting = [:]
        }
    }

    /// Adds an event. Safe to call from any thread.
    func add(_ id: UInt64, _ frame: FrameBuffer) {
        state.withLock { $0.waiting[id] = frame }
        send()
    }

    private func send() {
        let batch = state.withLock { state -> (any Channel, [FrameBuffer])? in
            guard let channel = state.channel, !state.isSending, !state.waiting.isEmpty else {
                return nil
            }
            state.isSending = true
            defer { state.waiting = [:] }
            return (channel, Array(state.waiting.values))
        }
        guard let (channel, frames) = batch else { return }
        let buffer = ByteBuffer(frames, allocator: channel.allocator)
        channel.writeAndFlush(buffer).whenComplete { [self] result in
            state.withLock { state in
                state.isSending = false
                if case .failure = result { state.channel = nil }
            }
            send()
        }
    }
}

// MARK: - Open connections

final class ConnectionTable: Sendable {
    private struct State {
        var counts: [uid_t: Int] = [:]
        var parties: [Party: Int] = [:]
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isEnding = false

        var total: Int { counts.values.reduce(0, +) }
    }

    private let state = Mutex(State())
    /// Signaled when the last connection is released while the service ends.
    private let lastEnded = DispatchSemaphore(value: 0)

    var count: Int { state.withLock { $0.total } }

    /// Reserves a place for a connection. Some of each user's places are reserved for parties with
    /// few connections, so a party that opens as many connections as it can doesn't keep the user's
    /// other parties out.
    /// - Returns: `false` if the user has no place left for this party, or if the service ends.
    func reserve(
        for user: uid_t, _ party: Party, _ limits: DaemonConfiguration.Limits
    ) -> Bool {
        state.withLock { state in
            let ofUser = state.counts[user, default: 0]
            let ofParty = state.parties[party, default: 0]
            let isFew = ofParty < limits.connectionsOfFew
            let limit = limits.connectionsPerUser - (isFew ? 0 : limits.connectionsKeptForFew)
            guard !state.isEnding, ofUser < limit else { return false }
            state.counts[user] = ofUser + 1
            state.parties[party] = ofParty + 1
            return true
        }
    }

    /// Releases the place of a connection that is closed.
    func release(for user: uid_t, _ party: Party) {
        let isLast = state.withLock { state in
            state.counts[user, default: 1] -= 1
            if state.counts[user] == 0 { state.counts[user] = nil }
            state.parties[party, default: 1] -= 1
            if state.parties[party] == 0 { state.parties[party] = nil }
            return state.isEnding && state.counts.isEmpty
        }
        if isLast { lastEnded.signal() }
    }

    func add(_ channel: any Channel) {
        let isEnding = state.withLock { state in
            state.channels[ObjectIdentifier(channel)] = channel
            return state.isEnding
        }
        channel.closeFuture.whenComplete { [weak self] _ in
            self?.state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
        }
        if isEnding { channel.pipeline.fireUserInboundEventTriggered(EndOfService()) }
    }

    /// Sends an event to every connection.
    func tell(_ event: any Sendable) {
        for channel in state.withLock({ Array($0.channels.values) }) {
            channel.pipeline.fireUserInboundEventTriggered(event)
        }
    }

    /// Lets every connection answer its pending requests and close, and waits until all are closed.
    /// Connections whose clients haven't received their answers within `limit` are cut off.
    func end(within limit: Duration) {
        let (channels, isEmpty) = state.withLock { state in
            state.isEnding = true
            return (Array(state.channels.values), state.counts.isEmpty)
        }
        for channel in channels {
            channel.pipeline.fireUserInboundEventTriggered(EndOfService())
        }
        if isEmpty { return }
        if lastEnded.wait(timeout: .now() + limit / .seconds(1)) == .timedOut {
            for channel in state.withLock({ Array($0.channels.values) }) {
                channel.close(promise: nil)
            }
            lastEnded.wait()
        }
    }
}
