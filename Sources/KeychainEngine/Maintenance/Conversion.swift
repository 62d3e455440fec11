// Conversion: a database of version 1 becomes one of version 2, at the first opening.
//   (1) The old database is checked whole first. Where anything is damaged, nothing is changed, and
//       recovery makes the new one.
//   (2) The new database is complete and on the disk before it takes the name of the old one, whose log
//       is empty by then. A conversion that is ended before that has lost nothing, and the next opening
//       begins anew.
//   (3) No other process has the keychain open meanwhile: programs of earlier versions hold the lease as
//       long as they have, and those of this version wait for the folder's lock.
//   (4) It holds the same rows, under the same ids, the same keybag and the next generation.

import KeychainCore
import KeychainCrypto
import KeychainSQLite

enum Conversion {
    /// Converts the database of a folder where it is of version 1.
    ///
    /// - Throws: `readOnly` for a folder that can't be written, `notAvailable` where another program has
    ///   the keychain open or the database is damaged. Nothing is changed then.
    static func runIfNeeded(
        _ folder: StoreFolder, _ options: EngineOptions
    ) throws(KeychainFailure) {
        guard folder.holdsVersion1 else { return }
        guard !folder.isReadOnly else {
            throw KeychainFailure(
                .readOnly,
                "The keychain in \(folder.path) is of an earlier version and has to be converted, but "
                    + "its folder can't be written. Open it once where the folder can be written.")
        }
        try folder.withLock { lock throws(KeychainFailure) in
            lock.removeUnfinishedDatabase()
            // Another process may have converted it meanwhile.
            guard folder.holdsVersion1 else { return }
            let lease = try folder.lease(
                exclusive: true,
                refusal: "The keychain has to be converted to this version, and a program of an "
                    + "earlier version has it open. End that program and try again.")
            defer { lease.end() }
            let place = DeviceKeyPlace(folder: folder, hardware: options.hardware)
            guard let deviceKey = try place.read() else {
                throw Bootstrap.missingDeviceKey(in: folder)
            }
            try convert(lock, deviceKey: deviceKey)
        }
    }

    /// The lease of a process that uses the keychain.
    static func leaseAfterConversions(
        of folder: StoreFolder
    ) throws(KeychainFailure) -> StoreFolder.Lease {
        do {
            return try folder.lease(exclusive: false)
        } catch {
            // A process that has just converted it may hold the lease for a moment longer.
            guard !folder.isReadOnly else { throw error }
            try folder.withLock { _ throws(KeychainFailure) in }
            return try folder.lease(exclusive: false)
        }
    }

    /// Puts a new database in the place of the old one. The caller keeps other processes out.
    static func convert(
        _ lock: StoreFolder.Lock, deviceKey: SecretBytes
    ) throws(KeychainFailure) {
        let folder = lock.folder
        let file = try StoreFile.openVersion1(folder)
        defer { file.close() }
        let hierarchy = try Bootstrap.readKeybag(file, deviceKey: deviceKey)
        let deviceKeys = try hierarchy.openDeviceKeys()
        let old = try Store(
            file, keychainID: hierarchy.keybag.keychainID, deviceKeys: deviceKeys)
        let header = try old.header()
        guard header.keybagGeneration == hierarchy.keybag.generation else {
            throw .damagedStore("its keybag is not the one that its items were written with")
        }
        try check(old, KeyRing(hierarchy, deviceKeys: deviceKeys))
        guard let aside = try old.setAsideRowsOfVersion1(),
            aside.count == Int(clamping: header.setAsideCount)
        else { throw .damagedStore("what was set aside can't be read") }
        try old.emptyLog()
        var generation: UInt64 = 0
        try lock.createDatabase { new throws(KeychainFailure) in
            generation = try make(
                in: new, from: old, header, aside, hierarchy, deviceKeys, deviceKey)
            // Its log would be taken for the new one's.
            old.close()
            guard folder.byteCount(of: .writeAheadLog) == 0 else {
                throw KeychainFailure(
                    .ioError,
                    "The log of the keychain could not be emptied. Nothing was changed. Try again.")
            }
        }
        Anchor(folder: folder, authenticator: old.authenticator).note(generation: generation)
    }

    /// - Throws: `notAvailable` where something is not as it was written, as far as the keys tell that
    ///   are there without a passcode.
    private static func check(_ store: Store, _ ring: KeyRing) throws(KeychainFailure) {
        var damagedCount = 0
        let found = try store.verify(includesSecrets: true) { found, _, _ in
            if isDamaged(found, store, ring) { damagedCount += 1 }
            return true
        }
        if let problem = found.problem ?? store.knownDamage { throw .damagedStore(problem) }
        guard damagedCount == 0 else {
            throw .damagedStore("\(damagedCount) of its items are not as they were written")
        }
    }

    private static func isDamaged(_ found: Store.Found, _ store: Store, _ ring: KeyRing) -> Bool {
        guard case .row(let row) = found,
            let protection = ProtectionClass(rawValue: row.protection)
        else { return true }
        guard let keys = try? ring.keys(for: protection) else { return false }
        let condition = row.condition(
            keychainID: store.keychainID, index: store.index, keys: keys)
        return if case .whole = condition { false } else { true }
    }

    /// Makes the new database in a folder of its own, and closes it.
    /// - Returns: Its generation.
    private static func make(
        in folder: StoreFolder, from old: Store, _ header: StoreHeader,
        _ aside: [SetAsideRowOfVersion1], _ hierarchy: KeyHierarchy, _ deviceKeys: DeviceKeys,
        _ deviceKey: SecretBytes
    ) throws(KeychainFailure) -> UInt64 {
        let file = try StoreFile.create(
            folder, hierarchy: hierarchy, authenticator: old.authenticator, deviceKey: deviceKey,
            generation: header.generation)
        defer { file.close() }
        let store = try Store(
            file, keychainID: hierarchy.keybag.keychainID, deviceKeys: deviceKeys)
        defer { store.close() }
        _ = try store.write(keybagGeneration: hierarchy.keybag.generation) {
            transaction throws(KeychainFailure) in
            transaction.noteChange()
            try old.forEachRow { row throws(KeychainFailure) in
                try transaction.insert(row, keepingID: true)
            }
            for row in aside {
                // Version 1 vouches for the number of these rows alone.
                try transaction.addSetAside(
                    row.row, reason: row.reason, at: row.moment, isVouchedFor: false)
            }
        }
        try store.emptyLog()
        let made = try store.header()
        guard made.itemCount == header.itemCount, made.setAsideCount == header.setAsideCount,
            made.digest == header.digest
        else { throw .damagedStore("its rows changed while they were converted") }
        return made.generation
    }
}
