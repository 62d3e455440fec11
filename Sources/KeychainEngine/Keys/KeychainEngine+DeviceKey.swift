// KeychainEngine+DeviceKey: what the owner of a keychain decides about its device key.
//   (1) The key stays the same, and with it everything that was encrypted. Only its file changes,
//       so programs that have the keychain open notice nothing.

import KeychainCrypto
package import KeychainCore
import KeychainSQLite

extension KeychainEngine {
    /// Lets the machine's hardware seal the device key. A copy of the folder that is made from then
    /// on opens on this machine only, and every process needs the hardware to open the keychain.
    ///
    /// Without a copy of `device.key` from before, a chip that is cleared or breaks takes the
    /// keychain with it. The file's earlier content may be on the disk for as long as the disk
    /// doesn't use the place anew.
    ///
    /// - Throws: `unimplemented` where there is no hardware, `param` for a keychain in memory; the
    ///   file is as it was after any failure.
    package func sealDeviceKey() throws(KeychainFailure) {
        let place = try deviceKeyPlace()
        try place.folder.withLock { lock throws(KeychainFailure) in
            try place.seal(deviceKey, lock)
        }
    }

    /// Puts the device key into its file in the clear again.
    ///
    /// - Throws: `param` for a keychain in memory; the file is as it was after any failure.
    package func unsealDeviceKey() throws(KeychainFailure) {
        let place = try deviceKeyPlace()
        try place.folder.withLock { lock throws(KeychainFailure) in
            try place.write(deviceKey, lock)
        }
    }

    /// What keeps the device key, by its file.
    package func deviceKeyProtection() throws(KeychainFailure) -> DeviceKeyProtection {
        guard store.folder != nil else { return .memory }
        return try deviceKeyPlace().protection
    }

    /// The same for a folder whose keychain isn't open, or can't be opened without the hardware.
    package static func deviceKeyProtection(
        in directory: String
    ) throws(KeychainFailure) -> DeviceKeyProtection {
        try DeviceKeyPlace(folder: StoreFolder(path: directory), hardware: nil).protection
    }

    private func deviceKeyPlace() throws(KeychainFailure) -> DeviceKeyPlace {
        guard let folder = store.folder else {
            throw .param("A keychain in memory has no device key in a file.")
        }
        return DeviceKeyPlace(folder: folder, hardware: options.hardware)
    }
}
