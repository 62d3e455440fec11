// TouchedItems: which items a request gave, added, changed or deleted, for who has to account for it.

package import KeychainCore
import Synchronization

package final class TouchedItems: Sendable {
    @TaskLocal private static var current: TouchedItems?

    private let noted = Mutex<[ItemReference]>([])

    package init() {}

    /// Each once, in the order in which they were met.
    package var references: [ItemReference] {
        var known: Set<ItemReference> = []
        return noted.withLock { $0 }.filter { known.insert($0).inserted }
    }

    /// Notes what the requests touch that `body` carries out.
    package func collecting<Result>(
        _ body: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        try Self.$current.withValue(self) {
            Swift.Result { () throws(KeychainFailure) in try body() }
        }.get()
    }

    /// Whether anybody wants to know.
    static var isWanted: Bool { current != nil }

    static func note(_ references: some Sequence<ItemReference>) {
        current?.noted.withLock { $0 += references }
    }
}
