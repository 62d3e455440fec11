// MemoryPlace: where a keychain is that is on no disk, with what a folder holds for one that is.
//   (1) The database and the device key go with the last reference to either, and nothing of
//       them reaches a file.

import KeychainCrypto
package import KeychainCore
import KeychainSQLite

package struct MemoryPlace: Sendable {
    let file: StoreFile
    /// What the file `device.key` holds elsewhere.
    let deviceKey: SecretBytes

    /// Makes an empty keychain without a passcode.
    package init() throws(KeychainFailure) {
        deviceKey = .random(byteCount: AuthenticatedEncryption.keyByteCount)
        let hierarchy = KeyHierarchy.create(deviceKey: deviceKey)
        file = try StoreFile.createInMemory(
            hierarchy,
            authenticator: StoreAuthenticator(key: try hierarchy.openDeviceKeys().integrityKey))
    }
}
