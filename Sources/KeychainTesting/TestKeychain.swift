// TestKeychain: a keychain in memory whose surroundings a test controls.
//   (1) It is the engine that programs use, with a database in memory. Its results are not
//       imitated.
//   (2) It reads and writes no file, and no other keychain has access to it.
//   (3) It exists until the last reference to it is gone. Each of its databases holds a reference.
//   (4) A test can examine stored items without opening their secrets.

#if !canImport(Darwin)

public import Foundation
public import Keychain
package import KeychainCore
package import KeychainEngine
package import KeychainRuntime
import KeychainAuthentication
import KeychainSecItem
import KeychainServices
import Synchronization

/// A keychain in memory for tests. The test controls its lock, passcode, clock, access groups and
/// faults.
///
/// ```swift
/// let test = TestKeychain()
/// let keychain = Keychain(service: "com.example.app", in: test.database)
/// ```
///
/// Initially, the keychain is empty and unlocked and has no passcode, and the program has one
/// access group, `default`. Items, protection classes, errors and result formats are those of the
/// keychain that programs use on Linux, because this is the same keychain with a database in
/// memory. Nothing is written to disk, so nothing is durable.
///
/// Test keychains are independent of each other, and a test keychain can be used concurrently by
/// many threads and tasks. Create one for each test and run the tests in parallel.
public final class TestKeychain: Sendable {
    struct State {
        /// The engine since the last restart, or the reason that it could not be opened.
        var engine: Result<KeychainEngine, KeychainFailure>
        var accessGroups = ["default"]
        /// The passcode that `unlock()` uses.
        var passcode: String?
        /// The subscription to the engine's commits.
        var commits: (any ChangeSubscription)?
        /// The number of secrets that were opened before the last restart.
        var earlierSecretCount = 0
    }

    let state: Mutex<State>
    let faults = FaultPlan()
    /// The simulated user, and the user's recent proofs of presence.
    let attendance = Attendance()
    /// The subscribers to changes. They are kept across restarts.
    let subscribers = ChangeSubscribers()
    private let identity = DatabaseIdentity.unique()
    private let memory: Result<MemoryPlace, KeychainFailure>
    private let clock = Clock()
    private let secureEnclave: SimulatedSecureEnclave

    /// Creates an empty keychain that is unlocked and has no passcode.
    ///
    /// If the keychain can't be created, for example because there is not enough memory, every
    /// operation on it fails with the error of its creation.
    public init() {
        let memory = Result { () throws(KeychainFailure) in try MemoryPlace() }
        self.memory = memory
        let secureEnclave = SimulatedSecureEnclave()
        secureEnclave.isPresent = false
        self.secureEnclave = secureEnclave
        let engine = Self.open(memory, clock, secureEnclave)
        state = Mutex(State(engine: engine))
        if case .success(let engine) = engine { follow(engine) }
    }

    // MARK: Databases

    /// The database to pass to `Keychain(service:in:)`.
    ///
    /// The methods of the database, such as `lock()` and `check()`, act on this test keychain.
    public var database: KeychainDatabase {
        KeychainDatabase(
            identity: identity,
            administration: { () throws(KeychainFailure) in .engine(try self.engine) },
            connection: { self.connection })
    }

    /// The same database, with every request about items or Secure Enclave keys converted to calls
    /// of `SecItemAdd` and the other SecItem and SecKey functions, as `Keychain` does on Apple
    /// platforms.
    ///
    /// Run your tests with both databases to verify that your code works the same way on both
    /// paths.
    public var secItemDatabase: KeychainDatabase {
        let handler = SecItemHandler { self.connection }
        return KeychainDatabase(
            identity: identity,
            administration: { () throws(KeychainFailure) in .engine(try self.engine) },
            authenticating: {
                AuthenticatingConnection(
                    handler: AuthenticatingHandler(
                        .substitute(handler.authenticating($0)), AuthenticationOptions()),
                    caller: AccessGroups(self.accessGroups))
            })
    }

