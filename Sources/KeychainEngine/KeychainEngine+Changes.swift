// KeychainEngine+Changes: telling of changes by this and other processes.

package import KeychainCore
import KeychainSQLite

extension KeychainEngine {
    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        store.subscribe(handler)
    }

    /// Whether anyone is subscribed.
    package var isFollowed: Bool { store.commits.isFollowed }
}
