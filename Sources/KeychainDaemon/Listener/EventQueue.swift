// EventQueue: what a connection is told without asking.
//   (1) Telling never blocks the thread that tells: it may be one that writes to the store.
//   (2) One batch is on its way at a time. While it is, an event that is waiting already is not
//       added again, so what waits is bounded by the number of subscriptions and requests.

import KeychainCore
import NIOCore
import Synchronization

final class EventQueue: Sendable {
    private struct State {
        var channel: (any Channel)?
        /// The frame of the last event of each request.
        var waiting: [UInt64: FrameBuffer] = [:]
        var isSending = false
    }

    private let state = Mutex(State())

    /// The channel is open: events go to it from now on.
    func attach(_ channel: any Channel) {
        state.withLock { $0.channel = channel }
        send()
    }

    /// The channel is closed: no client is told of anything any more.
    func detach() {
        state.withLock { state in
            state.channel = nil
            state.waiting = [:]
        }
    }

    /// Tells of something. Safe to call from any thread.
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
