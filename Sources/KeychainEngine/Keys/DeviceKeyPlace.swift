// DeviceKeyPlace: where the device key is. A keychain in a folder has it in a file, either in
// plaintext or sealed by hardware; a keychain in memory has it in memory.
//   (1) A newly sealed key is written only after the hardware has unsealed it once.
//   (2) The file is replaced atomically, so at any time it contains the key in one of the two
//       forms.
//   (3) Sealing rotates the keys, because copies of the file may contain the earlier key. Unsealing
//       keeps the key, so everything encrypted under it stays valid.
//   (4) For a keychain in memory, the database and the device key each exist until the last
//       reference to it is released. Neither is written to a file.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto
import KeychainSQLite

struct DeviceKeyPlace {
    let folder: StoreFolder
    let hardware: (any KeyHardware)?

    private var file: SecretBytes? {
        get throws(KeychainFailure) {
            if let staged = try folder.deviceKeyFolder.read(.deviceKey) { return staged }
            // Until a rotation is finished, the device key of the new database is in the folder
            // `rotation-n`. If the key is no longer in that folder, the rotation was finished in
            // the meantime.
            return try folder.read(.deviceKey)
        }
    }

    var protection: DeviceKeyProtection {
        get throws(KeychainFailure) {
            guard let file = try file else { return .file }
            return SealedDeviceKeyFile.decode(file) == nil ? .file : .hardware
        }
    }

    /// - Returns: `nil` if there is no file.
    func read() throws(KeychainFailure) -> SecretBytes? {
        guard let file = try file else { return nil }
        guard let contents = SealedDeviceKeyFile.decode(file) else {
            return try DeviceKeyFile.decode(file).key
        }
        return try unseal(contents.sealed)
    }

    /// Rewrites the file if one of its two copies of the key is damaged. If that fails, the key
    /// remains readable.
    func mend() {
        guard let isWhole = try? isWhole, !isWhole else { return }
        try? folder.withLock { lock throws(KeychainFailure) in
            // Another process may have repaired or replaced it meanwhile.
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

    /// Seals a key with the hardware and writes the sealed key.
    /// - Throws: `unimplemented` if there is no hardware. After any error nothing is changed.
    func seal(_ key: SecretBytes, _ lock: StoreFolder.Lock) throws(KeychainFailure) {
        guard let hardware else { throw .secureEnclaveUnavailable }
        let sealed = try hardware.seal(key)
        guard SealedDeviceKeyFile.sealedByteCounts.contains(sealed.count),
            try hardware.unseal(sealed).isEqual(to: key)
        else {
            throw KeychainFailure(
                .notAvailable,
                "The hardware sealed the device key but could not unseal it. Nothing was changed.")
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
                    + "use. Run `keychainctl status` for the reason. Nothing was changed.")
        }
        do {
            return try checked(try hardware.unseal(sealed))
        } catch {
            guard error.status == .decode else { throw error }
            if error.cause == .otherMachine {
                throw KeychainFailure(.invalidKeychain, error.reason, cause: .otherMachine)
            }
            throw KeychainFailure(
                .invalidKeychain,
                "The device key in \(folder.path) was sealed by the hardware of another machine, "
                    + "or the hardware of this machine was cleared. Restore the folder from a "
                    + "backup that was made while the key was not sealed. Nothing was changed.",
                cause: .damage)
        }
    }

    private func checked(_ key: SecretBytes) throws(KeychainFailure) -> SecretBytes {
        guard key.count == AuthenticatedEncryption.keyByteCount else {
            throw KeychainFailure(
                .invalidKeychain, "The data unsealed by the hardware is not a device key.",
                cause: .damage)
        }
        return key
    }
}

// MARK: - Sealing and unsealing

extension KeychainEngine {
    /// Seals the device key with the machine's hardware. Copies of the folder made from then on can
    /// be opened on this machine only, and every process needs the hardware to open the keychain.
    ///
    /// If the chip is cleared or fails, the keychain is lost.
    ///
    /// All keys are rotated, so that the new device key has never been in a file in plaintext. The
    /// proof is that of ``rotate(provedBy:progress:)``.
    ///
    /// - Throws: `unimplemented` if there is no hardware, and the errors of a rotation. After any
    ///   error the keychain is unchanged.
    @discardableResult
    package func sealDeviceKey(
        provedBy proof: WayIn? = nil, progress: (RequestProgress) -> Bool = { _ in true }
    ) throws(KeychainFailure) -> [SlotSummary] {
        guard try deviceKeyPlace().hardware != nil else { throw .secureEnclaveUnavailable }
        return try rotate(
            RotationWish(proof: proof, protection: .hardware), progress: progress)
    }

    /// Writes the device key into its file in plaintext again.
    ///
    /// - Throws: `param` for a keychain in memory. After any error the file is unchanged.
    package func unsealDeviceKey() throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            let place = try deviceKeyPlace()
            try place.folder.withLock { lock throws(KeychainFailure) in
                guard place.folder.located == place.folder, try !store.file.isSuperseded else {
                    throw KeychainFailure.superseded
                }
                try place.write(deviceKey, lock)
            }
        }
    }

    /// How the device key is protected, according to its file.
    package func deviceKeyProtection() throws(KeychainFailure) -> DeviceKeyProtection {
        guard store.folder != nil else { return .memory }
        return try deviceKeyPlace().protection
    }

    /// How the device key is protected in a folder whose keychain isn't open, or can't be opened
    /// without the hardware.
    package static func deviceKeyProtection(
        in directory: String
    ) throws(KeychainFailure) -> DeviceKeyProtection {
        try DeviceKeyPlace(folder: StoreFolder(path: directory).located, hardware: nil).protection
    }

    private func deviceKeyPlace() throws(KeychainFailure) -> DeviceKeyPlace {
        guard let folder = store.folder else {
            throw .param("A keychain in memory has no device key in a file.")
        }
        return DeviceKeyPlace(folder: folder, hardware: options.hardware)
    }
}

// MARK: - In memory

package struct MemoryPlace: Sendable {
    let file: StoreFile
    /// The device key, which a keychain on disk has in the file `device.key`.
    let deviceKey: SecretBytes

    /// Creates an empty keychain without a passcode.
    package init() throws(KeychainFailure) {
        deviceKey = .random(byteCount: AuthenticatedEncryption.keyByteCount)
        let hierarchy = KeyHierarchy.create(deviceKey: deviceKey)
        file = try StoreFile.createInMemory(hierarchy, tiers: try KeyRing(hierarchy).tiers)
    }
}
