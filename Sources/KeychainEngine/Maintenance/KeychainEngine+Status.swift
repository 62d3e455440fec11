// KeychainEngine+Status: what a person wants to know about a keychain, without its items.

import KeychainCrypto
package import KeychainCore
package import KeychainSQLite
import Synchronization

extension KeychainStatus {
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
        if let folder = options.absentFolder { return .absent(in: folder) }
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
