// KeychainDatabase: where items are kept. The one place that knows which platform this is.

#if canImport(Darwin)

/// A database of items. On Apple platforms there is one, the system's.
public struct KeychainDatabase: Sendable {
    let backend: any Backend

    /// The data-protection keychain of the system.
    public static let `default` = KeychainDatabase(backend: SecItemBackend())
}

#else

public import Foundation
import KeychainEngine
import KeychainModel

/// A database of items, with a lock and a passcode of its own.
///
/// Most programs use ``default`` and never name it. On Apple platforms that is the keychain of
/// the system, and the only one: the rest of this type is missing there, as the system itself
/// locks and unlocks.
///
/// A database without a passcode is always unlocked. One with a passcode is locked in every
/// process that has not called ``unlock(passcode:)-(String)``.
public struct KeychainDatabase: Sendable {
    let backend: any Backend
    /// Opens the database if it is not open. nil: there is nothing to administer.
    let engine: (@Sendable () throws(KeychainFailure) -> KeychainEngine)?

    init(
        backend: any Backend,
        engine: (@Sendable () throws(KeychainFailure) -> KeychainEngine)? = nil
    ) {
        self.backend = backend
        self.engine = engine
    }

    /// The keychain of the user who runs this program.
    ///
    /// The folder is the value of the environment variable `KEYCHAIN_DIRECTORY`, or `keychain` in
    /// `XDG_DATA_HOME`, or `~/.local/share/keychain`, whichever is set first. The access groups
    /// are those of the program's entitlements.
    public static let `default` = KeychainDatabase(
        backend: TypedBackend { () throws(KeychainFailure) in
            try EmbeddedKeychain.connection()
        },
        engine: { () throws(KeychainFailure) in
            try EmbeddedKeychain.engine(in: EmbeddedKeychain.location().directory)
        })

    /// The keychain in a folder, for tests, tools and servers. Made at the first use if the
    /// folder holds none.
    ///
    /// Nothing is opened or read before the first operation, and errors of opening are errors of
    /// the operation. Any number of processes may use a folder at the same time.
    ///
    /// - Parameters:
    ///   - directory: The folder, a file URL. Nothing else may be in it.
    ///   - accessGroups: The groups whose items the program sees, the one for new items first.
    ///     nil: those of the program's entitlements.
    public init(directory: URL, accessGroups: [String]? = nil) {
        let path = directory.isFileURL ? directory.absoluteURL.standardizedFileURL.path : nil
        let engine = { @Sendable () throws(KeychainFailure) -> KeychainEngine in
            guard let path else { throw .param("The folder must be a file URL.") }
            return try EmbeddedKeychain.engine(in: path)
        }
        self.init(
            backend: TypedBackend { () throws(KeychainFailure) in
                let caller: AccessGroups
                if let accessGroups {
                    caller = AccessGroups(accessGroups)
                } else {
                    caller = try EmbeddedKeychain.entitlements().accessGroups
                }
                return KeychainConnection(service: try engine(), caller: caller)
            },
            engine: engine)
    }
}

#endif
