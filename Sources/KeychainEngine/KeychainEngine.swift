// KeychainEngine: one keychain, opened in this process, and what of the outside world it is given.
//   (1) A request is authorized first, then carried out in one transaction.
//   (2) Every answer is made of rows whose tags were checked.
//   (3) Keys are behind one lock, which is never held during input or output.
//   (4) A request is carried out with one database and its keys from its start to its end. Where a
//       rotation puts others in their place meanwhile, nothing is done, and the request begins anew.

import FoundationEssentials
package import KeychainCore
package import KeychainCrypto
import KeychainSQLite
package import Logging
import Synchronization

package final class KeychainEngine: RequestHandler {
    let options: EngineOptions
    /// The database and its keys since the last rotation that this process has noticed.
    let latest: Mutex<Session>
    /// Held while one notices.
    let following = Mutex<Void>(())
    /// Whether the copy of the keybag was another one when the keychain was opened.
    let keybagCopyDiffered: Bool
    /// nil: a keychain in memory is this process's own.
    private let lease: StoreFolder.Lease?
    /// What happened, and which attributes a query named; never their values.
    let log: Logger
    /// Secrets opened since the engine was opened; tests hold it against what was asked for.
    let openedSecrets = Atomic<Int>(0)

    /// What is given to a caller that proves to know the passcode.
    let presence = Mutex(AuthenticationGrant(token: .random()))
    /// What is given to hardware that recognized the owner.
    let recognition = Mutex(AuthenticationGrant(token: .random()))

    package var openedSecretCount: Int { openedSecrets.load(ordering: .relaxed) }

    private init(_ session: Session, _ options: EngineOptions, _ lease: StoreFolder.Lease?) {
        keybagCopyDiffered = session.keybagCopyDiffered
        latest = Mutex(session)
        self.options = options
        self.log = options.log
        self.lease = lease
    }

    /// Opens the keychain in a folder, and makes it where the folder holds none.
    ///
    /// - Parameters:
    ///   - directory: An absolute path.
    ///   - options: The clock, the cost of new passcodes, and the hardware that a sealed device key
    ///     needs.
    /// - Returns: The keychain, unlocked where it has no passcode.
    /// - Throws: `notAvailable` when it is damaged or not ours, `wrongVersion` when it is newer,
    ///   `readOnly`, `diskFull`. Nothing that was there is changed then.
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

    /// Opens a keychain in memory as after a start of the device: unlocked where it has no
    /// passcode, with the keys of its always-available classes otherwise.
    ///
    /// - Parameters:
    ///   - memory: Where it is. Engines on one place see the same items, each with a lock state
    ///     of its own.
    ///   - options: The clock, and the cost of new passcodes.
    /// - Returns: The keychain.
    /// - Throws: `allocate` when there is not enough memory.
    package static func open(
        _ memory: MemoryPlace, options: EngineOptions
    ) throws(KeychainFailure) -> KeychainEngine {
        let session = try Session.open(memory.file, memory.deviceKey, options)
        let engine = KeychainEngine(session, options, nil)
        engine.unlockWithCredential()
        return engine
    }

    /// Closes the files, if there are any. The engine is not used afterwards.
    package func close() {
        endGrants()
        store.close()
        lease?.end()
    }

    /// Closes the files after a look-up where their log is long, so that it is folded into the database
    /// once and not read through by each process that comes after this one.
    package func closeIfLogIsLong() {
        if store.file.logByteCount > Self.longLogByteCount { close() }
    }

    /// Below this, reading the log takes less time than folding it in.
    private static let longLogByteCount = 256 << 10

    package var lockState: LockState { session.ring.withLock { $0.lockState } }

    // MARK: Shared steps

    func keys(for protection: ProtectionClass) throws(KeychainFailure) -> ClassKeys {
        try session.ring.withLock { ring throws(KeychainFailure) in try ring.keys(for: protection) }
    }

    /// Runs a write, once more if another process changed the keybag meanwhile.
    func write<Result>(
        _ body: (inout StoreTransaction) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        for _ in 0..<8 {
            let generation = session.ring.withLock { $0.keybagGeneration }
            var touched: ArraySlice<ItemReference> = []
            let outcome = try store.write(keybagGeneration: generation) {
                transaction throws(KeychainFailure) in
                let count = transaction.touched.count
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

    /// Changes which keys are in memory, those of the store with them.
    func changeRing<Result, Failure: Error>(
        _ body: (inout KeyRing) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try session.ring.withLock { ring throws(Failure) in
            let result = try body(&ring)
            store.setGuarded(ring.tiers.guarded)
            return result
        }
    }

    /// An explicit group must be one of the caller's; a caller without groups may do nothing.
    func authorize(_ caller: AccessGroups, group: String?) throws(KeychainFailure) {
        guard !caller.isEmpty else {
            throw .missingEntitlement("The caller has no access group.")
        }
        if let group, !caller.contains(group) {
            throw .missingEntitlement(
                "The access group asked for is not among the caller's entitlements.")
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
    /// Now, in seconds since 2001-01-01 00:00:00 UTC.
    package var now: @Sendable () -> Double
    /// The cost of new passcode slots. Existing ones keep theirs.
    package var passcodeCost: PasscodeCost {
        get { chosenPasscodeCost ?? .ofThisMachine }
        set { chosenPasscodeCost = newValue }
    }
    /// nil: it is measured when it is needed.
    private var chosenPasscodeCost: PasscodeCost?
    /// Which new passcodes are long enough.
    package var passcodePolicy: PasscodePolicy
    /// The cost of application passwords, which is paid with each secret that is opened. What is
    /// stored keeps its own.
    package var applicationPasswordCost: PasscodeCost
    /// The chip that keeps keys, where there is one.
    package var hardware: (any KeyHardware)?
    /// What identifies this machine, so that what stays on its device opens here alone.
    package var machine: Machine
    /// What a service unlocks with, without a person; asked for where the keychain has a slot for it.
    package var credential: @Sendable () -> SecretBytes?
    /// When the database is verified, and where that is remembered. nil: when it is asked for, and
    /// in the memory of this process.
    package var freshness: FreshnessOptions?
    /// The folder without a keychain that an empty one in memory stands in for. Its status is that
    /// of the folder.
    package var absentFolder: String?
    /// Told of each operation, the shape of its query and its status.
    package var log: Logger
    /// Told now and then how far the conversion of a keychain of an earlier version is.
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

    /// For tests: derivations that cost nearly nothing and protect nothing, and no verification but
    /// where it is asked for.
    package static let testing = EngineOptions(
        passcodeCost: PasscodeCost(logN: 4, blockSize: 8, parallelism: 1), passcodePolicy: .weak,
        applicationPasswordCost: PasscodeCost(logN: 4, blockSize: 8, parallelism: 1),
        freshness: nil)
}
