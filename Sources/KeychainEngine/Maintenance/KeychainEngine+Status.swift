// KeychainEngine+Status: what a person wants to know about a keychain, without its items.

import KeychainCrypto
package import KeychainModel
package import KeychainStore
import Synchronization

package struct KeychainStatus: Hashable, Sendable {
    /// ":memory:" for a keychain in memory.
    package let directory: String
    package let formatVersion: Int
    /// How many commits there were.
    package let generation: UInt64
    package let itemCount: UInt64
    package let setAsideCount: UInt64
    package let hasPasscode: Bool
    package let lockState: LockState
    /// Whether all key material of this process is locked in memory.
    package let isMemoryLocked: Bool
    /// Size of the database with its log, in bytes; 0 for a keychain in memory.
    package let byteCount: Int
    /// Empty for a keychain in memory.
    package let deviceKeyPath: String
    /// What keeps the device key, as its file says now.
    package let deviceKeyProtection: DeviceKeyProtection

    package init(
        directory: String, formatVersion: Int, generation: UInt64, itemCount: UInt64,
        setAsideCount: UInt64, hasPasscode: Bool, lockState: LockState, isMemoryLocked: Bool,
        byteCount: Int, deviceKeyPath: String, deviceKeyProtection: DeviceKeyProtection = .file
    ) {
        self.directory = directory
        self.formatVersion = formatVersion
        self.generation = generation
        self.itemCount = itemCount
        self.setAsideCount = setAsideCount
        self.hasPasscode = hasPasscode
        self.lockState = lockState
        self.isMemoryLocked = isMemoryLocked
        self.byteCount = byteCount
        self.deviceKeyPath = deviceKeyPath
        self.deviceKeyProtection = deviceKeyProtection
    }

    /// Of a folder that holds no keychain yet, as if it had an empty one.
    package static func absent(in directory: String) -> KeychainStatus {
        let folder = StoreFolder(path: directory)
        return KeychainStatus(
            directory: folder.path, formatVersion: Store.formatVersion, generation: 0,
            itemCount: 0, setAsideCount: 0, hasPasscode: false, lockState: .unlocked,
            isMemoryLocked: SecretBytes.isMemoryLocked, byteCount: 0,
            deviceKeyPath: folder.path(of: .deviceKey))
    }
}

extension KeychainEngine {
    package func status() throws(KeychainFailure) -> KeychainStatus {
        try reloadKeybag()
        let header = try store.header()
        return KeychainStatus(
            directory: store.folder?.path ?? ":memory:", formatVersion: Store.formatVersion,
            generation: header.generation, itemCount: header.itemCount,
            setAsideCount: header.setAsideCount, hasPasscode: hasPasscode, lockState: lockState,
            isMemoryLocked: SecretBytes.isMemoryLocked,
            byteCount: store.folder.map {
                $0.byteCount(of: .database) + $0.byteCount(of: .writeAheadLog)
            } ?? 0,
            deviceKeyPath: store.folder?.path(of: .deviceKey) ?? "",
            deviceKeyProtection: try deviceKeyProtection())
    }

    /// The damaged rows that were set aside, oldest first.
    package func setAsideRows() throws(KeychainFailure) -> [SetAsideRow] {
        try store.setAsideRows()
    }
}
