// TouchedItems: the items and tombstones that a request returned, added, changed, deleted or set
// aside, for audit records.

package import KeychainCore
import Synchronization

package final class TouchedItems: Sendable {
    @TaskLocal private static var current: TouchedItems?

    private let noted = Mutex<[ItemReference]>([])

    package init() {}

    /// Each item once, in the order of first occurrence.
    package var references: [ItemReference] {
        var known: Set<ItemReference> = []
        return noted.withLock { $0 }.filter { known.insert($0).inserted }
    }

    /// Collects the items that the requests carried out by `body` touch.
    package func collecting<Result>(
        _ body: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        try Self.$current.withValue(self) {
            Swift.Result { () throws(KeychainFailure) in try body() }
        }.get()
    }

    /// Whether a collection is in progress in the current task.
    static var isWanted: Bool { current != nil }

    static func note(_ references: some Sequence<ItemReference>) {
        current?.noted.withLock { $0 += references }
    }
}
