// Bootstrap: obtains the keys of the keychain in a folder. Missing files are created only if
// nothing can be lost by creating them.
//   (1) A keychain comes into existence at one moment: when its database, complete and durable,
//       gets its name. Before that, the folder holds no keychain: the next attempt uses the device
//       key if there is one, and deletes an unfinished database. After that, only the anchor and
//       the keybag file may be missing. The next commit writes the anchor, and the next opening the
//       keybag file.
//   (2) A folder with a keybag or a database holds a keychain. Its database and its device key are
//       not created again here.
//   (3) The keybag row in the database is authoritative. The keybag file replaces it if the row is
//       damaged.

import KeychainCrypto
import KeychainCore
import KeychainSQLite
import Logging

enum Bootstrap {
    /// Creates a keychain if there is none.
    static func createIfNew(
        _ lock: StoreFolder.Lock, _ options: EngineOptions
    ) throws(KeychainFailure) {
        let folder = lock.folder
        lock.removeUnfinishedDatabase()
        guard !folder.located.exists(.database) else { return }
        guard !folder.exists(.keybag) else { throw folder.failureForMissingDatabase }
        let place = DeviceKeyPlace(folder: folder, hardware: options.hardware)
        let deviceKey: SecretBytes
        if let existing = try place.read() {
            deviceKey = existing
        } else {
            deviceKey = .random(byteCount: AuthenticatedEncryption.keyByteCount)
            try place.write(deviceKey, lock)
        }
        let hierarchy = KeyHierarchy.create(
            deviceKey: deviceKey, machine: options.machine, at: options.now())
        let tiers = try KeyRing(hierarchy).tiers
        try lock.createDatabase { folder throws(KeychainFailure) in
            try StoreFile.create(
                folder, hierarchy: hierarchy, tiers: tiers, deviceKey: deviceKey
            ).close()
        }
        Anchor(folder: folder, authenticator: tiers.open.authenticator).note(generation: 1)
        try lock.write(SecretBytes(copying: hierarchy.encoded), to: .keybag)
    }

    /// Updates the keybag file from the keybag in the database, and removes earlier keybags from
    /// the write-ahead log.
    ///
    /// The file is outdated if a change of the keybag, such as a new passcode, was interrupted, or
    /// if the log couldn't be emptied during the change. The file is missing if the creation of the
    /// keychain was interrupted. The keychain opens in all these cases, so a failed update is only
    /// logged.
    static func updateKeybagCopy(_ store: Store, _ hierarchy: KeyHierarchy, _ log: Logger) {
        let bytes = hierarchy.encoded
        guard let folder = store.folder, (try? store.file.keybagBytes()) == bytes,
            (try? folder.read(.keybag)?.plainBytes) != bytes
        else { return }
        // The write-ahead log is emptied first: if the process ends between the two steps, or if
        // another process that reads the log prevents the first, the keybag file is still outdated,
        // and the next opening repeats both steps.
        do throws(KeychainFailure) {
            try store.emptyLog()
        } catch {
            log.warning("An earlier keybag may still be in the write-ahead log: \(error.reason)")
            return
        }
        do throws(KeychainFailure) {
            try folder.withLock { lock throws(KeychainFailure) in
                // A rotation, or another change, may have intervened.
                guard (try? store.file.keybagBytes()) == bytes else { return }
                try lock.write(SecretBytes(copying: bytes), to: .keybag)
            }
        } catch {
            log.warning("The copy of the keybag is not up to date: \(error.reason)")
        }
    }

    static func readDeviceKey(
        _ folder: StoreFolder, _ hardware: (any KeyHardware)?
    ) throws(KeychainFailure) -> SecretBytes {
        let place = DeviceKeyPlace(folder: folder, hardware: hardware)
        guard let key = try place.read() else { throw missingDeviceKey(in: folder) }
        place.mend()
        return key
    }

    static func missingDeviceKey(in folder: StoreFolder) -> KeychainFailure {
        KeychainFailure(
            .invalidKeychain,
            "device.key is missing from \(folder.path). Without it no item can be read: "
                + "restore it from a backup.")
    }

    /// The keybag of the database, or the keybag file if that keybag is damaged.
    static func readKeybag(
        _ file: StoreFile, deviceKey: SecretBytes, machine: Machine,
        after known: KeyHierarchy? = nil
    ) throws(KeychainFailure) -> KeyHierarchy {
        let failure: KeychainFailure
        do {
            return try hierarchy(try file.keybagBytes(), deviceKey, machine, known)
        } catch {
            if error.isSuperseded { throw error }
            // An unknown version is treated as damage, too, because a single changed byte can cause
            // it. If the keybag really has a later version, so has the keybag file.
            failure = error
        }
        do {
            return try hierarchy(
                try file.folder?.read(.keybag)?.plainBytes, deviceKey, machine, known)
        } catch {
            throw failure
        }
    }

    /// The keybag of version 1 in a database of version 1 or 2, or the one in the keybag file if
    /// that in the database is damaged; `nil` if the database's keybag has a later version.
    static func readKeybagVersion1(
        _ file: StoreFile, deviceKey: SecretBytes
    ) throws(KeychainFailure) -> KeyHierarchyVersion1? {
        let bytes = try file.keybagBytes()
        // A keybag of a later version that the device key authenticates can't be the result of
        // damage.
        if let bytes, (try? hierarchy(bytes, deviceKey, .unidentified)) != nil { return nil }
        func version1(_ bytes: [UInt8]?) throws(KeychainFailure) -> KeyHierarchyVersion1 {
            guard let bytes else { throw .damagedStore("the keybag is missing") }
            return try KeyHierarchyVersion1(KeybagVersion1.parse(bytes), deviceKey: deviceKey)
        }
        do {
            return try version1(bytes)
        } catch {
            guard let copy = try? version1(file.folder?.read(.keybag)?.plainBytes) else {
                throw error
            }
            return copy
        }
    }

    /// Whether the keybag file is missing or differs from the keybag in the database.
    static func keybagCopyDiffers(_ file: StoreFile) throws(KeychainFailure) -> Bool {
        guard let folder = file.folder else { return false }
        return try file.keybagBytes() != (try? folder.read(.keybag)?.plainBytes)
    }

    private static func hierarchy(
        _ bytes: [UInt8]?, _ deviceKey: SecretBytes, _ machine: Machine,
        _ known: KeyHierarchy? = nil
    ) throws(KeychainFailure) -> KeyHierarchy {
        guard let bytes else {
            throw .damagedStore("the keybag is missing")
        }
        return try KeyHierarchy(
            Keybag.parse(bytes), deviceKey: deviceKey, machine: machine, after: known)
    }
}
