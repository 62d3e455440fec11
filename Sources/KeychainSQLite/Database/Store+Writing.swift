// Store+Writing: writes, and the commits that they share.
//   (1) A write returns after the commit that it is in is durable, and noted in the anchor.
//   (2) When a write fails, nothing of it is in the database, and the others of its commit are as
//       if it had not been.
//   (3) When a commit fails, every write in it fails: what one was told may rest on another.
//   (4) A write sees what those before it in its commit have done, so the keybag's generation is
//       looked at for each.
//   (5) A commit fails if damage was met since it began, or if it would write a damaged page.
//   (6) A `WriteProbe` looks at a write to a database in memory while it goes on, and can end it
//       there. It leaves what a crash at that moment leaves: everything or nothing of the write. A
//       write to a folder never asks for it.

import Dispatch
package import KeychainCore
import KeychainCrypto

extension Store {
    /// A commit takes no further writes in after so many, or when that has taken so long: the first
    /// of them waits for the last.
    private static let longestGroup = 64
    private static let longestGathering: DispatchTimeInterval = .milliseconds(10)

    /// How many writes wait for another thread to carry them out or to pass the lead on.
    package var waitingWriteCount: Int { queue.waitingCount }

    /// Runs `body` in a transaction, which it may share with other threads' writes, and commits
    /// what it did, durably.
    ///
    /// `body` may run on another thread, while this one waits. `keybagGeneration` is that of the
    /// keybag whose keys `body` uses. Where the keybag has been changed since, `body` doesn't run
    /// and the outcome says so. One that `isAlone` shares its transaction with no other.
    package func write<Result>(
        keybagGeneration: UInt64, isAlone: Bool = false,
        _ body: (inout StoreTransaction) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> WriteOutcome<Result> {
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

    /// Carries out a write and those that wait meanwhile, and commits them.
    private func lead(_ first: QueuedWrite) {
        // In memory there is no disk to wait for, and a probe looks at one write.
        let probe = file.folder == nil ? WriteProbe.current : nil
        var others: [QueuedWrite] = []
        var committed: (bytes: [UInt8], header: StoreHeader)?
        do {
            var changed = DispatchTime.now()
            committed = try connections.run(.writing, until: first.deadline) {
                database throws(KeychainFailure) in
                defer { changed = .now() }
                let met = damage.recordingCount
                let written = try carryOut(first, &others, in: database, probe)
                guard damage.recordingCount == met else {
                    throw KeychainFailure.damagedStore("a page that the change rests on is damaged")
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

    /// - Returns: The header to be committed, and its bytes; nil where nothing has changed.
    private func carryOut(
        _ first: QueuedWrite, _ others: inout [QueuedWrite], in database: DatabaseConnection,
        _ probe: WriteProbe?
    ) throws(KeychainFailure) -> (bytes: [UInt8], header: StoreHeader)? {
        let tiers = tiers
        let header = try header(in: database, tiers)
        var transaction = StoreTransaction(database, header: header, tiers, probe)
        // Nothing comes before it, so its failure may end the transaction.
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

/// What became of a write.
package enum WriteOutcome<Result> {
    case done(Result)
    /// The passcode was changed meanwhile: read the keybag again and repeat. Nothing was done.
    case staleKeybag
}

// MARK: - Probes

/// What a test has to do with the writes of the current task.
package struct WriteProbe: Sendable {
    /// How far a write has come.
    package enum Moment: Hashable, Sendable {
        /// The transaction has begun; nothing is changed yet.
        case began
        /// One more statement has changed something.
        case tookStep
        /// An addition found its item there; from here on the write is a change of that one.
        case foundExisting
        /// All changes are made; the transaction is about to be committed.
        case changed
        /// The transaction is committed.
        case committed
    }

    @TaskLocal package static var current: WriteProbe?

    private let failure: @Sendable (Moment) -> KeychainFailure?

    /// What `failure` gives, the write throws: without effect up to `changed`, and after its
    /// effect at `committed`.
    package init(failure: @escaping @Sendable (Moment) -> KeychainFailure?) {
        self.failure = failure
    }

    func reach(_ moment: Moment) throws(KeychainFailure) {
        if let failure = failure(moment) { throw failure }
    }
}
