// DeviceKeyPlace: where the device key is: in its file, in the clear or sealed by hardware, or, for
// a keychain that is on no disk, in memory.
//   (1) A key is sealed only when the hardware has given it back once.
//   (2) The file is replaced whole: at any moment it opens the keychain one way or the other.
//   (3) Sealing rotates the keys: the earlier key may be in copies of its file. Unsealing keeps the key,
//       and with it everything that was encrypted.
//   (4) The database and the device key of a keychain in memory go with the last reference to
//       either, and nothing of them reaches a file.

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
            // It has its place by now.
            return try folder.read(.deviceKey)
        }
    }

    var protection: DeviceKeyProtection {
        get throws(KeychainFailure) {
            guard let file = try file else { return .file }
            return SealedDeviceKeyFile.decode(file) == nil ? .file : .hardware
        }
    }

    /// - Returns: nil where there is no file.
    func read() throws(KeychainFailure) -> SecretBytes? {
        guard let file = try file else { return nil }
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
            if error.cause == .otherMachine {
                throw KeychainFailure(.invalidKeychain, error.reason, cause: .otherMachine)
            }
            throw KeychainFailure(
                .invalidKeychain,
                "The device key in \(folder.path) was sealed by the hardware of another machine, "
                    + "or this one's was cleared. Restore the folder from a backup that was made while "
                    + "the key was in its file. Nothing was changed.", cause: .damage)
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

// MARK: - The owner's decisions

extension KeychainEngine {
    /// Lets the machine's hardware seal the device key. A copy of the folder that is made from then
    /// on opens on this machine only, and every process needs the hardware to open the keychain.
    ///
    /// A chip that is cleared or breaks takes the keychain with it.
    ///
    /// - Throws: `unimplemented` where there is no hardware, `param` for a keychain in memory; the
    ///   keychain is as it was after any failure.
    ///
    /// All keys rotate: what opens from then on is a key that never stood in a file. Where a passcode is
    /// set, that takes it as proof.
    @discardableResult
    package func sealDeviceKey(
        provedBy proof: WayIn? = nil, progress: (RequestProgress) -> Bool = { _ in true }
    ) throws(KeychainFailure) -> [SlotSummary] {
        guard try deviceKeyPlace().hardware != nil else { throw .secureEnclaveUnavailable }
        return try rotate(
            RotationWish(proof: proof, protection: .hardware), progress: progress)
    }

    /// Puts the device key into its file in the clear again.
    ///
    /// - Throws: `param` for a keychain in memory; the file is as it was after any failure.
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

    /// What keeps the device key, by its file.
    package func deviceKeyProtection() throws(KeychainFailure) -> DeviceKeyProtection {
        guard store.folder != nil else { return .memory }
        return try deviceKeyPlace().protection
    }

    /// The same for a folder whose keychain isn't open, or can't be opened without the hardware.
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
    /// What the file `device.key` holds elsewhere.
    let deviceKey: SecretBytes

    /// Makes an empty keychain without a passcode.
    package init() throws(KeychainFailure) {
        deviceKey = .random(byteCount: AuthenticatedEncryption.keyByteCount)
        let hierarchy = KeyHierarchy.create(deviceKey: deviceKey)
        file = try StoreFile.createInMemory(hierarchy, tiers: try KeyRing(hierarchy).tiers)
    }
}
