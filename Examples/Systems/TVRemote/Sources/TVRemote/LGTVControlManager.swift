// LGTVControlManager: the credentials of the one television, and the connection that makes them.
//   (1) In one process connections run one after the other: of two at the same time, the second
//       finds the key that the first got, and the television asks its user once.
//   (2) A connection replaces a stored client key only by one that the television has accepted.
//   (3) Credentials that this process clears while a connection runs in it stay cleared.

import Synchronization

/// The app's and the widget's access to the television.
///
/// It can be used from any thread. Saving, loading and clearing credentials block their thread for
/// a round trip to the keychain; connecting does not block its caller.
public final class LGTVControlManager: Sendable {
    /// The manager of this program.
    public static let shared = LGTVControlManager()

    /// Where the credentials are in the keychain.
    public enum Constants {
        /// The service of the item.
        public static let keychainService = "com.DaraConsultingInc.LGTVRemoteWidget.credentials"
        /// The account of the item.
        public static let keychainAccount = "default"
    }

    /// Registers this program with a television, with a key or, for nil, to be given one.
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

    /// - Parameter register: What stands in for the network, in tests.
    init(register: @escaping Register = { try await $0.register(clientKey: $1) }) {
        self.register = register
    }

    /// The television's TCP port. 3000 at first.
    public var port: UInt16 {
        get { state.withLock { $0.port } }
        set { state.withLock { $0.port = newValue } }
    }

    /// How long a connection waits for the television's answer, which can be that of a person. One
    /// minute at first.
    public var timeLimit: Duration {
        get { state.withLock { $0.timeLimit } }
        set { state.withLock { $0.timeLimit = newValue } }
    }

    // MARK: Credentials

    /// Saves the credentials, replacing those that were there.
    ///
    /// - Parameter credentials: The credentials.
    /// - Throws: As ``KeychainManager/save(_:service:account:)``.
    public func saveCredentials(_ credentials: TVCredentials) throws {
        try keychain.save(
            credentials, service: Constants.keychainService, account: Constants.keychainAccount)
    }

    /// Loads the credentials.
    ///
    /// - Returns: The credentials; nil if there are none.
    /// - Throws: As ``KeychainManager/load(_:service:account:)``.
    public func loadCredentials() throws -> TVCredentials? {
        try keychain.load(
            TVCredentials.self, service: Constants.keychainService,
            account: Constants.keychainAccount)
    }

    /// Deletes the credentials. The next connection pairs again.
    ///
    /// A connection of this manager that is under way stores nothing any more. It throws
    /// `CancellationError` where it would have. A connection of another process is not stopped, and
    /// stores what it gets.
    ///
    /// - Throws: As ``KeychainManager/delete(service:account:)``.
    public func clearCredentials() throws {
        try state.withLock { state in
            try keychain.delete(
                service: Constants.keychainService, account: Constants.keychainAccount)
            state.clearCount += 1
        }
    }

    // MARK: Connecting

    /// Connects to a television, with the stored key or, without one, by pairing.
    ///
    /// Without a key the television asks its user, and the key that it gives is stored. If pairing
    /// fails, the addresses are stored without a key. A stored key of another television stays,
    /// with its addresses, until the new television has accepted. The calling actor is not blocked.
    ///
    /// - Parameters:
    ///   - ip: The television's IP address.
    ///   - mac: The television's MAC address. The stored key is for this television alone.
    /// - Throws: ``LGTVControlError``; after ``LGTVControlError/keyRefused`` the key is still
    ///   stored, and ``clearCredentials()`` makes the next connection pair again. `KeychainError`
    ///   and `DecodingError` as for loading and saving. `CancellationError` if the task is cancelled
    ///   or the credentials were cleared meanwhile.
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

    /// Connects with the stored credentials. The television's user is never asked, and nothing is
    /// stored: what a widget does.
    ///
    /// - Returns: The credentials that the television accepted; nil if there are none with a key,
    ///   so that the app has to be set up first.
    /// - Throws: As ``connect(ip:mac:)``.
    @concurrent
    public func connectWithStoredCredentials() async throws -> TVCredentials? {
        guard let credentials = try loadCredentials(), let key = credentials.usableKey else {
            return nil
        }
        _ = try await register(television(at: credentials.ipAddress), key)
        return credentials
    }

    private func pairIfNeeded(_ ip: String, _ mac: String) async throws {
        let clearCount = state.withLock { $0.clearCount }
        let stored = try loadCredentials()
        var credentials = TVCredentials(ipAddress: ip, macAddress: mac)
        if let stored, stored.canBelong(to: mac) { credentials.clientKey = stored.clientKey }
        if stored?.usableKey == nil, stored != credentials {
            try save(credentials, unlessClearedAfter: clearCount)
        }
        credentials.clientKey = try await register(television(at: ip), credentials.usableKey)
        if stored != credentials { try save(credentials, unlessClearedAfter: clearCount) }
    }

    private func television(at ipAddress: String) -> Television {
        state.withLock {
            Television(ipAddress: ipAddress, port: $0.port, timeLimit: $0.timeLimit)
        }
    }

    /// The lock makes the check and the saving one step.
    private func save(_ credentials: TVCredentials, unlessClearedAfter clearCount: Int) throws {
        try state.withLock { state in
            guard state.clearCount == clearCount else { throw CancellationError() }
            try saveCredentials(credentials)
        }
    }
}
