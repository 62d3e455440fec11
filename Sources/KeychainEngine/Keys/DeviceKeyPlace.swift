// DeviceKeyPlace: the device key in its file, in the clear or sealed by hardware.
//   (1) A key is sealed only when the hardware has given it back once.
//   (2) The file is replaced whole: at any moment it opens the keychain one way or the other.

import FoundationEssentials
import KeychainCrypto
import KeychainCore
import KeychainSQLite

struct DeviceKeyPlace {
    let folder: StoreFolder
    let hardware: (any KeyHardware)?

    var protection: DeviceKeyProtection {
        get throws(KeychainFailure) {
            guard let file = try folder.read(.deviceKey) else { return .file }
            return SealedDeviceKeyFile.decode(file) == nil ? .file : .hardware
        }
    }

    /// - Returns: nil where there is no file.
    func read() throws(KeychainFailure) -> SecretBytes? {
        guard let file = try folder.read(.deviceKey) else { return nil }
        guard let contents = SealedDeviceKeyFile.decode(file) else {
            return try DeviceKeyFile.decode(file).key
        }
        return try unseal(contents.sealed)
    }

    /// Writes the file anew where one of its two copies is damaged. Where that fails, the key is
    /// still good.
    func mend() {
        guard let isWhole = try? isWhole, !isWhole else { return }
        try? folder.withLock { lock throws(KeychainFailure) in
            // Another process may have mended or replaced it meanwhile.
            guard let file = try folder.read(.deviceKey) else { return }
            if let contents = SealedDeviceKeyFile.decode(file) {
                if !contents.isWhole { try writeSealed(contents.sealed, lock) }
            } else {
                let contents = try DeviceKeyFile.decode(file)
                if !contents.isWhole { try write(contents.key, lock) }
            }
        }
    }

    private var isWhole: Bool {
        get throws(KeychainFailure) {
            guard let file = try folder.read(.deviceKey) else { return true }
            if let contents = SealedDeviceKeyFile.decode(file) { return contents.isWhole }
            return try DeviceKeyFile.decode(file).isWhole
        }
    }

    func write(_ key: SecretBytes, _ lock: StoreFolder.Lock) throws(KeychainFailure) {
        try lock.write(DeviceKeyFile.encode(key), to: .deviceKey)
    }

    /// Seals a key and writes it so.
    /// - Throws: `unimplemented` where there is no hardware; nothing is changed then, nor by any
    ///   other failure.
    func seal(_ key: SecretBytes, _ lock: StoreFolder.Lock) throws(KeychainFailure) {
        guard let hardware else { throw .secureEnclaveUnavailable }
        let sealed = try hardware.seal(key)
        guard SealedDeviceKeyFile.sealedByteCounts.contains(sealed.count),
            try hardware.unseal(sealed).isEqual(to: key)
        else {
            throw KeychainFailure(
                .notAvailable,
                "The hardware did not give back the device key that it was to seal. Nothing was "
                    + "changed.")
        }
        try writeSealed(sealed, lock)
    }

    private func writeSealed(_ sealed: Data, _ lock: StoreFolder.Lock) throws(KeychainFailure) {
        try lock.write(SecretBytes(copying: SealedDeviceKeyFile.encode(sealed)), to: .deviceKey)
    }

    private func unseal(_ sealed: Data) throws(KeychainFailure) -> SecretBytes {
        guard let hardware else {
            throw KeychainFailure(
                .notAvailable,
                "The device key in \(folder.path) is sealed by hardware that this program can't "
                    + "use. `keychainctl status` says why. Nothing was changed.")
        }
        do {
            return try checked(try hardware.unseal(sealed))
        } catch {
            guard error.status == .decode else { throw error }
            throw KeychainFailure(
                .invalidKeychain,
                "The device key in \(folder.path) was sealed by the hardware of another machine, "
                    + "or this one's was cleared. Restore the copy of `device.key` that was made "
                    + "before it was sealed. Nothing was changed.", cause: .damage)
        }
    }

    private func checked(_ key: SecretBytes) throws(KeychainFailure) -> SecretBytes {
        guard key.count == AuthenticatedEncryption.keyByteCount else {
            throw KeychainFailure(
                .invalidKeychain, "What the hardware has sealed is no device key.", cause: .damage)
        }
        return key
    }
}
