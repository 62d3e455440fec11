// KeychainEngine+Folder: the folder of a keychain that is not opened yet.

package import KeychainCore
import KeychainSQLite

extension KeychainEngine {
    /// Makes a folder where it is missing, and checks that no other user may enter it.
    ///
    /// - Parameter directory: An absolute path.
    /// - Throws: `notAvailable` for a folder that belongs to or is open to others.
    package static func prepareFolder(_ directory: String) throws(KeychainFailure) {
        try StoreFolder(path: directory).prepare()
    }

    /// Whether a folder holds a keychain. Looking makes nothing.
    ///
    /// - Throws: `notAvailable` for a folder that can't be looked into, or is open to others.
    package static func isPresent(in directory: String) throws(KeychainFailure) -> Bool {
        let folder = StoreFolder(path: directory)
        if folder.exists(.database) || folder.exists(.keybag) { return true }
        if !folder.isMissing { try folder.checkFolder() }
        return false
    }
}
