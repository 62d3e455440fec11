// Connection: the requests of one peer, from bytes to answers.
//   (1) All of its state belongs to the event loop of its channel.
//   (2) Nothing is read while as many requests are under way as one connection may have. A request
//       is under way until its answer has gone out, so a peer that doesn't read isn't read from.
//   (3) What a frame holds is erased when it was read, and when it was sent.
//   (4) Events are told of one at a time: what happens while the last one goes out is told of by
//       the next.

import KeychainCore
import KeychainWire
import NIOCore
import NIOPosix

final class Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let session: PeerSession
    private let workers: Workers
    private let requestLimit: Int
    private let log: AuditLog
    private let events: EventQueue

    private var assembler = FrameAssembler()
    private var waiting: [FrameBuffer] = []
    private var underWay = 0
    private var isReading = false
    /// No request is read any more; what is under way is answered.
    private var isEnding = false
    private var isClosed = false
    private let onEnd: () -> Void

    /// `onEnd` is called once, when the channel is closed and no request is under way.
    init(
        _ session: PeerSession, _ workers: Workers, requestLimit: Int, events: EventQueue,
        log: AuditLog, onEnd: @escaping () -> Void
    ) {
        self.session = session
        self.workers = workers
        self.requestLimit = requestLimit
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
        do {
            waiting += try buffer.withReadableSpan { span throws(KeychainFailure) in
                try assembler.take(span)
            }
        } catch {
            breakOff(context, because: error as? KeychainFailure ?? .param("Unreadable bytes."))
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        proceed(context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is EndOfService else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        isEnding = true
        proceed(context)
    }

    private func proceed(_ context: ChannelHandlerContext) {
        while underWay < requestLimit, !waiting.isEmpty {
            if underWay > 0, !session.isGreeted {
                breakOff(context, because: .param("A request before hello was answered."))
                return
            }
            start(waiting.removeFirst(), context)
        }
        if isEnding, underWay == 0, waiting.isEmpty { context.close(promise: nil) }
        readMore(context)
    }

    private func readMore(_ context: ChannelHandlerContext) {
        guard !isReading, !isEnding, !isClosed, underWay < requestLimit, waiting.isEmpty else {
            return
        }
        isReading = true
        context.read()
    }

    private func start(_ frame: FrameBuffer, _ context: ChannelHandlerContext) {
        underWay += 1
        let contextBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let selfBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        workers.answer(frame, of: session) { outcome in
            eventLoop.execute { selfBound.value.send(outcome, contextBound.value) }
        }
    }

    private func send(_ outcome: Outcome, _ context: ChannelHandlerContext) {
        switch outcome {
        case .answer(let frames) where !isClosed:
            let buffer = ByteBuffer(frames, allocator: context.channel.allocator)
            let contextBound = NIOLoopBound(context, eventLoop: context.eventLoop)
            let selfBound = NIOLoopBound(self, eventLoop: context.eventLoop)
            context.writeAndFlush(wrapOutboundOut(buffer)).whenComplete { _ in
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
        if isClosed { endIfDone() } else { proceed(context) }
    }

    /// Ends a connection that can't be understood, and says so.
    private func breakOff(_ context: ChannelHandlerContext, because failure: KeychainFailure) {
        guard !isEnding, !isClosed else { return }
        isEnding = true
        waiting = []
        log.broken(session.peer, failure.reason)
        let buffer = ByteBuffer(
            [ServiceMessage.frame(id: 0, failure)], allocator: context.channel.allocator)
        let contextBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(buffer)).whenComplete { _ in
            contextBound.value.close(promise: nil)
        }
    }

    private func endIfDone() {
        if underWay == 0 { onEnd() }
    }
}

/// Tells a connection that the service ends: it answers what is under way, and closes.
struct EndOfService: Sendable {}
