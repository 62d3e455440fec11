// KeychainEngine: one keychain, opened in this process with the given options.
//   (1) A request about items is authorized before it reads or changes any. Its changes are one
//       transaction.
//   (2) Every item in an answer comes from a row whose tags were checked.
//   (3) The keys in memory are protected by the lock of the key ring, which is never held during
//       input or output.
//   (4) A request uses the same database and the same keys from start to end. If a rotation
//       replaces them meanwhile, the request has no effect and is started again.

import FoundationEssentials
package import KeychainCore
package import KeychainCrypto
import KeychainSQLite
package import Logging
import Synchronization

package final class KeychainEngine: RequestHandler {
    let options: EngineOptions
    /// The database and its keys, as of the last rotation that this process has noticed.
    let latest: Mutex<Session>
    /// Held while this process switches to the database and keys of a rotation.
    let following = Mutex<Void>(())
    /// Whether the keybag file differed from the keybag in the database when the keychain was
    /// opened.
    let keybagCopyDiffered: Bool
    /// `nil` for a keychain in memory, which belongs to this process alone.
    private let lease: StoreFolder.Lease?
    /// `nil` if this program was built without synchronization.
    let synchronization: (any SynchronizationAnswerer)?
    /// Receives requests about items and hardware keys, with the names of the items' attributes,
    /// and messages about the keychain, such as warnings; never attribute values.
    let log: Logger
    /// The number of items' secrets that were opened, or found damaged, since the engine was
    /// opened. Secrets that were opened only to seal them again, for example by a rotation or a
    /// recovery, are not counted. Tests compare the number with that of the requested secrets.
    let openedSecrets = Atomic<Int>(0)

    /// The current grant for callers that prove knowledge of the passcode.
    let presence = Mutex(AuthenticationGrant(token: .random()))
    /// The current grant for callers whose user is recognized by biometric hardware.
    let recognition = Mutex(AuthenticationGrant(token: .random()))

    package var openedSecretCount: Int { openedSecrets.load(ordering: .relaxed) }

    private init(_ session: Session, _ options: EngineOptions, _ lease: StoreFolder.Lease?) {
        keybagCopyDiffered = session.keybagCopyDiffered
        latest = Mutex(session)
        self.options = options
        self.log = options.log
        synchronization = options.synchronization()
        self.lease = lease
    }

    /// Opens the keychain in a folder, and creates it if the folder holds none.
    ///
    /// - Parameters:
    ///   - directory: An absolute path.
    ///   - options: The options, such as the clock, the cost of new passcodes, and the hardware
    ///     that a sealed device key requires.
    /// - Returns: The keychain. It is unlocked if neither a passcode nor another way to unlock it
    ///   is set, or if the credential in the options unlocks it.
    /// - Throws: `notAvailable` if it is damaged, belongs to another user, is being recovered, or
    ///   needs its passcode for a conversion; `decode` if an item can't be converted;
    ///   `invalidKeychain` if the device key is missing or doesn't open the keybag; `wrongVersion`
    ///   if its format is newer; `readOnly`; `diskFull`. In these cases no item is changed.
    package static func open(
        directory: String, options: EngineOptions = EngineOptions()
    ) throws(KeychainFailure) -> KeychainEngine {
        let folder = StoreFolder(path: directory)
        try folder.prepare()
        try folder.checkFiles()
        let options = options.pinned(in: folder.path)
        try Conversion.runIfNeeded(folder.located, options)
        let lease = try Conversion.leaseAfterConversions(of: folder)
        do {
            let engine = KeychainEngine(try Session.open(folder, options), options, lease)
            engine.unlockWithCredential()
            engine.verifyIfSmall()
            return engine
        } catch {
            lease.end()
            throw error
        }
    }

    /// Opens a keychain in memory, in the state after a boot of the device: unlocked if neither a
    /// passcode nor another way to unlock it is set, or if the credential in the options unlocks
    /// it; otherwise with the keys of the *always* classes only.
    ///
    /// - Parameters:
    ///   - memory: The memory that holds the keychain. Engines on the same memory see the same
    ///     items, and each has its own lock state.
    ///   - options: The options. Those that concern files have no effect.
    /// - Returns: The keychain.
    /// - Throws: `allocate` if there is not enough memory.
    package static func open(
        _ memory: MemoryPlace, options: EngineOptions
    ) throws(KeychainFailure) -> KeychainEngine {
        let session = try Session.open(memory.file, memory.deviceKey, options)
        let engine = KeychainEngine(session, options, nil)
        engine.unlockWithCredential()
        return engine
    }

    /// Closes the files, if there are any. The engine must not be used afterwards.
    package func close() {
        endGrants()
        store.close()
        lease?.end()
    }

    /// Closes the files after a look-up if the write-ahead log is long. Closing checkpoints the log
    /// once, so that later processes don't each have to read through it.
    package func closeIfLogIsLong() {
        if store.file.logByteCount > Self.longLogByteCount { close() }
    }

    /// Below this size, reading the log takes less time than a checkpoint.
    private static let longLogByteCount = 256 << 10

    package var lockState: LockState { session.ring.withLock { $0.lockState } }

    // MARK: Shared steps

    func keys(for protection: ProtectionClass) throws(KeychainFailure) -> ClassKeys {
        try session.ring.withLock { ring throws(KeychainFailure) in try ring.keys(for: protection) }
    }

    /// Runs a write transaction, and repeats it, up to seven times, if the keybag was changed
    /// meanwhile.
    func write<Result>(
        _ body: (inout StoreTransaction) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        for _ in 0..<8 {
            let generation = session.ring.withLock { $0.keybagGeneration }
            let isKeptFromOutbox = Self.isKeptFromOutbox
            var touched: ArraySlice<ItemReference> = []
            let outcome = try store.write(keybagGeneration: generation) {
                transaction throws(KeychainFailure) in
                let count = transaction.touched.count
                transaction.isKeptFromOutbox = isKeptFromOutbox
                let result = try body(&transaction)
                touched = transaction.touched[count...]
                return result
            }
            switch outcome {
            case .done(let result):
                TouchedItems.note(touched)
                return result
            case .staleKeybag: try reloadKeybag()
            }
        }
        throw .busy("Another process keeps changing the passcode. Try again.")
    }

    func reloadKeybag() throws(KeychainFailure) {
        let known = session.ring.withLock { $0.hierarchy }
        let hierarchy = try Bootstrap.readKeybag(
            store.file, deviceKey: deviceKey, machine: options.machine, after: known)
        let isOther = try changeRing { ring throws(KeychainFailure) in
            guard hierarchy.keybag.generation != ring.keybagGeneration else { return false }
            try ring.adopt(hierarchy)
            return true
        }
        if isOther { endGrants() }
    }

    /// Changes which keys are in memory, including those that the store uses.
    func changeRing<Result, Failure: Error>(
        _ body: (inout KeyRing) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try session.ring.withLock { ring throws(Failure) in
            let result = try body(&ring)
            store.setGuarded(ring.tiers.guarded)
            return result
        }
    }

    /// Checks that the caller has at least one group, and that an explicit group is one of them.
    func authorize(_ caller: AccessGroups, group: String?) throws(KeychainFailure) {
        guard !caller.isEmpty else {
            throw .missingEntitlement("The caller has no access group.")
        }
        if let group, !caller.contains(group) {
            throw .missingEntitlement(
                "The requested access group is not among the caller's entitlements.")
        }
    }

    func authorizeWrite(_ caller: AccessGroups, group: String?) throws(KeychainFailure) {
        try authorize(caller, group: group)
        if let group, !caller.canWrite(group) {
            throw .missingEntitlement("Items of this access group can't be written.")
        }
        guard caller.defaultGroup != nil || caller.includesAll else {
            throw .missingEntitlement("The caller has no access group that it may write to.")
        }
    }
}

