// Conversion: converts a keychain of version 1 to version 2: database, keybag, header and rows.
//   (1) The whole old database is checked first. If anything is damaged, nothing is changed, and
//       the new database has to be made by a recovery.
//   (2) The new database is complete and durable before it takes the name of the old one, whose log
//       is empty by then. A conversion that is interrupted before that has lost nothing, and the
//       next one starts from the beginning.
//   (3) No other process has the keychain open meanwhile. Programs of earlier versions hold the
//       folder's lease for as long as they have the keychain open, and those of this version wait
//       for the folder's lock.
//   (4) The new database holds the same items under the same ids, each sealed again, and has the
//       next generation. Class keys stay the same; the index keys and integrity keys are new.
//   (5) A keychain without a passcode is converted when it is first opened. For one with a
//       passcode, the user has to enter it once: `keychainctl convert` prompts for it.

package import KeychainCore
import KeychainCrypto
import KeychainSQLite
import Logging

extension KeychainEngine {
    /// Converts a keychain of version 1.
    ///
    /// - Parameters:
    ///   - directory: An absolute path.
    ///   - passcode: The passcode if one is set; otherwise `nil`.
    ///   - options: The options, such as the cost of passcodes, and the hardware that a sealed
    ///     device key requires.
    /// - Returns: `false` if the keychain was not of version 1.
    /// - Throws: `authFailed` if the passcode is wrong; `param` if a passcode is given although
    ///   none is set; `readOnly` if the folder is read-only; `notAvailable` if a required passcode
    ///   is missing, another program has the keychain open, or the database is damaged; `decode` if
    ///   an item doesn't open. If one of these errors is thrown, nothing was changed.
    package static func convert(
        directory: String, passcode: SecretBytes?, options: EngineOptions = EngineOptions()
    ) throws(KeychainFailure) -> Bool {
        let folder = StoreFolder(path: directory).located
        try folder.checkFolder()
        try folder.checkFiles()
        return try Conversion.runIfNeeded(
            folder, options.pinned(in: folder.path), passcode: passcode)
    }

    /// Whether the keychain in a folder has version 1 and a passcode, which the conversion
    /// requires.
    package static func conversionNeedsPasscode(
        directory: String, options: EngineOptions = EngineOptions()
    ) throws(KeychainFailure) -> Bool {
        let folder = StoreFolder(path: directory).located
        try folder.checkFolder()
        try folder.checkFiles()
        let options = options.pinned(in: folder.path)
        guard try Conversion.isNeeded(folder, options) else { return false }
        return try Conversion.openKeybag(folder, options) {
            $0?.keybag.hasPasscode ?? false
        }
    }
}

enum Conversion {
    /// Converts the keychain in a folder if it has version 1.
    ///
    /// - Returns: `false` if it doesn't have version 1.
    /// - Throws: As ``KeychainEngine/convert(directory:passcode:options:)``.
    @discardableResult
    static func runIfNeeded(
        _ folder: StoreFolder, _ options: EngineOptions, passcode: SecretBytes? = nil
    ) throws(KeychainFailure) -> Bool {
        guard try isNeeded(folder, options) else { return false }
        guard !folder.isReadOnly else {
            throw KeychainFailure(
                .readOnly,
                "The keychain in \(folder.path) has an earlier format version and must be "
                    + "converted, but its folder is read-only. Open it once while the folder is "
                    + "writable.")
        }
        return try folder.withLock { lock throws(KeychainFailure) in
            lock.removeUnfinishedDatabase()
            // Another process may have converted it while this one waited for the lock.
            guard try isNeeded(folder, options) else { return false }
            let lease = try folder.lease(
                exclusive: true,
                refusal: "The keychain has to be converted to this version, and a program of an "
                    + "earlier version has it open. End that program and try again.")
            defer { lease.end() }
            try convert(
                lock, deviceKey: try Bootstrap.readDeviceKey(folder, options.hardware),
                passcode: passcode, options)
            return true
        }
    }

