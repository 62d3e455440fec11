// KeychainDatabase: where items are kept.

import KeychainEngine
import KeychainModel

/// A database of items, with a lock and a passcode of its own.
///
/// Most programs use ``default`` and never name it.
public struct KeychainDatabase: Sendable {
    let backend: any Backend

    init(backend: any Backend) {
        self.backend = backend
    }

    /// The keychain of the system on Apple platforms; elsewhere the one of the user.
    public static let `default` = KeychainDatabase(
        backend: TypedBackend { () throws(KeychainFailure) in
            try EmbeddedKeychain.connection()
        })
}