// MARK: - Options

package struct EngineOptions: Sendable {
    /// The current time, in seconds since 2001-01-01 00:00:00 UTC.
    package var now: @Sendable () -> Double
    /// The cost of new passcode slots. An existing slot keeps its cost until a change of the
    /// passcode, a rotation or a conversion replaces it.
    package var passcodeCost: PasscodeCost {
        get { chosenPasscodeCost ?? .ofThisMachine }
        set { chosenPasscodeCost = newValue }
    }
    /// `nil` to use the cost measured on this machine.
    private var chosenPasscodeCost: PasscodeCost?
    /// The minimum length of new passcodes, unless a request allows weak ones.
    package var passcodePolicy: PasscodePolicy
    /// The cost of application passwords, which is paid each time a secret is opened or sealed with
    /// one. Stored secrets keep the cost they were sealed with.
    package var applicationPasswordCost: PasscodeCost
    /// The chip that keeps keys, if there is one.
    package var hardware: (any KeyHardware)?
    /// The identity of this machine. If a keychain is bound to it, *this device only* items can be
    /// opened on other machines only with a recovery code.
    package var machine: Machine
    /// Returns the credential with which a service unlocks the keychain without a user. It is
    /// called when a locked keychain that has a slot for a credential is opened, or is opened again
    /// after a rotation by another process. It is also called by a recovery that was given no way
    /// in, and by each rotation, so that the new keychain keeps the slot.
    package var credential: @Sendable () -> SecretBytes?
    /// Creates the object that answers the messages of synchronization for one keychain. Returns
    /// `nil` in a program that was built without synchronization.
    package var synchronization: @Sendable () -> (any SynchronizationAnswerer)? = { nil }
    /// Whether each connection to the database keeps few pages in memory, as in a service, which
    /// has several keychains open for long.
    package var usesSmallPageCache = false
    /// When the database is verified, and where the result is recorded. `nil` to verify it only on
    /// request, and to record the result in the memory of this process.
    package var freshness: FreshnessOptions?
    /// For an empty keychain in memory that answers in place of a folder without a keychain: the
    /// path of that folder. The status reported is then that of the folder.
    package var absentFolder: String?
    /// Receives requests about items and hardware keys, with their status and the names of the
    /// items' attributes, and messages about the keychain, such as warnings.
    package var log: Logger
    /// Called now and then with the progress of converting a keychain of an earlier version.
    package var conversionProgress: @Sendable (RequestProgress) -> Void

    package init(
        now: @escaping @Sendable () -> Double = { Date().timeIntervalSinceReferenceDate },
        passcodeCost: PasscodeCost? = nil, passcodePolicy: PasscodePolicy = .floor,
        applicationPasswordCost: PasscodeCost = .applicationPassword,
        hardware: (any KeyHardware)? = nil, machine: Machine = .unidentified,
        credential: @escaping @Sendable () -> SecretBytes? = { nil },
        freshness: FreshnessOptions? = FreshnessOptions(), absentFolder: String? = nil,
        log: Logger = Logger(label: "keychain"),
        conversionProgress: @escaping @Sendable (RequestProgress) -> Void = { _ in }
    ) {
        self.now = now
        self.chosenPasscodeCost = passcodeCost
        self.passcodePolicy = passcodePolicy
        self.applicationPasswordCost = applicationPasswordCost
        self.hardware = hardware
        self.machine = machine
        self.credential = credential
        self.freshness = freshness
        self.absentFolder = absentFolder
        self.log = log
        self.conversionProgress = conversionProgress
    }

    /// Options for tests: key derivations that cost almost nothing and protect nothing, no minimum
    /// length of passcodes, and verification only on request.
    package static let testing = EngineOptions(
        passcodeCost: PasscodeCost(logN: 4, blockSize: 8, parallelism: 1), passcodePolicy: .weak,
        applicationPasswordCost: PasscodeCost(logN: 4, blockSize: 8, parallelism: 1),
        freshness: nil)
}
