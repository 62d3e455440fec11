// EtcdWatch: reports changes of the keys with a prefix as they are made.
//   (1) Except for repetitions (2), events arrive in the order of their revisions. If events may
//       have been omitted, `compacted` reports this. If the cluster was restored, the revisions
//       after that report can be lower again. A restored cluster is recognized only while its last
//       revision is lower than the last one that the watch has reached.
//   (2) After a connection breaks, the watch continues at the next node, after the last complete
//       revision of the messages whose events the program has all received. Events of later
//       revisions may arrive twice.
//   (3) A message is decoded only after the program has asked for all events of the one before. So
//       a slow program delays the connection, and little is read ahead.
//   (4) At intervals, the watch sends a linearizable read to the node, and leaves a node that
//       doesn't answer, because it is dead or cut off from the others. After some of these reads,
//       the watch begins again at the same node, and continues after the same revision as in (2).

#if Synchronization

package enum EtcdEvent: Hashable, Sendable {
    case put(EtcdItem)
    case deletion(EtcdKey, revision: Int64)
    /// Changes may not have been reported: etcd no longer has those before this revision, or the
    /// cluster was restored to an earlier state. The watch continues from this revision. Read all
    /// keys and compare.
    case compacted(Int64)
}

/// A watch of keys. The events of each iteration arrive on a connection of their own, which ends
/// when the iteration is canceled or its iterator is freed. The reads that check the node use the
/// connections that all requests of the client share.
package struct EtcdWatch: AsyncSequence, Sendable {
    package typealias Element = EtcdEvent

    let client: EtcdClient
    let prefix: EtcdKey
    let revision: Int64

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var events: AsyncThrowingStream<EtcdEvent, any Error>.Iterator
        fileprivate let demand: Demand

        /// - Throws: ``EtcdFailure`` if another attempt is useless, for example because
        ///   authentication failed, a right is missing, or the server isn't etcd;
        ///   `CancellationError` if the client was shut down. If a node or the network is down, the
        ///   watch waits for it instead.
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
    ///   - prefix: The prefix of the keys, after the configured one. An empty prefix means all keys
    ///     below the configured one.
    ///   - revision: The first revision to report: for example, the one after a page's revision.
    /// - Returns: The watch, which begins when it is iterated.
    package nonisolated func watch(_ prefix: EtcdKey, from revision: Int64) -> EtcdWatch {
        EtcdWatch(client: self, prefix: prefix, revision: revision)
    }

    /// Passes events to `body` until another attempt is useless or the task is canceled.
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

    /// Watches at one node until the connection breaks, or the watch is to begin anew.
    ///
    /// - Throws: ``EtcdTryFailure``, or `CancellationError`.
    private func watchOnce(
        _ key: EtcdKey, at node: String, _ progress: WatchProgress
    ) async throws {
        // The check obtains a token that the node accepts. If a watch had a wrong token, etcd would
        // cancel the watch, and this client would not replace the token.
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
                for _ in 1..<max(configuration.timing.watchCheckCount, 2) {
                    try await configuration.timing.pause(configuration.timing.watchCheckInterval)
                    try await self.check(key, at: node)
                }
                // The next watch begins with a check.
                try await configuration.timing.pause(configuration.timing.watchCheckInterval)
            }
            try await group.next()
        }
    }

    /// Checks that the node answers, has a leader, and permits the client to read.
    private func check(_ key: EtcdKey, at node: String) async throws {
        let request = RangeRequest(
            key: Base64Bytes(key), rangeEnd: Base64Bytes(key.end), limit: DecimalNumber(1),
            keysOnly: true)
        let _: RangeAnswer = try await attempt(
            .range, EtcdTransport.encode(request), at: node,
            within: configuration.timing.tryDeadline)
    }
}

/// The number of events that a program has asked for and that are yet to be passed to it.
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
