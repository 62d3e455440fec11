// TestKeychain: a keychain in memory, with everything around it in the hands of a test.
//   (1) It is the engine that programs use, on a database in memory: what it answers is not
//       imitated.
//   (2) It reads and writes no file, and no other keychain sees it.
//   (3) It goes with the last reference to it; a database of it is such a reference.
//   (4) What a test sees of a stored item opens no secret.

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

/// A keychain in memory for tests, whose lock, passcode, clock, access groups and faults the test
/// decides.
///
/// ```swift
/// let test = TestKeychain()
/// let keychain = Keychain(service: "com.example.app", in: test.database)
/// ```
///
/// It starts empty and unlocked, without a passcode, and its program has the one access group
/// `default`. Items, protection classes, errors and result shapes are those of the keychain that
/// programs use on Linux, because it is that keychain, with its database in memory. Nothing is
/// written to a disk, so nothing is durable either.
///
/// Test keychains don't see each other, and one can be used from many threads and tasks at once:
/// make one for each test and run the tests in parallel.
public final class TestKeychain: Sendable {
    struct State {
        /// The engine since the last restart, or why there is none.
        var engine: Result<KeychainEngine, KeychainFailure>
        var accessGroups = ["default"]
        /// The passcode that `unlock()` gives.
        var passcode: String?
        /// What hears of the engine's commits.
        var commits: (any ChangeSubscription)?
        /// Secrets that engines before the last restart opened.
        var earlierSecretCount = 0
    }

    let state: Mutex<State>
    let faults = FaultPlan()
    /// Who is asked, and what they proved.
    let attendance = Attendance()
    /// Who follows changes. They outlive a restart.
    let subscribers = ChangeSubscribers()
    private let identity = DatabaseIdentity.unique()
    private let memory: Result<MemoryPlace, KeychainFailure>
    private let clock = Clock()
    private let secureEnclave: SimulatedSecureEnclave

    /// Makes an empty keychain, unlocked and without a passcode.
    ///
    /// If there is not enough memory for it, every operation on it fails with that error.
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

    // MARK: Using it

    /// The database to give to `Keychain(service:in:)`.
    ///
    /// Its own functions, such as `lock()` and `check()`, act on this keychain too.
    public var database: KeychainDatabase {
        KeychainDatabase(
            identity: identity,
            administration: { () throws(KeychainFailure) in .engine(try self.engine) },
            connection: { self.connection })
    }

    /// The same database, with every request as a dictionary through `SecItemAdd` and the other
    /// functions: the way that `Keychain` takes on Apple platforms.
    ///
    /// Run your tests over both to see that your code doesn't depend on the way.
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

    /// The service with its faults, and the program as it is now.
    package var connection: KeychainConnection<KeychainHandler> {
        KeychainConnection(
            handler: .substitute(FaultyHandler(keychain: self)),
            caller: AccessGroups(accessGroups))
    }

    package var engine: KeychainEngine {
        get throws(KeychainFailure) { try state.withLock { $0.engine }.get() }
    }

    // MARK: Surroundings

    /// The time that items are dated with. nil, as at first: the system's.
    ///
    /// A set time stands still until it is set again. A change of an item always changes its
    /// modification date: where the clock has not advanced, by a millisecond.
    public var now: Date? {
        get { clock.set.withLock { $0 } }
        set { clock.set.withLock { $0 = newValue } }
    }

    /// The access groups that the program has by its entitlements, the one for new items first.
    ///
    /// At first `default`, the group of programs without entitlements, which no other program
    /// shares here: a deletion by class alone is of all items. With no group at all every operation
    /// fails with `missingEntitlement` (`errSecMissingEntitlement`, -34018). What is set counts
    /// from the next operation on; within ``withSecItem(_:)``, from the next call of that function
    /// on.
    public var accessGroups: [String] {
        get { state.withLock { $0.accessGroups } }
        set {
            state.withLock { $0.accessGroups = newValue }
            subscribers.signal()
        }
    }

    /// Whether there is a Secure Enclave. At first there is none, as on machines without a TPM 2.0:
    /// making a key in it fails with `secureEnclaveUnavailable` (`errSecUnimplemented`, -4).
    ///
    /// It is a **simulation in software**: its keys are in the memory of the test, and it doesn't
    /// protect them. What a program sees of it is what it sees of hardware: keys on P-256 whose
    /// private half can't be had, that outlive ``restart()`` and are of no use to another keychain.
    /// Set to false again, it is as if the hardware had been taken out: its keys stay and can't be
    /// used.
    public var hasSecureEnclave: Bool {
        get { secureEnclave.isPresent }
        set { secureEnclave.isPresent = newValue }
    }

    // MARK: Looking inside

    /// How many secrets were opened since the keychain was made.
    ///
    /// Searching, listing and reading attributes opens none: hold this against what your code
    /// needs.
    public var openedSecretCount: Int {
        state.withLock { state in
            state.earlierSecretCount + ((try? state.engine.get().openedSecretCount) ?? 0)
        }
    }

    /// All items of all access groups with their attributes, in the order of addition.
    ///
    /// No secret is opened, and no injected fault takes part.
    ///
    /// - Throws: `KeychainError` with code `interactionNotAllowed` while an item is locked: the
    ///   attributes are sealed, too.
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

    /// Leaves the keychain as a start of the device does: before the first unlock where a
    /// passcode is set, and unlocked where none is.
    ///
    /// Items, passcode, clock, access groups and faults stay.
    ///
    /// - Throws: `KeychainError` if the keychain could not be made in the first place.
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
    /// Runs code in which `SecItemAdd` and the other functions of `KeychainServices` use this
    /// keychain, with the access groups that it has now.
    ///
    /// It holds for the code itself and for tasks that it makes, `Task.detached` excepted; a
    /// dispatch queue or a thread that it hands work to uses the keychain of the user. Nested, the
    /// innermost counts. A `Keychain` goes by its database, here as everywhere.
    ///
    /// - Parameter body: The code.
    /// - Returns: What the code returns.
    /// - Throws: What the code throws.
    public func withSecItem<Result>(_ body: () throws -> Result) rethrows -> Result {
        try KeychainContext.$connection.withValue(connection, operation: body)
    }

    /// Runs asynchronous code in which `SecItemAdd` and the other functions of
    /// `KeychainServices` use this keychain, with the access groups that it has now.
    ///
    /// It holds as far as in the synchronous form.
    ///
    /// - Parameters:
    ///   - isolation: The actor that the code runs on: the caller's.
    ///   - body: The code.
    /// - Returns: What the code returns.
    /// - Throws: What the code throws.
    public func withSecItem<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await KeychainContext.$connection.withValue(connection, operation: body)
    }
}

// MARK: - Stored items

extension TestKeychain {
    /// An item with its attributes.
    public struct StoredItem: Hashable, Sendable {
        /// The value of `kSecClass`: `genp` for a generic password, `inet` for one of a server.
        public let itemClass: String
        /// The service of a generic password or the server of an internet password, if it is
        /// text.
        public let service: String?
        /// The account, if it is text.
        public let account: String?
        /// The label, if it is text.
        public let label: String?
        /// The group that the item belongs to.
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
