// WriteProbe: looks at a write to a database in memory while it goes on, and can end it there.
//   (1) A write to a folder never asks for it.
//   (2) It leaves what a crash at that moment leaves: everything or nothing of the write.

package import KeychainCore

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
