// KeychainFolder: which keychain the tool works on, and whether there is one.

import KeychainClient
import KeychainEngine
import KeychainModel
import KeychainStore

enum KeychainFolder {
    static func location() throws(KeychainFailure) -> EmbeddedKeychain.Location {
        try EmbeddedKeychain.location()
    }

    /// Whether the folder holds a keychain, or what is left of one. Looking doesn't make one.
    ///
    /// - Throws: `notAvailable` for a folder that can't be looked into.
    static func holdsKeychain(_ directory: String) throws(KeychainFailure) -> Bool {
        let folder = StoreFolder(path: directory)
        if folder.exists(.database) || folder.exists(.keybag) { return true }
        do {
            try folder.checkFolder()
            return folder.exists(.deviceKey)
        } catch  where error.status == .ioError {
            // There is no such folder.
            return false
        }
    }
}