    /// Whether a folder holds a keychain of version 1. A keybag file of version 1 is no proof: a
    /// conversion writes the file after the database, which may already have version 2.
    static func isNeeded(
        _ folder: StoreFolder, _ options: EngineOptions
    ) throws(KeychainFailure) -> Bool {
        if folder.holdsVersion1 { return true }
        guard folder.exists(.database), !folder.exists(.recoveredDatabase),
            folder.exists(.keybag)
        else { return false }
        // If the keybag file can't be read, the keybag in the database decides.
        let copy = try? folder.read(.keybag)
        guard copy.map({ Keybag.formatVersion(of: $0.plainBytes) == 1 }) ?? true else {
            return false
        }
        return try openKeybag(folder, options) { $0 != nil }
    }

    /// Opens the keybag of a keychain of version 1; `body` gets `nil` if the keybag in the database
    /// has a later version.
    static func openKeybag<Result>(
        _ folder: StoreFolder, _ options: EngineOptions,
        _ body: (KeyHierarchyVersion1?) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let deviceKey = try Bootstrap.readDeviceKey(folder, options.hardware)
        let file = try open(folder, deviceKey)
        defer { file.close() }
        return try body(try Bootstrap.readKeybagVersion1(file, deviceKey: deviceKey))
    }

    /// Opens the database, which has version 1, or version 2 with a keybag of version 1.
    private static func open(
        _ folder: StoreFolder, _ deviceKey: SecretBytes
    ) throws(KeychainFailure) -> StoreFile {
        folder.holdsVersion1
            ? try StoreFile.openVersion1(folder)
            : try StoreFile.open(folder, deviceKey: deviceKey)
    }

    /// Acquires the shared lease that a process holds while it uses the keychain.
    static func leaseAfterConversions(
        of folder: StoreFolder
    ) throws(KeychainFailure) -> StoreFolder.Lease {
        do {
            return try folder.lease(exclusive: false)
        } catch {
            // A process that is completing a conversion may still hold the lease. It ends the lease
            // before it releases the folder's lock.
            guard !folder.isReadOnly else { throw error }
            try folder.withLock { _ throws(KeychainFailure) in }
            return try folder.lease(exclusive: false)
        }
    }

    /// Replaces the old database with a converted one. The caller excludes other processes.
    static func convert(
        _ lock: StoreFolder.Lock, deviceKey: SecretBytes, passcode: SecretBytes?,
        _ options: EngineOptions
    ) throws(KeychainFailure) {
        let folder = lock.folder
        let file = try open(folder, deviceKey)
        defer { file.close() }
        guard let (hierarchy, keys, old) = try openWhole(file, deviceKey, passcode) else { return }
        let header = try old.header()
        let total = Int(clamping: header.itemCount)
        options.log.notice(
            "The keychain is of an earlier version and is converted now. Items: \(total).")
        options.conversionProgress(RequestProgress(done: 0, total: total))
        let aside = try old.setAsideRows()
        guard aside.count == Int(clamping: header.setAsideCount) else {
            throw .damagedStore("the rows set aside can't be read")
        }
        try old.emptyLog()
        let (new, unlocked) = try KeyHierarchy.converting(
            hierarchy, passcode: passcode, deviceKey: deviceKey, machine: options.machine,
            cost: options.passcodeCost, at: options.now())
        var ring = try KeyRing(new)
        if let unlocked { ring.unlock(unlocked) }
        var generation: UInt64 = 0
        try lock.createDatabase { place throws(KeychainFailure) in
            // For version 1 it is not known for which classes blobs were made, so all are assumed.
            generation = try make(
                in: place, ring, deviceKey, generation: header.generation,
                blobClasses: Set(ProtectionClass.allCases)
            ) {
                transaction throws(KeychainFailure) in
                var done = 0
                try keys.resealAll(
                    of: old, aside, into: &transaction, for: RowKeys(ring), at: options.now()
                ) { () throws(KeychainFailure) in
                    if done > 0, done % 1000 == 0 {
                        options.conversionProgress(RequestProgress(done: done, total: total))
                    }
                    done += 1
                }
                guard transaction.header.itemCount == header.itemCount else {
                    throw .damagedStore("its rows changed while they were converted")
                }
            }
            // If the old database left a log, SQLite would use it as the log of the new one.
            old.close()
            guard folder.byteCount(of: .writeAheadLog) == 0 else {
                throw KeychainFailure(
                    .ioError,
                    "The log of the keychain could not be emptied. Nothing was changed. Try again.")
            }
        }
        Anchor(folder: folder, authenticator: ring.tiers.open.authenticator)
            .note(generation: generation)
        try lock.write(SecretBytes(copying: new.encoded), to: .keybag)
        options.conversionProgress(RequestProgress(done: total, total: total))
        options.log.notice("The keychain is converted. Items: \(total).")
    }

