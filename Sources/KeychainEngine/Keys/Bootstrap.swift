// Bootstrap: from a folder to keys. What is missing is made only where nothing can be lost by it.
//   (1) The keybag copy is written last when a keychain is made; a folder that has it, or a
//       database, holds a keychain, and nothing of it is ever made anew.
//   (2) The keybag row is the one that counts; the copy stands in where the row is damaged.

import KeychainCrypto
import KeychainModel
import KeychainStore

enum Bootstrap {
    /// Makes a keychain where there is none; finishes one whose making was interrupted.
    /// The folder's lock is held.
    static func createIfNew(
        _ folder: StoreFolder, _ hardware: (any KeyHardware)?
    ) throws(KeychainFailure) {
        let hasKeybag = folder.exists(.keybag)
        if folder.exists(.database) {
            if !hasKeybag { try restoreKeybagCopy(folder, hardware) }
            return
        }
        guard !hasKeybag else {
            throw folder.failureForMissingDatabase
        }
        let place = DeviceKeyPlace(folder: folder, hardware: hardware)
        let deviceKey: SecretBytes
        if let existing = try place.read() {
            deviceKey = existing
        } else {
            deviceKey = .random(byteCount: AuthenticatedEncryption.keyByteCount)
            try place.write(deviceKey)
        }
        let hierarchy = KeyHierarchy.create(deviceKey: deviceKey)
        let authenticator = StoreAuthenticator(key: try hierarchy.openDeviceKeys().integrityKey)
        try StoreFile.create(folder, hierarchy: hierarchy, authenticator: authenticator).close()
        Anchor(folder: folder, authenticator: authenticator).note(generation: 1)
        try folder.write(SecretBytes(copying: hierarchy.encoded), to: .keybag)
    }

    /// The copy is missing: its making was interrupted, or somebody deleted it. A making that
    /// stopped before the database's first commit leaves an empty file, which holds nothing.
    private static func restoreKeybagCopy(
        _ folder: StoreFolder, _ hardware: (any KeyHardware)?
    ) throws(KeychainFailure) {
        let deviceKey = try readDeviceKey(folder, hardware)
        if folder.byteCount(of: .database) == 0, folder.byteCount(of: .writeAheadLog) == 0 {
            folder.removeEmptyDatabase()
            return try createIfNew(folder, hardware)
        }
        let file = try StoreFile.open(folder)
        defer { file.close() }
        _ = try readKeybag(file, deviceKey: deviceKey)
    }

    static func readDeviceKey(
        _ folder: StoreFolder, _ hardware: (any KeyHardware)?
    ) throws(KeychainFailure) -> SecretBytes {
        guard let key = try DeviceKeyPlace(folder: folder, hardware: hardware).read() else {
            throw KeychainFailure(
                .invalidKeychain,
                "device.key is missing from \(folder.path). Without it no item can be read: "
                    + "restore it from a backup.")
        }
        return key
    }

    /// The keybag of the database, or its copy where that one is damaged.
    static func readKeybag(
        _ file: StoreFile, deviceKey: SecretBytes
    ) throws(KeychainFailure) -> KeyHierarchy {
        let row = try file.keybagBytes()
        let copy = try file.folder?.read(.keybag)?.plainBytes
        let failure: KeychainFailure
        do {
            let hierarchy = try hierarchy(row, deviceKey)
            if row != copy, let row {
                // The copy is behind after an interrupted change of the passcode.
                try? file.folder?.write(SecretBytes(copying: row), to: .keybag)
            }
            return hierarchy
        } catch {
            guard error.status != .wrongVersion else { throw error }
            failure = error
        }
        do {
            return try hierarchy(copy, deviceKey)
        } catch {
            throw failure
        }
    }

    private static func hierarchy(
        _ bytes: [UInt8]?, _ deviceKey: SecretBytes
    ) throws(KeychainFailure) -> KeyHierarchy {
        guard let bytes else {
            throw .damagedStore("the keybag is missing")
        }
        return try KeyHierarchy(Keybag.parse(bytes), deviceKey: deviceKey)
    }
}
