// InterruptedRecovery: whether a database that waits to take its place is what a recovery has made.
//   (1) Anybody who can write the folder can put a file there. What takes the place of a keychain's
//       database has been found whole, under its own keys, and of no earlier commit than its last one.

import KeychainCore
import KeychainCrypto
import KeychainSQLite

enum InterruptedRecovery {
    /// - Throws: `notAvailable` where `keychain.db.recovered` is damaged, or no recovery of this keychain
    ///   has made it. Nothing is changed then.
    static func check(
        _ folder: StoreFolder, deviceKey: SecretBytes, _ options: EngineOptions
    ) throws(KeychainFailure) {
        let path = folder.path(of: .recoveredDatabase)
        guard
            let salvage = try? RowSalvage(databasePath: path, logPath: nil, deviceKey: deviceKey),
            salvage.isWhole,
            salvage.keybags().committed.contains(where: { keybag in
                guard let keys = keys(in: keybag, deviceKey, options),
                    let header = salvage.headers(keys.tiers).committed,
                    header.keychainID == keys.keychainID
                else { return false }
                return header.generation >= keys.lastGeneration(in: folder, options) ?? 0
            })
        else {
            throw KeychainFailure(
                .notAvailable,
                "\(path) is damaged, or no recovery of this keychain has made it. Nothing was changed. "
                    + "Move it away, and run `keychainctl recover` again.", cause: .damage)
        }
    }

    private static func keys(
        in keybag: [UInt8], _ deviceKey: SecretBytes, _ options: EngineOptions
    ) -> RowKeys? {
        if let hierarchy = try? KeyHierarchy(
            Keybag.parse(keybag), deviceKey: deviceKey, machine: options.machine)
        {
            return (try? KeyRing(hierarchy)).map { RowKeys($0) }
        }
        // An earlier version of this program began the recovery.
        guard let keybag = try? KeybagVersion1.parse(keybag),
            let device = try? KeyHierarchyVersion1(keybag, deviceKey: deviceKey).openDeviceKeys()
        else { return nil }
        let tier = StoreTier(indexKey: device.indexKey, integrityKey: device.integrityKey)
        return RowKeys(
            keychainID: keybag.keychainID, tiers: StoreTiers(version1: tier),
            classes: device.classes)
    }
}

extension RowKeys {
    /// The last commit of their keychain that is known outside its database.
    func lastGeneration(in folder: StoreFolder, _ options: EngineOptions) -> UInt64? {
        let authenticator = tiers.open.authenticator
        return [
            Anchor.last(in: folder, authenticator),
            FreshnessNote.lastGeneration(
                in: folder, keychainID: keychainID, authenticator, place: options.place),
        ].compactMap(\.self).max()
    }
}
