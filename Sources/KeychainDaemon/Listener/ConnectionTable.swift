// ConnectionTable: the connections that are open, and how many each user has.

import Glibc
import NIOCore
import Synchronization

final class ConnectionTable: Sendable {
    private struct State {
        var counts: [uid_t: Int] = [:]
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isEnding = false
        /// Somebody waits for the last connection to end.
        var waiter: CheckedContinuation<Void, Never>?

        var total: Int { counts.values.reduce(0, +) }
    }

    private let state = Mutex(State())

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
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.counts[user, default: 1] -= 1
            if state.counts[user] == 0 { state.counts[user] = nil }
            guard state.counts.isEmpty else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
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

    /// Has every connection answer what was asked and close, and waits for it. Whoever doesn't
    /// take its answers within the time is cut off.
    func end(within limit: Duration) async {
        let channels = state.withLock { state in
            state.isEnding = true
            return Array(state.channels.values)
        }
        for channel in channels {
            channel.pipeline.fireUserInboundEventTriggered(EndOfService())
        }
        let cut = Task { [self] in
            try await Task.sleep(for: limit)
            for channel in state.withLock({ Array($0.channels.values) }) {
                channel.close(promise: nil)
            }
        }
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.counts.isEmpty { return true }
                state.waiter = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
        cut.cancel()
    }
}
