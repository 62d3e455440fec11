// KeychainDatabase: where items are kept. The one place that knows which platform this is.

#if canImport(Darwin)

package import KeychainAuthentication
package import KeychainCore
package import KeychainSecItem

/// A database of items. On Apple platforms there is one, the system's.
public struct KeychainDatabase: Sendable {
    private let connect: @Sendable (AuthenticationOptions) throws(KeychainFailure) -> Connection
    let identity: DatabaseIdentity
    /// Who answers for the person, and whether the person may be asked.
    var authentication = AuthenticationOptions()
    /// Whether what is replaced or deleted is kept as an earlier version.
    var keepsVersions = false

    /// Gives the handler of requests.
    func connection() throws(KeychainFailure) -> Connection { try connect(authentication) }

    /// A database that is asked at every request, and authenticates the person itself. There are
    /// others than the system's in tests.
    package init(
        identity: DatabaseIdentity = .unique(),
        authenticating connect:
            @escaping @Sendable (AuthenticationOptions)
            throws(KeychainFailure) -> KeychainConnection<SystemHandler>
    ) {
        self.connect = connect
        self.identity = identity
    }

    /// The data-protection keychain of the system.
    public static let `default`: KeychainDatabase = {
        let handler = SecItemHandler()
        return KeychainDatabase(
            identity: .default,
            authenticating: {
                // The system knows itself who calls.
                Connection(
                    handler: .functions(handler.authenticating($0)), caller: AccessGroups([]))
            })
    }()
}

extension KeychainDatabase {
    typealias Connection = KeychainConnection<SystemHandler>
}

/// The system's keychain.
package enum SystemHandler: RequestHandler {
    case functions(SecItemHandler)
    /// What a test puts in its place.
    case substitute(any RequestHandler)

    @discardableResult
    package func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        switch self {
        case .functions(let handler): try handler.perform(request, as: caller)
        case .substitute(let handler): try handler.perform(request, as: caller)
        }
    }

    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        switch self {
        case .functions(let functions): try functions.subscribe(handler)
        case .substitute(let substitute): try substitute.subscribe(handler)
        }
    }
}

#else

public import Foundation
package import KeychainAuthentication
package import KeychainRuntime
import KeychainEngine
package import KeychainCore
import Synchronization

/// A database of items, with a lock and a passcode of its own.
///
/// Most programs use ``default`` and never name it. On Apple platforms that is the keychain of
/// the system, and the only one: the rest of this type is missing there, as the system itself
/// locks and unlocks.
///
/// A database without a passcode is always unlocked. One with a passcode is locked until
/// `unlock(passcode:)`, in each process that opens it: a database that a keychain service has open
/// is locked and unlocked for all programs that the service works for.
public struct KeychainDatabase: Sendable {
    private let connect: @Sendable (AuthenticationOptions) throws(KeychainFailure) -> Connection
    /// Opens the database if it is not open. nil: there is nothing to administer.
    let administration: (@Sendable () throws(KeychainFailure) -> KeychainHandler)?
    let identity: DatabaseIdentity
    /// Who answers for the person, and whether the person may be asked.
    var authentication = AuthenticationOptions()
    /// Whether what is replaced or deleted is kept as an earlier version.
    var keepsVersions = false

    /// Gives the keychain and the caller, with the person in front. It is asked at every request:
    /// the first one that succeeds opens the database.
    func connection() throws(KeychainFailure) -> Connection { try connect(authentication) }

    /// A database that is asked for at every request. The person is asked as in front of the SecItem
    /// functions.
    package init(
        identity: DatabaseIdentity = .unique(),
        administration: (@Sendable () throws(KeychainFailure) -> KeychainHandler)? = nil,
        connection:
            @escaping @Sendable () throws(KeychainFailure) -> KeychainConnection<KeychainHandler>
    ) {
        self.init(
            identity: identity, administration: administration,
            authenticating: { options throws(KeychainFailure) in
                try connection().authenticating(options)
            })
    }

