// ConnectionTable: the connections that are open, and how many each user has.

import Dispatch
import Glibc
import NIOCore
import Synchronization

final class ConnectionTable: Sendable {
    private struct State {
        var counts: [uid_t: Int] = [:]
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isEnding = false

        var total: Int { counts.values.reduce(0, +) }
    }

    private let state = Mutex(State())
    /// Signalled when the last connection of a service that ends is gone.
    private let lastEnded = DispatchSemaphore(value: 0)

    var count: Int { state.withLock { $0.total } }

    /// Makes room for a connection.
    /// - Returns: False when the user has as many as it may, or the service ends.
    func reserve(for user: uid_t, atMost limit: Int) -> Bool {
        state.withLock { state in
            guard !state.isEnding, state.counts[user, default: 0] < limit else { return false }
            state.counts[user, default: 0] += 1
            return true
        }
    }

    /// A connection is gone.
    func release(for user: uid_t) {
        let isLast = state.withLock { state in
            state.counts[user, default: 1] -= 1
            if state.counts[user] == 0 { state.counts[user] = nil }
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

    /// Has every connection answer what was asked and close, and waits for it. A client that
    /// doesn't take its answers within the time is cut off.
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
