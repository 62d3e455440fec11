// ServedKeychains: the keychains of a service, one for each user, opened when first asked for.
//   (1) One is opened as after a start of the device: locked, where it has a passcode.
//   (2) A failure to open it is not remembered: the next request tries again.
//   (3) What is opened is verified in the background, unless that is remembered.
//   (4) The engine stays open for as long as a request uses it, also when it is to be closed.

import Glibc
import KeychainCore
import KeychainEngine
import Synchronization

final class ServedKeychains: Sendable {
    private let configuration: DaemonConfiguration
    private let verification: BackgroundVerification
    private let keychains = Mutex<[uid_t: ServedKeychain]>([:])

    init(_ configuration: DaemonConfiguration, _ verification: BackgroundVerification) {
        self.configuration = configuration
        self.verification = verification
    }

    /// The keychain of a user, which may not be open yet.
    func keychain(of user: uid_t) -> ServedKeychain {
        keychains.withLock { keychains in
            if let keychain = keychains[user] { return keychain }
            let directory =
                switch configuration.kind {
                case .user: configuration.directory
                case .system: "\(configuration.directory)/\(user)"
                }
            let keychain = ServedKeychain(directory: directory, options: configuration.engine) {
                [verification] in verification.submit($0, of: user)
            }
            keychains[user] = keychain
            return keychain
        }
    }

    /// Opens the keychain of a user, if there is one.
    func open(_ user: uid_t) {
        let keychain = keychain(of: user)
        // A failure is told to the first program that asks.
        if keychain.isPresent { _ = try? keychain.engine() }
    }

    private var all: [uid_t: ServedKeychain] { keychains.withLock { $0 } }

    /// Locks what is unlocked.
    /// - Parameter limit: Only what no program used for so long. nil: everything.
    /// - Returns: Whose keychains were locked.
    func lock(ifUnusedFor limit: Duration?) -> [uid_t] {
        all.filter { $0.value.lock(ifUnusedFor: limit) }.map(\.key)
    }

    /// Verifies those that are open, where that isn't remembered.
    func verify() {
        for (user, keychain) in all { verification.submit(keychain, of: user) }
    }

    func closeIdle(since limit: Duration) {
        for keychain in all.values { keychain.closeIfIdle(since: limit) }
    }

    func close() {
        for keychain in all.values { keychain.close() }
    }
}

// MARK: - One keychain

final class ServedKeychain: Sendable {
    private struct State {
        var engine: KeychainEngine?
        var connectionCount = 0
        /// When something last happened that keeps the keychain unlocked.
        var lastUse = ContinuousClock.now
        var statistics = ServiceStatistics()
        let start = ContinuousClock.now
        /// Since when there has been no connection.
        var idleSince: ContinuousClock.Instant? = .now
    }

    private let directory: String
    private let options: EngineOptions
    private let onOpen: @Sendable (ServedKeychain) -> Void
    private let state = Mutex(State())

    /// A keychain in a folder, an absolute path. `onOpen` is called each time it has been opened.
    init(
        directory: String, options: EngineOptions,
        onOpen: @escaping @Sendable (ServedKeychain) -> Void = { _ in }
    ) {
        self.directory = directory
        self.options = options
        self.onOpen = onOpen
    }

    /// Whether there is one.
    var isPresent: Bool { (try? KeychainEngine.isPresent(in: directory)) == true }

    /// The keychain, opened.
    func engine() throws(KeychainFailure) -> KeychainEngine {
        // Opening takes milliseconds, and no other request can do anything before.
        let (engine, isNew) = try state.withLock {
            state throws(KeychainFailure) -> (KeychainEngine, Bool) in
            if let engine = state.engine { return (engine, false) }
            let engine = try KeychainEngine.open(directory: directory, options: options)
            state.engine = engine
            return (engine, true)
        }
        if isNew, options.freshness != nil { onOpen(self) }
        return engine
    }

    /// The keychain, if it is open and has to be verified. As by a connection it stays open until
    /// ``removeConnection()``.
    func engineToVerify() -> KeychainEngine? {
        state.withLock { state in
            guard let engine = state.engine, engine.verification.isNeeded else { return nil }
            state.connectionCount += 1
            state.idleSince = nil
            return engine
        }
    }

    // MARK: Connections

    func addConnection() {
        state.withLock { state in
            state.connectionCount += 1
            state.idleSince = nil
        }
    }

    func removeConnection() {
        state.withLock { state in
            state.connectionCount -= 1
            if state.connectionCount == 0 { state.idleSince = .now }
        }
    }

    /// Closes the keychain where it had no connection for so long and nothing is lost by it: a
    /// keychain that a user unlocked stays, since it could not be opened again without them.
    func closeIfIdle(since limit: Duration) {
        let engine = state.withLock { state -> KeychainEngine? in
            guard let engine = state.engine, let since = state.idleSince,
                since.duration(to: .now) >= limit,
                !engine.hasPasscode || engine.lockState == .beforeFirstUnlock
            else { return nil }
            state.engine = nil
            return engine
        }
        engine?.close()
    }

    /// Closes the keychain and forgets its keys.
    func close() {
        state.withLock { state -> KeychainEngine? in
            defer { state.engine = nil }
            return state.engine
        }?.close()
    }

    // MARK: Numbers

    /// A request was answered.
    func note(_ operation: String, _ status: Status, _ duration: Duration) {
        state.withLock {
            $0.statistics.note(
                operation, failed: status.rawValue != 0,
                microseconds: Int(duration / .microseconds(1)))
        }
    }

    /// A program of the user got nothing.
    func noteRefusal() { state.withLock { $0.statistics.refusalCount += 1 } }

    /// As they are now.
    var statistics: ServiceStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.seconds = Int(state.start.duration(to: .now) / .seconds(1))
            statistics.connectionCount = state.connectionCount
            return statistics
        }
    }

    // MARK: Locking

    /// A program unlocked the keychain, or opened an item that needs it to be unlocked.
    func noteUse() { state.withLock { $0.lastUse = .now } }

    /// Locks the keychain where it is unlocked and has a passcode.
    /// - Parameter limit: Only if no program used it for so long. nil: in any case.
    /// - Returns: Whether it was locked.
    func lock(ifUnusedFor limit: Duration?) -> Bool {
        let unlocked = state.withLock { state -> KeychainEngine? in
            guard let engine = state.engine, engine.hasPasscode, engine.lockState == .unlocked
            else { return nil }
            if let limit, state.lastUse.duration(to: .now) < limit { return nil }
            return engine
        }
        guard let unlocked else { return false }
        return (try? unlocked.lock()) != nil
    }
}