    /// A database that is asked at every request, and authenticates the person itself.
    package init(
        identity: DatabaseIdentity = .unique(),
        administration: (@Sendable () throws(KeychainFailure) -> KeychainHandler)? = nil,
        authenticating connect:
            @escaping @Sendable (AuthenticationOptions)
            throws(KeychainFailure) -> AuthenticatingConnection
    ) {
        self.connect = connect
        self.identity = identity
        self.administration = administration
    }

    /// The keychain of the user who runs this program.
    ///
    /// Where a keychain service is at work, that service is asked. It is the one whose socket the
    /// environment variable `KEYCHAIN_SERVICE` or the configuration file names, or `keychain/socket`
    /// in `XDG_RUNTIME_DIR`, or `/run/keychaind/socket`, whichever is there first. The access groups
    /// are those to which the service says the program is entitled. A service that doesn't answer is
    /// an error; the items are never looked for elsewhere.
    ///
    /// Without a service, or where `KEYCHAIN_SERVICE` or the configuration file say `embedded`, or
    /// where `KEYCHAIN_DIRECTORY` names a folder, the program opens the keychain itself. Its folder
    /// is the value of `KEYCHAIN_DIRECTORY`, or `keychain` in `XDG_DATA_HOME`, or
    /// `~/.local/share/keychain`, whichever is set first. The access groups are those of the
    /// program's entitlements.
    ///
    /// All this is decided at the first use and stays until the program ends.
    public static let `default` = KeychainDatabase(
        identity: .default,
        administration: { () throws(KeychainFailure) in try ProcessKeychain.administration() },
        connection: { () throws(KeychainFailure) in try ProcessKeychain.connection() })

    /// The keychain in a folder, for tests, tools and servers. Made by the first change if the
    /// folder holds none. This process opens it itself, whether there is a service or not.
    ///
    /// Nothing is opened or read before the first operation, and errors of opening are errors of
    /// the operation. Any number of processes may use a folder at the same time. Once opened,
    /// its files stay open until the process ends.
    ///
    /// - Parameters:
    ///   - directory: The folder, a file URL. Nothing else may be in it.
    ///   - accessGroups: The groups whose items the program sees, the one for new items first.
    ///     nil: those of the program's entitlements.
    public init(directory: URL, accessGroups: [String]? = nil) {
        let path = directory.isFileURL ? directory.absoluteURL.standardizedFileURL.path : nil
        let engine = { @Sendable () throws(KeychainFailure) -> KeychainHandler in
            guard let path else { throw .param("The folder must be a file URL.") }
            return try EmbeddedKeychain.keychain(in: path)
        }
        let connection = LazyConnection { () throws(KeychainFailure) in
            let caller: AccessGroups
            if let accessGroups {
                caller = AccessGroups(accessGroups)
            } else {
                caller = try EmbeddedKeychain.entitlements().accessGroups
            }
            return ProcessConnection(handler: try engine(), caller: caller)
        }
        self.init(
            identity: path.map { .folder($0, accessGroups) } ?? .unique(),
            administration: { () throws(KeychainFailure) in try engine() },
            connection: { () throws(KeychainFailure) in try connection.value() })
    }
}

extension KeychainDatabase {
    typealias Connection = AuthenticatingConnection

    /// Makes requests about the database as a whole.
    @discardableResult
    package func administer<Result>(
        _ body: (KeychainHandler) throws(KeychainFailure) -> Result
    ) throws(KeychainError) -> Result {
        do throws(KeychainFailure) {
            guard let administration else {
                throw KeychainFailure(.unimplemented, "This database can't be administered.")
            }
            return try body(try administration())
        } catch {
            throw KeychainError(error, .administer)
        }
    }
}

/// A connection that is made at the first use. A failure is not remembered.
private final class LazyConnection: Sendable {
    private let make: @Sendable () throws(KeychainFailure) -> ProcessConnection
    private let made = Mutex<ProcessConnection?>(nil)

    init(_ make: @escaping @Sendable () throws(KeychainFailure) -> ProcessConnection) {
        self.make = make
    }

    func value() throws(KeychainFailure) -> ProcessConnection {
        if let connection = made.withLock({ $0 }) { return connection }
        let connection = try make()
        made.withLock { $0 = connection }
        return connection
    }
}

#endif
