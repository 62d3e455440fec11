// Store+Writing: writes, and group commit.
//   (1) A write to a database in a folder returns after the commit that contains it is durable and
//       its generation was recorded in the anchor. If the anchor can't be written, this isn't
//       reported.
//   (2) If a write fails, it has no effect, neither on the database nor on the other writes of its
//       commit. After some failures, such as a full disk, SQLite rolls back the whole transaction;
//       the commit then fails.
//   (3) If a commit fails, every write in it fails, because each may depend on the others. A commit
//       that could not be synchronized to the disk may still take effect; the error then says so.
//   (4) A write sees the effects of earlier writes in its commit, so the keybag's generation is
//       checked for each write.
//   (5) Whether the database is sound is checked in the transaction of a commit. The commit fails
//       if damage was found since then, or if it would write a damaged page.
//   (6) In tests, a `WriteProbe` observes a write to a database in memory while it is carried out,
//       and can abort it at each of the moments that it is told of. The effect is that of a crash
//       at that moment: all of the write or nothing. A write to a database in a folder never uses
//       the probe.

import Dispatch
package import KeychainCore
import KeychainCrypto

extension Store {
    /// The leader takes no further writes into a commit after this number of writes or this time,
    /// because the first write has to wait for the last. When the time ends, the leader may already
    /// be waiting for one more write, see (4) of `CommitQueue`.
    private static let longestGroup = 64
    private static let longestGathering: DispatchTimeInterval = .milliseconds(10)

    /// The number of writes waiting for another thread to carry them out or to make their thread
    /// the leader.
    package var waitingWriteCount: Int { queue.waitingCount }

    /// Runs `body` in a transaction, which may be shared with writes of other threads, and commits
    /// durably.
    ///
    /// `body` may run on another thread while this one waits. `keybagGeneration` is the generation
    /// of the keybag whose keys `body` uses. If the keybag has changed since, `body` doesn't run,
    /// and the outcome is `staleKeybag`. If `isAlone` is `true`, the transaction isn't shared.
    package func write<Result>(
        keybagGeneration: UInt64, isAlone: Bool = false,
        _ body: (inout StoreTransaction) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> WriteOutcome<Result> {
        // If the database has to be examined, this is done before other writes have to wait.
        try requireSound()
        var outcome = WriteOutcome<Result>.staleKeybag
        let failure = withoutActuallyEscaping(body) { body -> KeychainFailure? in
            let write = QueuedWrite(
                keybagGeneration: keybagGeneration, deadline: .now + Self.longestWait,
                isAlone: isAlone
            ) {
                transaction throws(KeychainFailure) in
                outcome = .done(try body(&transaction))
            }
            if queue.enter(write) { lead(write) }
            return write.failure
        }
        if let failure { throw failure }
        return outcome
    }

    /// Carries out a write and those that arrive meanwhile, and commits them.
    private func lead(_ first: QueuedWrite) {
        // Only a write to a database in memory has a probe. Such a write never shares its commit.
        let probe = file.folder == nil ? WriteProbe.current : nil
        var others: [QueuedWrite] = []
        var committed: (bytes: [UInt8], header: StoreHeader)?
        do {
            var changed = DispatchTime.now()
            committed = try connections.run(.writing, until: first.deadline) {
                database throws(KeychainFailure) in
                defer { changed = .now() }
                // Damage may have been found while the writes waited. If their own reads encounter
                // it again, it isn't recorded again.
                let met = damage.recordingCount
                try requireSound()
                let written = try carryOut(first, &others, in: database, probe)
                guard damage.recordingCount == met else {
                    throw KeychainFailure.damagedStore(
                        "a page that the change depends on is damaged")
                }
                return written
            }
            let now = DispatchTime.now().uptimeNanoseconds
            queue.note(
                count: others.count + 1, nanoseconds: Int(clamping: now - changed.uptimeNanoseconds)
            )
        } catch {
            let failure =
                damage.takeRefusedWrite()
                ? .damagedStore("a page that would have to be changed is damaged") : error
            first.failure = failure
            for write in others { write.failure = failure }
        }
        if let committed { noteVerified(committed) }
        queue.passOn()
        if let generation = committed?.header.generation {
            anchor?.note(generation: generation)
            freshness?.note(generation: generation)
            commits.note(generation: generation)
            do { try probe?.reach(.committed) } catch { first.failure = error }
        }
        for write in others { queue.end(write) }
    }

    /// - Returns: The header to be committed, and its bytes; `nil` if it stays the same.
    private func carryOut(
        _ first: QueuedWrite, _ others: inout [QueuedWrite], in database: DatabaseConnection,
        _ probe: WriteProbe?
    ) throws(KeychainFailure) -> (bytes: [UInt8], header: StoreHeader)? {
        let tiers = tiers
        let header = try header(in: database, tiers)
        var transaction = StoreTransaction(database, header: header, tiers, probe)
        // No write precedes this one, so its failure may end the transaction.
        if header.keybagGeneration == first.keybagGeneration {
            try probe?.reach(.began)
            try first.take()?(&transaction)
        }
        if file.folder != nil, !first.isAlone {
            let start = DispatchTime.now()
            while others.count < Self.longestGroup - 1,
                start + Self.longestGathering > .now(),
                let write = queue.next(behind: others.count + 1, since: start)
            {
                others.append(write)
                try transaction.take(self.tiers)
                try transaction.attempt(write)
            }
        }
        guard let written = try transaction.finish() else { return nil }
        try probe?.reach(.changed)
        return written
    }
}

/// The outcome of a write.
package enum WriteOutcome<Result> {
    case done(Result)
    /// The keybag has changed meanwhile, for example with the passcode, and nothing was done. The
    /// caller reads the keybag and repeats the write.
    case staleKeybag
}

// MARK: - Probes

/// Observes and aborts the writes of the current task, in tests.
package struct WriteProbe: Sendable {
    /// The progress of a write.
    package enum Moment: Hashable, Sendable {
        /// The transaction has begun; nothing is changed yet.
        case began
        /// `StoreTransaction.execute` has carried out one more statement.
        case tookStep
        /// An addition found that the item exists; from here on the write is an update of that
        /// item.
        case foundExisting
        /// All changes are made; the transaction is about to be committed.
        case changed
        /// The transaction is committed.
        case committed
    }

    @TaskLocal package static var current: WriteProbe?

    private let failure: @Sendable (Moment) -> KeychainFailure?

    /// If `failure` returns an error, the write throws it. Up to `changed`, the write then has no
    /// effect; at `committed`, it has already taken effect.
    package init(failure: @escaping @Sendable (Moment) -> KeychainFailure?) {
        self.failure = failure
    }

    func reach(_ moment: Moment) throws(KeychainFailure) {
        if let failure = failure(moment) { throw failure }
    }
}
