// Bootstrap: from a folder to keys. What is missing is made only where nothing can be lost by it.
//   (1) A keychain is made at one moment: when its database, complete and durable, takes its name.
//       Before that there is at the most a device key, which the next attempt takes; after it the
//       copy of the keybag may be missing, which the next opening makes.
//   (2) A folder that has a keybag or a database holds a keychain, and nothing of it is made anew.
//   (3) The keybag row is the one that counts; the copy stands in where the row is damaged.

import KeychainCrypto
import KeychainCore
import KeychainSQLite
import Logging

enum Bootstrap {
    /// Makes a keychain where there is none.
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

    /// Makes the copy of the keybag what the database's is, and rids the log of earlier ones.
    ///
    /// The copy is behind after a change of the passcode that was interrupted, and missing where a
    /// keychain was being made. It is still good for opening, so a failure is noted and no more.
    static func updateKeybagCopy(_ store: Store, _ hierarchy: KeyHierarchy, _ log: Logger) {
        let bytes = hierarchy.encoded
        guard let folder = store.folder, (try? store.file.keybagBytes()) == bytes,
            (try? folder.read(.keybag)?.plainBytes) != bytes
        else { return }
        func attempt(_ what: String, _ body: () throws(KeychainFailure) -> Void) {
            do { try body() } catch { log.warning("\(what): \(error.reason)") }
        }
        // The log first: where the process ends in between, the copy is still behind.
        attempt("An earlier keybag may still be in the log") { () throws(KeychainFailure) in
            try store.emptyLog()
        }
        attempt("The copy of the keybag is not up to date") { () throws(KeychainFailure) in
            try folder.withLock { lock throws(KeychainFailure) in
                // A rotation, or another change, may have come in between.
                guard (try? store.file.keybagBytes()) == bytes else { return }
                try lock.write(SecretBytes(copying: bytes), to: .keybag)
            }
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

    /// The keybag of the database, or its copy where that one is damaged.
    static func readKeybag(
        _ file: StoreFile, deviceKey: SecretBytes, machine: Machine,
        after known: KeyHierarchy? = nil
    ) throws(KeychainFailure) -> KeyHierarchy {
        let failure: KeychainFailure
        do {
            return try hierarchy(try file.keybagBytes(), deviceKey, machine, known)
        } catch {
            if error.isSuperseded { throw error }
            // Also of a version that isn't known: one changed byte can say so. Where the keybag is of
            // a later version, its copy is too.
            failure = error
        }
        do {
            return try hierarchy(
                try file.folder?.read(.keybag)?.plainBytes, deviceKey, machine, known)
        } catch {
            throw failure
        }
    }

    /// The keybag of a database, or its copy where that one is damaged, of version 1; nil where the
    /// database's is of a later version.
    static func readKeybagVersion1(
        _ file: StoreFile, deviceKey: SecretBytes
    ) throws(KeychainFailure) -> KeyHierarchyVersion1? {
        let bytes = try file.keybagBytes()
        // A later version that belongs to the device key is no accident.
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

    /// Whether the file `keybag` is anything but a copy of the database's keybag.
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