    /// Checks a database of version 1.
    /// - Returns: `false` if its version is later.
    /// - Throws: `notAvailable` if it is damaged or the passcode is missing, `authFailed` if the
    ///   passcode is wrong.
    static func isWhole(
        _ folder: StoreFolder, _ deviceKey: SecretBytes, _ passcode: SecretBytes?
    ) throws(KeychainFailure) -> Bool {
        let file = try open(folder, deviceKey)
        defer { file.close() }
        return try openWhole(file, deviceKey, passcode) != nil
    }

    /// Opens a database of version 1 and checks it; `nil` if its version is later.
    private static func openWhole(
        _ file: StoreFile, _ deviceKey: SecretBytes, _ passcode: SecretBytes?
    ) throws(KeychainFailure) -> (KeyHierarchyVersion1, RowKeys, Store)? {
        guard let hierarchy = try Bootstrap.readKeybagVersion1(file, deviceKey: deviceKey) else {
            return nil
        }
        if hierarchy.keybag.hasPasscode, passcode == nil { throw needsPasscode }
        let keys = try RowKeys(hierarchy, passcode: passcode)
        let store = try Store(file, keychainID: keys.keychainID, tiers: keys.tiers)
        guard try store.header().keybagGeneration == hierarchy.keybag.generation else {
            throw .damagedStore("the keybag doesn't match the database's items")
        }
        try check(store)
        return (hierarchy, keys, store)
    }

    static let needsPasscode = KeychainFailure(
        .notAvailable,
        "The keychain has an earlier format version, and its conversion requires the passcode. Run "
            + "`keychainctl convert`, which prompts for it. Nothing was changed.")

    /// - Throws: `notAvailable` if anything differs from what was written, as far as this can be
    ///   detected without opening rows.
    private static func check(_ store: Store) throws(KeychainFailure) {
        if let problem = try store.verify().problem ?? store.knownDamage {
            throw .damagedStore(problem)
        }
    }

    /// Makes a new database in a separate folder, fills it with `fill`, and closes it.
    /// - Returns: Its generation, which is one above `generation`.
    static func make(
        in folder: StoreFolder, _ ring: KeyRing, _ deviceKey: SecretBytes, generation: UInt64,
        blobClasses: Set<ProtectionClass>,
        _ fill: (inout StoreTransaction) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) -> UInt64 {
        let file = try StoreFile.create(
            folder, hierarchy: ring.hierarchy, tiers: ring.tiers, deviceKey: deviceKey,
            generation: generation, blobClasses: blobClasses)
        defer { file.close() }
        let store = try Store(
            file, keychainID: ring.hierarchy.keybag.keychainID, tiers: ring.tiers)
        defer { store.close() }
        _ = try store.write(keybagGeneration: ring.keybagGeneration) {
            transaction throws(KeychainFailure) in
            transaction.noteChange()
            try fill(&transaction)
        }
        try store.emptyLog()
        return try store.header().generation
    }
}