    /// The handler and the current access groups. The handler applies the faults.
    package var connection: KeychainConnection<KeychainHandler> {
        KeychainConnection(
            handler: .substitute(FaultyHandler(keychain: self)),
            caller: AccessGroups(accessGroups))
    }

    package var engine: KeychainEngine {
        get throws(KeychainFailure) { try state.withLock { $0.engine }.get() }
    }

    // MARK: Environment

    /// The time of the keychain's clock, which determines the dates of items. If `nil`, which is
    /// the default, the system's time is used.
    ///
    /// A time that was set does not advance until another one is set. Every change of an item
    /// increases its modification date, by one millisecond if the clock has not advanced.
    public var now: Date? {
        get { clock.set.withLock { $0 } }
        set { clock.set.withLock { $0 = newValue } }
    }

    /// The access groups that the program may use by its entitlements, starting with the group for
    /// new items.
    ///
    /// The default is the single group `default`, that of programs without entitlements. In a test
    /// keychain, no other program shares this group, so a deletion that specifies only a class
    /// deletes all items of that class that are not synchronizable. If the array is empty, every
    /// operation on items fails with `missingEntitlement` (`errSecMissingEntitlement`, -34018). A
    /// new value takes effect with the next operation. Inside a closure of ``withSecItem(_:)``, it
    /// takes effect only with the next call of `withSecItem`.
    public var accessGroups: [String] {
        get { state.withLock { $0.accessGroups } }
        set {
            state.withLock { $0.accessGroups = newValue }
            subscribers.signal()
        }
    }

    /// Whether a Secure Enclave is available. The default is `false`, as on machines without a TPM
    /// 2.0: creating a Secure Enclave key then fails with `secureEnclaveUnavailable`
    /// (`errSecUnimplemented`, -4).
    ///
    /// The Secure Enclave is a **simulation in software**. Its keys are in the memory of the test
    /// and are not protected. To a program, it behaves like hardware: its P-256 keys don't reveal
    /// their private part, persist across ``restart()``, and are of no use to another keychain.
    /// Setting this property to `false` simulates the removal of the hardware: its keys are kept,
    /// but can't be used.
    public var hasSecureEnclave: Bool {
        get { secureEnclave.isPresent }
        set { secureEnclave.isPresent = newValue }
    }

    // MARK: Inspection

    /// The number of secrets that were opened since the keychain was created.
    ///
    /// Searching, listing and reading attributes opens no secret. Use this property to verify that
    /// your code opens no more secrets than it needs.
    public var openedSecretCount: Int {
        state.withLock { state in
            state.earlierSecretCount + ((try? state.engine.get().openedSecretCount) ?? 0)
        }
    }

    /// Returns all items of all access groups with their attributes, grouped by class. The items of
    /// a class are in the order in which they were added.
    ///
    /// No secret is opened, and injected faults have no effect.
    ///
    /// - Throws: `KeychainError` with code `interactionNotAllowed` while an item is locked, because
    ///   its attributes are encrypted too. Before the first unlock, also if a class has no items.
    public func items() throws(KeychainError) -> [StoredItem] {
        try database.administer { keychain throws(KeychainFailure) in
            var items: [StoredItem] = []
            for itemClass in ItemClass.allCases {
                do throws(KeychainFailure) {
                    items += try keychain.perform(
                        FindItems(
                            ItemQuery(itemClass: itemClass, isSynchronizable: nil),
                            Retrieval(limit: nil)), as: AccessGroups([AccessGroups.wildcard])
                    ).map(StoredItem.init)
                } catch {
                    guard error.status == .itemNotFound else { throw error }
                }
            }
            return items
        }
    }

    // MARK: Restarting

    /// Simulates a restart of the device. Afterwards, the keychain is in the state before the first
    /// unlock if a passcode is set, and otherwise unlocked.
    ///
    /// Items, passcode, clock, access groups and faults are kept.
    ///
    /// - Throws: `KeychainError` if the keychain could not be created.
    public func restart() throws(KeychainError) {
        try database.administer { _ throws(KeychainFailure) in
            let earlier = try self.engine
            let engine = try Self.open(memory, clock, secureEnclave).get()
            state.withLock { state in
                state.earlierSecretCount += earlier.openedSecretCount
                state.engine = .success(engine)
            }
            follow(engine)
        }
        subscribers.signal()
    }

