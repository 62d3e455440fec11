// LGTVControlManager: the credentials of one television, and the connections to it.
//   (1) A manager carries out calls of `connect(ip:mac:)` one after the other, and a program has
//       one manager. Of two concurrent calls, the second finds the key that the first obtained, and
//       the television asks its user only once.
//   (2) A connection replaces a stored client key only with one that the television has accepted.
//   (3) A connection doesn't restore credentials that this process clears while the connection
//       waits for the television.

import Synchronization

/// Connects an app and its widget to the television.
///
/// A manager can be used from any thread. Saving, loading and clearing credentials access the
/// keychain and block the calling thread. Connecting does not block its caller.
public final class LGTVControlManager: Sendable {
    /// The manager of this program.
    public static let shared = LGTVControlManager()

    /// The service and account of the credentials in the keychain.
    public enum Constants {
        /// The service of the item.
        public static let keychainService = "com.DaraConsultingInc.LGTVRemoteWidget.credentials"
        /// The account of the item.
        public static let keychainAccount = "default"
    }

    /// Registers this program with a television, using the given key, and returns the key. If no
    /// key is given, the television issues one.
    typealias Register = @Sendable (Television, String?) async throws -> String

    private struct State {
        var port: UInt16 = 3000
        var timeLimit = Duration.seconds(60)
        var clearCount = 0
        var lastConnection: Task<Void, any Error>?
    }

    private let state = Mutex(State())
    private let keychain = KeychainManager()
    private let register: Register

    /// - Parameter register: A replacement for the network, in tests.
    init(register: @escaping Register = { try await $0.register(clientKey: $1) }) {
        self.register = register
    }

    /// The television's TCP port, by default 3000.
    public var port: UInt16 {
        get { state.withLock { $0.port } }
        set { state.withLock { $0.port = newValue } }
    }

    /// The time that a connection waits for the television's response, which may depend on the
    /// television's user. The default is one minute.
    public var timeLimit: Duration {
        get { state.withLock { $0.timeLimit } }
        set { state.withLock { $0.timeLimit = newValue } }
    }

    // MARK: Credentials

    /// Saves the credentials, replacing existing ones.
    ///
    /// - Parameter credentials: The credentials.
    /// - Throws: The errors of ``KeychainManager/save(_:service:account:)``.
    public func saveCredentials(_ credentials: TVCredentials) throws {
        try state.withLock { _ in try store(credentials) }
    }

    /// Requires the lock of `state`.
    private func store(_ credentials: TVCredentials) throws {
        try keychain.save(
            credentials, service: Constants.keychainService, account: Constants.keychainAccount)
    }

    /// Saves the credentials that `change` makes from the stored ones, unless `change` returns
    /// `nil`. No other call of this manager saves or clears credentials in the meantime.
    ///
    /// - Returns: The saved credentials.
    func updateCredentials(
        _ change: (_ stored: TVCredentials?) throws -> TVCredentials?
    ) throws -> TVCredentials? {
        try state.withLock { _ in
            guard let credentials = try change(try loadCredentials()) else { return nil }
            try store(credentials)
            return credentials
        }
    }

    /// Loads the credentials.
    ///
    /// - Returns: The credentials, or `nil` if there are none.
    /// - Throws: The errors of ``KeychainManager/load(_:service:account:)``.
    public func loadCredentials() throws -> TVCredentials? {
        try keychain.load(
            TVCredentials.self, service: Constants.keychainService,
            account: Constants.keychainAccount)
    }

    /// Deletes the credentials. The next connection pairs again.
    ///
    /// A connection of this manager that is in progress no longer stores anything. If it would have
    /// stored credentials, it throws `CancellationError`. A connection that still waits for an
    /// earlier one, and a connection in another process, are not stopped: they store the
    /// credentials that they obtain.
    ///
    /// - Throws: The errors of ``KeychainManager/delete(service:account:)``.
    public func clearCredentials() throws {
        try state.withLock { state in
            try keychain.delete(
                service: Constants.keychainService, account: Constants.keychainAccount)
            state.clearCount += 1
        }
    }

    // MARK: Connections

    /// Connects to a television, with the stored key or, if there is none, by pairing.
    ///
    /// Without a key, the television asks its user, and the key that it returns is stored. If
    /// pairing fails, the addresses are stored without a key. A stored key of another television is
    /// kept with its addresses until the new television has accepted the connection. The calling
    /// actor is not blocked.
    ///
    /// - Parameters:
    ///   - ip: The television's IP address.
    ///   - mac: The television's MAC address. The stored key is sent only if it is stored with this
    ///     MAC address or with none.
    /// - Throws: ``LGTVControlError``. After ``LGTVControlError/keyRefused``, the key is still
    ///   stored, and ``clearCredentials()`` causes the next connection to pair again.
    ///   `KeychainError` and `DecodingError` as for loading and saving. `CancellationError` if the
    ///   task is canceled, or if there are credentials to store but this process cleared the stored
    ///   ones in the meantime.
    @concurrent
    public func connect(ip: String, mac: String) async throws {
        let connection = state.withLock { state in
            let previous = state.lastConnection
            let connection = Task {
                _ = await previous?.result
                try Task.checkCancellation()
                try await self.pairIfNeeded(ip, mac)
            }
            state.lastConnection = connection
            return connection
        }
        try await withTaskCancellationHandler {
            try await connection.value
        } onCancel: {
            connection.cancel()
        }
    }

    /// Connects with the stored credentials, as a widget does. The television's user is never
    /// asked, and nothing is stored.
    ///
    /// - Returns: The credentials that the television accepted, or `nil` if no credentials with a
    ///   key are stored. In that case, the app must pair first.
    /// - Throws: The errors of ``connect(ip:mac:)``.
    @concurrent
    public func connectWithStoredCredentials() async throws -> TVCredentials? {
        guard let credentials = try loadCredentials(), let key = credentials.usableKey else {
            return nil
        }
        _ = try await register(television(at: credentials.ipAddress), key)
        return credentials
    }

    private func pairIfNeeded(_ ip: String, _ mac: String) async throws {
        let (stored, known, clearCount) = try state.withLock { state in
            let stored = try loadCredentials()
            var credentials = TVCredentials(ipAddress: ip, macAddress: mac)
            if let stored, stored.canBelong(to: mac) { credentials.clientKey = stored.clientKey }
            if stored?.usableKey == nil, stored != credentials { try store(credentials) }
            return (stored, credentials, state.clearCount)
        }
        var credentials = known
        credentials.clientKey = try await register(television(at: ip), credentials.usableKey)
        if stored != credentials { try save(credentials, unlessClearedAfter: clearCount) }
    }

    private func television(at ipAddress: String) -> Television {
        state.withLock {
            Television(ipAddress: ipAddress, port: $0.port, timeLimit: $0.timeLimit)
        }
    }

    /// The lock makes the check and the save atomic.
    private func save(_ credentials: TVCredentials, unlessClearedAfter clearCount: Int) throws {
        try state.withLock { state in
            guard state.clearCount == clearCount else { throw CancellationError() }
            try store(credentials)
        }
    }
}
