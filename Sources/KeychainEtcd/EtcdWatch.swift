// EtcdWatch: the changes of the keys with a prefix, as they are made.
//   (1) Events come in the order of their revisions. None is left out, unless `compacted` says so.
//   (2) After a break the watch goes on at another node, from the last revision that was complete;
//       some events of that one may come twice.
//   (3) One event at most is read ahead of the one that the program takes: a slow program holds up
//       the connection, not memory.
//   (4) While nothing comes, the node is asked at intervals for a linearizable read. One that is
//       dead, or cut off from the others, is left.

#if Synchronization

package enum EtcdEvent: Hashable, Sendable {
    case put(EtcdItem)
    case deletion(EtcdKey, revision: Int64)
    /// Changes before this revision are no longer kept, or the cluster was set back to a state before
    /// it; some changes were not shown. The watch goes on from it. Read all keys and compare.
    case compacted(Int64)
}

/// A watch of keys. Each iteration has connections of its own, which end when it is cancelled or
/// its iterator is freed.
package struct EtcdWatch: AsyncSequence, Sendable {
    package typealias Element = EtcdEvent

    let client: EtcdClient
    let prefix: EtcdKey
    let revision: Int64

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var events: AsyncThrowingStream<EtcdEvent, any Error>.Iterator
        fileprivate let demand: Demand

        /// - Throws: ``EtcdFailure`` if another try is of no use: not authenticated, no right,
        ///   not etcd. A node or a network that is down is no failure: the watch waits for it.
        package mutating func next() async throws -> EtcdEvent? {
            try await next(isolation: nil)
        }

        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> EtcdEvent? {
            await demand.add()
            return try await events.next(isolation: actor)
        }
    }

    package func makeAsyncIterator() -> AsyncIterator {
        let demand = Demand()
        let (events, continuation) = AsyncThrowingStream.makeStream(of: EtcdEvent.self)
        let task = Task { [client, prefix, revision] in
            do {
                try await client.follow(prefix, from: revision) { event in
                    try await demand.take()
                    continuation.yield(event)
                }
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return AsyncIterator(events: events.makeAsyncIterator(), demand: demand)
    }
}

extension EtcdClient {
    /// Follows the changes of the keys with a prefix.
    ///
    /// - Parameters:
    ///   - prefix: What the keys begin with. Empty: all keys of the circle.
    ///   - revision: The first revision that is of interest: the one after that of a page.
    /// - Returns: The watch. It begins when it is iterated.
    package nonisolated func watch(_ prefix: EtcdKey, from revision: Int64) -> EtcdWatch {
        EtcdWatch(client: self, prefix: prefix, revision: revision)
    }

    /// Gives events to a function until it throws or the task is cancelled.
    fileprivate func follow(
        _ prefix: EtcdKey, from revision: Int64,
        _ body: @escaping @Sendable (EtcdEvent) async throws -> Void
    ) async throws {
        let progress = WatchProgress(
            prefix: configuration.prefix, watched: prefix, revision: revision, body)
        var tries = EtcdTries(nodes: configuration.nodes, first: preferred)
        while true {
            try Task.checkCancellation()
            do {
                try await watchOnce(configuration.prefix + prefix, at: tries.node, progress)
            } catch let failure as EtcdTryFailure {
                if await progress.takeNews() {
                    tries = EtcdTries(nodes: configuration.nodes, first: tries.index)
                }
                _ = try tries.note(failure, .read)
                if let round = tries.advance(failure) {
                    try await configuration.timing.pause(
                        configuration.timing.pauseLength(round: round))
                }
            }
        }
    }

    /// A watch at one node, until it breaks.
    ///
    /// - Throws: ``EtcdTryFailure``, or what the function that takes the events throws.
    private func watchOnce(
        _ key: EtcdKey, at node: String, _ progress: WatchProgress
    ) async throws {
        // This brings a token that the node accepts: a watch itself only ends for a wrong one.
        try await check(key, at: node)
        let limit = configuration.timing.tryDeadline
        let creation = WatchRequest.Creation(
            key: Base64Bytes(key), rangeEnd: Base64Bytes(key.end),
            startRevision: DecimalNumber(await progress.next))
        let messages = try await transport.stream(
            .watch, EtcdTransport.encode(WatchRequest(createRequest: creation)), at: node,
            token: token(at: node, within: limit), within: limit)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await progress.read(messages) }
            group.addTask { [configuration] in
                while true {
                    try await configuration.timing.pause(configuration.timing.watchCheckInterval)
                    try await self.check(key, at: node)
                }
            }
            try await group.next()
        }
    }

    /// Whether the node answers, has a leader, and lets us read.
    private func check(_ key: EtcdKey, at node: String) async throws {
        let request = RangeRequest(
            key: Base64Bytes(key), rangeEnd: Base64Bytes(key.end), limit: DecimalNumber(1),
            keysOnly: true)
        let _: RangeAnswer = try await attempt(
            .range, EtcdTransport.encode(request), at: node,
            within: configuration.timing.tryDeadline)
    }
}

/// How many events a program waits for: one or none.
private actor Demand {
    private var count = 0
    private var waiter: AsyncStream<Void>.Continuation?

    func add() {
        count += 1
        waiter?.finish()
        waiter = nil
    }

    /// Waits until an event is wanted.
    func take() async throws {
        while count == 0 {
            let (signal, continuation) = AsyncStream.makeStream(of: Void.self)
            waiter = continuation
            for await _ in signal {}
            try Task.checkCancellation()
        }
        count -= 1
    }
}

#endif