    private func follow(_ engine: KeychainEngine) {
        let subscription = try? engine.subscribe { [subscribers] in subscribers.signal() }
        state.withLock { $0.commits = subscription }
    }

    private static func open(
        _ memory: Result<MemoryPlace, KeychainFailure>, _ clock: Clock,
        _ secureEnclave: SimulatedSecureEnclave
    ) -> Result<KeychainEngine, KeychainFailure> {
        var options = EngineOptions.testing
        options.hardware = secureEnclave
        let systemNow = EngineOptions().now
        options.now = { clock.set.withLock { $0 }?.timeIntervalSinceReferenceDate ?? systemNow() }
        return Result { [options] () throws(KeychainFailure) in
            try KeychainEngine.open(try memory.get(), options: options)
        }
    }

    private final class Clock: Sendable {
        let set = Mutex<Date?>(nil)
    }
}

// MARK: - The SecItem functions

extension TestKeychain {
    /// Runs a closure in which `SecItemAdd` and the other functions of `KeychainServices` use this
    /// keychain, with its current access groups.
    ///
    /// This applies to the closure itself and to the tasks that it creates, except `Task.detached`.
    /// Work that the closure passes to a dispatch queue or a thread uses the user's keychain. If
    /// calls are nested, the innermost one applies. A `Keychain` always uses its own database.
    ///
    /// - Parameter body: The closure.
    /// - Returns: The result of the closure.
    /// - Throws: The error that the closure throws.
    public func withSecItem<Result>(_ body: () throws -> Result) rethrows -> Result {
        try KeychainContext.$connection.withValue(connection, operation: body)
    }

    /// Runs an asynchronous closure in which `SecItemAdd` and the other functions of
    /// `KeychainServices` use this keychain, with its current access groups.
    ///
    /// The scope is the same as for the synchronous form.
    ///
    /// - Parameters:
    ///   - isolation: The actor that the closure runs on, by default the caller's.
    ///   - body: The closure.
    /// - Returns: The result of the closure.
    /// - Throws: The error that the closure throws.
    public func withSecItem<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await KeychainContext.$connection.withValue(connection, operation: body)
    }
}

// MARK: - Stored items

extension TestKeychain {
    /// The attributes of a stored item.
    public struct StoredItem: Hashable, Sendable {
        /// The value of `kSecClass`, such as `genp` for a generic password or `inet` for an
        /// internet password.
        public let itemClass: String
        /// The service of a generic password or the server of an internet password, if it is text.
        public let service: String?
        /// The account, if it is text.
        public let account: String?
        /// The label, if it is text.
        public let label: String?
        /// The access group of the item.
        public let accessGroup: String
        /// When the item can be read.
        public let accessibility: Keychain.Accessibility
        /// Whether the item is marked for synchronization.
        public let isSynchronizable: Bool
        /// When the item was added.
        public let creationDate: Date
        /// When the item was last changed.
        public let modificationDate: Date

        init(_ item: ItemSnapshot) {
            func text(_ attribute: Attribute) -> String? {
                guard case .string(let text) = item.attributes[attribute] else { return nil }
                return text
            }
            func date(_ attribute: Attribute) -> Date {
                guard case .date(let seconds) = item.attributes[attribute] else {
                    return .distantPast
                }
                return Date(timeIntervalSinceReferenceDate: seconds)
            }
            itemClass = item.itemClass.name
            service = text(item.itemClass.firstKey)
            account = text(.account)
            label = text(.label)
            accessGroup = item.accessGroup
            accessibility = Keychain.Accessibility(item.protection)
            isSynchronizable = item.isSynchronizable
            creationDate = date(.creationDate)
            modificationDate = date(.modificationDate)
        }
    }
}

#endif
