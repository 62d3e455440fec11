// KeychainPlace: which keychain the tool works on, and whether there is one.
//   (1) Requests for items go where those of programs go: to the service, or to the files.
//   (2) What mends files works on the files themselves, whoever else has them open.

import KeychainClient
import KeychainEngine
import KeychainModel
import KeychainStore

/// A keychain that was opened, and the groups that its programs have by their entitlements.
struct OpenedKeychain {
    let keychain: any KeychainAdministration
    let groups: AccessGroups
}

enum KeychainPlace {
    /// The keychain that programs would speak to.
    static func opened() throws(KeychainFailure) -> OpenedKeychain {
        OpenedKeychain(
            keychain: try EmbeddedKeychain.engine(in: folder().directory),
            groups: try EmbeddedKeychain.entitlements().accessGroups)
    }

    /// Whether there is one, or what is left of one. Looking doesn't make one.
    static func holdsKeychain() throws(KeychainFailure) -> Bool {
        try holdsKeychain(folder().directory)
    }

    /// The folder of its files.
    static func folder() throws(KeychainFailure) -> EmbeddedKeychain.Location {
        try EmbeddedKeychain.location()
    }

    /// The files, opened by this process.
    static func engine() throws(KeychainFailure) -> KeychainEngine {
        try EmbeddedKeychain.engine(in: folder().directory)
    }

    /// Whether a folder holds a keychain, or what is left of one.
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
