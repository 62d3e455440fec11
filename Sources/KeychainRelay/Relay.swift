// Relay: carries records between a keychain and a server. Documentation/Synchronization.md, "The
// relay".
//   (1) It has no key, and can neither decrypt a record nor make a valid one. To the keychain it is
//       a part of the server.
//   (2) An entry of the machine's log is reported as stored only if the server has exactly its
//       bytes.
//   (3) It keeps no state between rounds, except what changed since the last one. Several relays of
//       one keychain can run at the same time, such as that of `sync run` and that of another
//       command.

import Dispatch
import FoundationEssentials
package import KeychainCore
import KeychainCrypto
package import KeychainSynchronization

package struct Relay: Sendable {
    package typealias Keychain =
        @Sendable (Synchronize) throws(KeychainFailure) -> Synchronize.Answer

    package let store: any RecordStore
    /// After how many milliseconds without a sign of life a machine is to be suspended. 0: never.
    private let absenceLimit: Int64
    private let keychain: Keychain

    package init(
        _ store: any RecordStore, absenceLimit: Int64 = 0, keychain: @escaping Keychain
    ) {
        self.store = store
        self.absenceLimit = absenceLimit
        self.keychain = keychain
    }

    // MARK: The keychain

    package func send(
        _ message: SynchronizationMessage, secret: SecretBytes? = nil
    ) async throws -> Synchronize.Answer {
        let request = Synchronize(message.messageBytes, secret: secret)
        // The keychain can take a long time, and must not block the threads that run asynchronous
        // code.
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try keychain(request) })
            }
        }
    }

    package func status() async throws -> CircleStatus {
        try CircleStatus(messageBytes: try await send(.status).message)
    }

    private func exchange(_ delivery: Delivery) async throws -> Demand {
        try Demand(messageBytes: try await send(.exchange(delivery)).message)
    }

    // MARK: A round

    /// Reads what the keychain demands, and writes what it wants to store, until there is nothing
    /// left to read or write.
    ///
    /// - Returns: What the keychain demanded last.
    @discardableResult
    package func settle() async throws -> Demand { try await settle(.everything) }

    private func settle(_ changes: PendingChanges.Changes) async throws -> Demand {
        do {
            return try await round(changes)
        } catch let failure as KeychainFailure where failure.cause == .contention {
            // Another process has synchronized the keychain. The keychain reads everything again,
            // and goes on from what the other process wrote.
            return try await round(.everything)
        }
    }

    private func round(_ changes: PendingChanges.Changes) async throws -> Demand {
        var round = Round(store: store, absenceLimit: absenceLimit, changes)
        var delivery = Delivery()
        while true {
            try Task.checkCancellation()
            let demand = try await exchange(delivery)
            guard [.restoring, .comparing, .current].contains(demand.state) else { return demand }
            guard let next = try await round.serve(demand) else { return demand }
            delivery = next
        }
    }

    // MARK: Running

    /// The result of a round of ``run(localChanges:timing:report:)``.
    package enum Event: Sendable {
        case settled(Demand)
        case failed(any Error)
    }

    package struct Timing: Sendable {
        /// The time after which a round begins without a change. While the watch of the server runs
        /// and the keychain is current, this round reads nothing: the watch shows what changes.
        package var interval = Duration.seconds(60)
        /// The number of intervals after which a round reads everything, whatever the watch shows.
        package var fullRoundCount = 60
        /// The first pause between a failure and the next round, and between the end of a watch and
        /// the next watch. The pause doubles each time, up to `longestPause`.
        package var firstPause = Duration.milliseconds(200)
        package var longestPause = Duration.seconds(30)
        /// Waits for the time of a pause. Tests replace it.
        package var pause: @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        }
        /// The time, by which the length of a watch is measured. Tests replace it.
        package var now: @Sendable () -> ContinuousClock.Instant = { .now }

        package init() {}
    }

    /// Settles, and does so again whenever the keychain or the server changes, after failures and
    /// at intervals, until the task is canceled or the keychain is no longer in a circle.
    ///
    /// - Parameters:
    ///   - localChanges: An element for each change of the keychain.
    ///   - timing: The intervals between rounds.
    ///   - report: Receives the result of each round. If it returns `false`, the run ends.
    /// - Throws: `CancellationError`.
    package func run(
        localChanges: AsyncStream<Void>, timing: Timing = Timing(),
        report: @escaping @Sendable (Event) -> Bool
    ) async throws {
        let changes = PendingChanges()
        changes.add(.all)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { for await _ in localChanges { changes.add(.local) } }
            group.addTask {
                var count = 0
                while !Task.isCancelled {
                    try await Task.sleep(for: timing.interval)
                    count += 1
                    let isFull = count % timing.fullRoundCount == 0
                    changes.add(isFull || !changes.isWatched ? .all : .local)
                }
            }
            var isWatching = false
            var pause = timing.firstPause
            for await change in changes.stream {
                do {
                    let demand = try await settle(change)
                    guard report(.settled(demand)) else { return }
                    pause = timing.firstPause
                    switch demand.state {
                    case .none, .removed: return
                    case .locked: changes.needAll()
                    case .restoring, .comparing, .current:
                        guard !isWatching else { continue }
                        isWatching = true
                        group.addTask { try await watch(demand, changes, timing) }
                    }
                } catch {
                    try Task.checkCancellation()
                    guard report(.failed(error)) else { return }
                    try await timing.pause(pause)
                    pause = min(pause * 2, timing.longestPause)
                    changes.add(.all)
                }
            }
            try Task.checkCancellation()
        }
    }

    /// Follows the changes on the server, until the task is canceled.
    private func watch(
        _ demand: Demand, _ changes: PendingChanges, _ timing: Timing
    ) async throws {
        let keys = RecordKeys(circle: Hexadecimal.text(Array(demand.circle)))
        let own = Hexadecimal.text(demand.machine.bytes)
        var pause = timing.firstPause
        while !Task.isCancelled {
            let begun = timing.now()
            do {
                let keysOfChanges = try await store.changes(keys.all)
                changes.setWatched(true)
                // The watch doesn't show changes from before it began.
                changes.add(.all)
                for try await key in keysOfChanges {
                    // The pauses become longer until a watch has shown a change or lasted for a
                    // while: a proxy may pass on reads, and end each watch at once.
                    pause = timing.firstPause
                    if let change = PendingChanges.Change(key, keys, besides: own) {
                        changes.add(change)
                    }
                }
            } catch {
                try Task.checkCancellation()
            }
            changes.setWatched(false)
            if timing.now() - begun > timing.longestPause { pause = timing.firstPause }
            try await timing.pause(pause)
            pause = min(pause * 2, timing.longestPause)
        }
    }
}
