// KeychainDatabase: a database of items. This file hides which platform the program runs on.

#if canImport(Darwin)

package import KeychainAuthentication
package import KeychainCore
package import KeychainSecItem

/// A database of items. On Apple platforms, there is only the system's keychain.
public struct KeychainDatabase: Sendable {
    private let connect: @Sendable (AuthenticationOptions) throws(KeychainFailure) -> Connection
    let identity: DatabaseIdentity
    /// How the user is authenticated, and whether the user may be asked.
    var authentication = AuthenticationOptions()
    /// Whether items that are replaced or deleted are kept as earlier versions.
    var keepsVersions = false

    /// Returns the handler for requests, and the access groups of the caller.
    func connection() throws(KeychainFailure) -> Connection { try connect(authentication) }

    /// Creates a database whose `connect` closure is called for every request. The handler that the
    /// closure returns authenticates the user. Databases other than the system's exist only in
    /// tests.
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
                // The system identifies the caller itself.
                Connection(
                    handler: .functions(handler.authenticating($0)), caller: AccessGroups([]))
            })
    }()
}

extension KeychainDatabase {
    typealias Connection = KeychainConnection<SystemHandler>
}

/// The handler for the system's keychain.
package enum SystemHandler: RequestHandler {
    case functions(SecItemHandler)
    /// A handler that a test uses instead.
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

/// A database of items, with its own lock state and passcode.
///
/// Most programs use ``default`` without naming it. On Apple platforms, the default database is the
/// system's keychain and the only database. Apart from `availability()`, the other members of this
/// type don't exist there, because the system itself locks and unlocks its keychain.
///
/// A database without a passcode or another way to unlock it, such as the credential of a keychain
/// service, is always unlocked. Any other database is locked when a process opens it, unless that
/// process has the credential. It stays locked until the process calls `unlock(passcode:)` or the
/// user enters the passcode for an item with a ``Keychain/AccessControl``. If a keychain service
/// has the database open, locking and unlocking apply to all programs that use the service. If the
/// service does not permit a program to administer the database, the operations for locking,
/// unlocking, the passcode, the status and the check fail with
/// ``KeychainError/Code/missingEntitlement``.
public struct KeychainDatabase: Sendable {
    private let connect: @Sendable (AuthenticationOptions) throws(KeychainFailure) -> Connection
    /// Returns the handler for administration. In embedded mode, an existing database is opened
    /// first. The property is `nil` if the database can't be administered.
    let administration: (@Sendable () throws(KeychainFailure) -> KeychainHandler)?
    let identity: DatabaseIdentity
    /// How the user is authenticated, and whether the user may be asked.
    var authentication = AuthenticationOptions()
    /// Whether items that are replaced or deleted are kept as earlier versions.
    var keepsVersions = false

    /// Returns the access groups of the caller, and the handler, which authenticates the user. This
    /// method is called for every request. The first call that succeeds opens the database, if it
    /// exists, or connects to the keychain service.
    func connection() throws(KeychainFailure) -> Connection { try connect(authentication) }

    /// Creates a database whose `connection` closure is called for every request. The user is
    /// authenticated in the same way as for the SecItem functions.
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

    /// Creates a database whose `connect` closure is called for every request. The handler that the
    /// closure returns authenticates the user.
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
    /// Either a keychain service carries out all operations, or the program opens the keychain
    /// itself (embedded mode). The first of these that applies decides:
    ///
    /// 1. The environment variable `KEYCHAIN_SERVICE`, which specifies the socket of a service or
    ///    says `embedded`.
    /// 2. The environment variable `KEYCHAIN_DIRECTORY`, which selects embedded mode.
    /// 3. The configuration file, which specifies the socket of a service or says `embedded`.
    /// 4. The socket `keychain/socket` in `XDG_RUNTIME_DIR` or, if this variable is not set, in
    ///    `/run/user/UID`, if it exists and was not left behind by a service that has ended. If a
    ///    service left the socket behind, and that service had a different keychain open from the
    ///    one that this program would open in embedded mode, operations fail. Operations also fail
    ///    if `XDG_RUNTIME_DIR` is not set, the socket exists in `/run/user/UID`, and this folder
    ///    belongs to another user or is accessible to other users.
    /// 5. The socket `/run/keychaind/socket`, if it exists. But operations fail if the user's own
    ///    service has ever opened the keychain that this program would open in embedded mode.
    ///
    /// If none applies, the program uses embedded mode.
    ///
    /// With a service, the access groups are those that the service finds the program entitled to.
    /// If the service does not respond, the operation fails; items are never looked up elsewhere.
    ///
    /// In embedded mode, the folder is the value of `KEYCHAIN_DIRECTORY` or, if this variable is
    /// not set, `keychain` in `XDG_DATA_HOME`. If neither is set, it is `~/.local/share/keychain`.
    /// The access groups are those of the program's entitlements.
    ///
    /// The choice between a service and embedded mode is made at the first use and doesn't change
    /// until the program ends. In embedded mode, the folder and the access groups don't change
    /// either once the keychain is open.
    public static let `default` = KeychainDatabase(
        identity: .default,
        administration: { () throws(KeychainFailure) in try ProcessKeychain.administration() },
        connection: { () throws(KeychainFailure) in try ProcessKeychain.connection() })

    /// Creates a database for the keychain in a folder, for tests, tools and servers.
    ///
    /// The current process opens the keychain itself, even if a keychain service is available.
    /// Nothing is opened or read before the first operation, so an operation can fail because the
    /// database can't be opened. If the folder contains no keychain, the first addition of an item
    /// or a Secure Enclave key, or setting a passcode, creates one. Any number of processes can use
    /// a folder at the same time. Once opened, the files stay open until the process ends.
    ///
    /// - Parameters:
    ///   - directory: A file URL of the folder. The folder must not contain any other files.
    ///   - accessGroups: The access groups that the program may use, starting with the group for
    ///     new items. If `nil`, the groups are those of the program's entitlements.
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

    /// Performs requests that apply to the database as a whole.
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

/// A connection that is made at first use. If making it fails, the next use tries again.
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
