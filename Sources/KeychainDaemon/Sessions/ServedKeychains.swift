// ServedKeychains: the keychains of a service, one per user, each opened when it is first needed.
//   (1) A keychain is opened in the state after boot: locked if it has a passcode or another way to
//       unlock it, unless systemd passed the service a credential that unlocks it.
//   (2) A failure to open isn't cached: the next request tries again.
//   (3) An opened keychain is verified in the background, unless it is recorded as verified.
//   (4) Closing a keychain doesn't interrupt requests: the engine stays open for those that use it.

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

    /// The keychain of a user. It may not be open yet.
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

    /// Opens the keychain of a user if it exists.
    func open(_ user: uid_t) {
        let keychain = keychain(of: user)
        // A failure is reported to the first program that sends a request.
        if keychain.isPresent { _ = try? keychain.engine() }
    }

    private var all: [uid_t: ServedKeychain] { keychains.withLock { $0 } }

    /// Locks the unlocked keychains that have a passcode or another way to unlock them.
    /// - Parameter limit: Locks only keychains that no program has used for this long. `nil` to
    ///   lock all.
    /// - Returns: The users whose keychains were locked.
    func lock(ifUnusedFor limit: Duration?) -> [uid_t] {
        all.filter { $0.value.lock(ifUnusedFor: limit) }.map(\.key)
    }

    /// Verifies the open keychains that aren't recorded as verified.
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
        /// The number of running verifications. They keep the keychain open, as connections do.
        var verificationCount = 0
        /// When the keychain was last used in a way that keeps it unlocked.
        var lastUse = ContinuousClock.now
        var statistics = ServiceStatistics()
        let start = ContinuousClock.now
        /// When the last connection or verification ended. `nil` while there are any.
        var idleSince: ContinuousClock.Instant? = .now

        /// Called after a connection or verification ended.
        mutating func noteIfIdle() {
            if connectionCount == 0, verificationCount == 0 { idleSince = .now }
        }
    }

    private let directory: String
    private let options: EngineOptions
    private let onOpen: @Sendable (ServedKeychain) -> Void
    private let state = Mutex(State())

    /// A keychain in a folder with an absolute path. If `options` contain freshness options,
    /// `onOpen` is called each time the keychain has been opened.
    init(
        directory: String, options: EngineOptions,
        onOpen: @escaping @Sendable (ServedKeychain) -> Void = { _ in }
    ) {
        self.directory = directory
        self.options = options
        self.onOpen = onOpen
    }

    /// Whether the folder contains a keychain.
    var isPresent: Bool { (try? KeychainEngine.isPresent(in: directory)) == true }

    /// The engine of the keychain, which is opened if necessary.
    func engine() throws(KeychainFailure) -> KeychainEngine {
        // Opening under the lock is acceptable, since no other request can proceed before the
        // keychain is open.
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

    /// The engine, if the keychain is open. Also `nil` while another thread holds the lock on the
    /// state, as it does while it opens the keychain.
    var engineAtOnce: KeychainEngine? { state.withLockIfAvailable { $0.engine } ?? nil }

    /// The engine, if the keychain is open and has to be verified. Like a connection, this keeps
    /// the keychain open until ``endVerification()`` is called.
    func engineToVerify() -> KeychainEngine? {
        state.withLock { state in
            guard let engine = state.engine, engine.verification.isNeeded else { return nil }
            state.verificationCount += 1
            state.idleSince = nil
            return engine
        }
    }

    func endVerification() {
        state.withLock { state in
            state.verificationCount -= 1
            state.noteIfIdle()
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
            state.noteIfIdle()
        }
    }

    /// Closes the keychain if it has had no connection and no verification for `limit`. A keychain
    /// that has a passcode or another way to unlock it stays open if it was unlocked since it was
    /// opened: perhaps only the user could unlock it again.
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

    /// Closes the keychain and releases its keys.
    func close() {
        state.withLock { state -> KeychainEngine? in
            defer { state.engine = nil }
            return state.engine
        }?.close()
    }

    // MARK: Statistics

    /// Counts a request that was answered.
    func note(_ operation: String, _ status: Status, _ duration: Duration) {
        state.withLock {
            $0.statistics.note(
                operation, failed: status.rawValue != 0,
                microseconds: Int(duration / .microseconds(1)))
        }
    }

    /// Counts a program that was given no access.
    func noteRefusal() { state.withLock { $0.statistics.refusalCount += 1 } }

    /// The current statistics.
    var statistics: ServiceStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.seconds = Int(state.start.duration(to: .now) / .seconds(1))
            statistics.connectionCount = state.connectionCount
            return statistics
        }
    }

    // MARK: Locking

    /// Records that a program unlocked the keychain, or read or saved a secret that requires it to
    /// be unlocked.
    func noteUse() { state.withLock { $0.lastUse = .now } }

    /// Locks the keychain if it is unlocked and has a passcode or another way to unlock it.
    /// - Parameter limit: Locks it only if no program has used it for this long. `nil` to lock it
    ///   in any case.
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
