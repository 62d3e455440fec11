// KeyHierarchyVersion1: creates and opens a keybag of version 1, and sets, changes and removes its
// passcode.
//   (1) Each key is wrapped under a key derived from the device key. If a passcode is set, the keys
//       of classes that are not always available also require the passcode-tier key.
//   (2) To change the passcode, only one key is wrapped again. No row is touched.
//   (3) The keys of the when-passcode-set class exist only while a passcode is set.

package import KeychainCore
import FoundationEssentials

/// The keys for which only the device key is needed.
package struct DeviceKeys: Sendable {
    package let indexKey: SecretBytes
    package let integrityKey: SecretBytes
    /// The keys of the classes that are readable without a passcode.
    package let classes: [ProtectionClass: ClassKeys]
}

/// The keys that a passcode opens.
package struct PasscodeKeys: Sendable {
    /// The passcode-tier key, which the keybag's slot contains in wrapped form.
    fileprivate let tierKey: SecretBytes
    package let classes: [ProtectionClass: ClassKeys]
}

/// A keybag together with the device key that authenticates it.
package struct KeyHierarchyVersion1: Sendable {
    package let keybag: KeybagVersion1
    private let deviceKey: SecretBytes
    package let authenticator: StoreAuthenticator

    /// - Throws: `invalidKeychain` if the keybag was created with another device key, or was
    ///   altered.
    package init(_ keybag: KeybagVersion1, deviceKey: SecretBytes) throws(KeychainFailure) {
        self.init(unchecked: keybag, deviceKey: deviceKey)
        guard keybag.isAuthentic(authenticator) else {
            throw KeychainFailure(
                .invalidKeychain,
                "The keybag was altered, or `device.key` belongs to another keychain.")
        }
    }

    private init(unchecked keybag: KeybagVersion1, deviceKey: SecretBytes) {
        self.keybag = keybag
        self.deviceKey = deviceKey
        authenticator = StoreAuthenticator(
            key: KeyDerivation.derive(
                .keybagAuthentication, from: deviceKey, salt: keybag.keychainID))
    }

    /// The bytes of the keybag.
    package var encoded: [UInt8] { keybag.encoded(with: authenticator) }

    // MARK: Creation

    /// Creates a keychain's first keybag, without a passcode.
    package static func create(deviceKey: SecretBytes) -> KeyHierarchyVersion1 {
        let empty = KeybagVersion1(
            keychainID: Bytes16.random().bytes, generation: 1, slots: [], keys: [])
        let classes = ProtectionClass.allCases.filter { $0 != .whenPasscodeSetThisDeviceOnly }
        return KeyHierarchyVersion1(unchecked: empty, deviceKey: deviceKey).replacing(
            slots: [],
            device: DeviceKeys(
                indexKey: .random(byteCount: 32), integrityKey: .random(byteCount: 32),
                classes: Dictionary(
                    uniqueKeysWithValues: classes.map { ($0, ClassKeys.random()) })),
            passcode: nil, generation: 1)
    }

    // MARK: Opening

    package func openDeviceKeys() throws(KeychainFailure) -> DeviceKeys {
        defer { MemoryScrubber.eraseFreedMemory() }
        let wrapping = deviceWrappingKey
        return DeviceKeys(
            indexKey: try unwrap(.indexKey, nil, .device, wrapping),
            integrityKey: try unwrap(.integrityKey, nil, .device, wrapping),
            classes: try openClasses(.device, wrapping))
    }

    /// - Throws: `authFailed` if the passcode is wrong; `param` if no passcode is set; `allocate`
    ///   if there is too little memory; `invalidKeychain` if a class key or metadata key is missing
    ///   or altered.
    package func openPasscodeKeys(
        _ passcode: SecretBytes
    ) throws(KeychainFailure) -> PasscodeKeys {
        guard let slot = keybag.slots.first else {
            throw .param("No passcode is set.")
        }
        defer { MemoryScrubber.eraseFreedMemory() }
        let slotKey = try slotWrappingKey(passcode, salt: slot.salt, cost: slot.cost)
        let tierKey: SecretBytes
        do {
            tierKey = try AuthenticatedEncryption.unwrap(
                slot.wrapped, using: slotKey, authenticating: slotBinding(slot.kind))
        } catch {
            throw KeychainFailure(.authFailed, "The passcode is wrong.")
        }
        return PasscodeKeys(
            tierKey: tierKey,
            classes: try openClasses(.deviceAndPasscode, passcodeWrappingKey(tierKey)))
    }

    // MARK: Passcode

    package func settingPasscode(
        _ passcode: SecretBytes, cost: PasscodeCost
    ) throws(KeychainFailure) -> KeyHierarchyVersion1 {
        guard !keybag.hasPasscode else {
            throw .param("A passcode is already set. Change it instead.")
        }
        let device = try openDeviceKeys()
        let tierKey = SecretBytes.random(byteCount: 32)
        var moving = device.classes.filter { $0.key.availability != .always }
        moving[.whenPasscodeSetThisDeviceOnly] = .random()
        return replacing(
            slots: [try slot(passcode, tierKey, cost)],
            device: DeviceKeys(
                indexKey: device.indexKey, integrityKey: device.integrityKey,
                classes: device.classes.filter { $0.key.availability == .always }),
            passcode: PasscodeKeys(tierKey: tierKey, classes: moving),
            generation: keybag.generation + 1)
    }

    package func changingPasscode(
        from old: SecretBytes, to new: SecretBytes, cost: PasscodeCost
    ) throws(KeychainFailure) -> KeyHierarchyVersion1 {
        let opened = try openPasscodeKeys(old)
        var changed = keybag
        changed.slots = [try slot(new, opened.tierKey, cost)]
        changed.generation += 1
        return KeyHierarchyVersion1(unchecked: changed, deviceKey: deviceKey)
    }

    package func removingPasscode(
        _ passcode: SecretBytes
    ) throws(KeychainFailure) -> KeyHierarchyVersion1 {
        let opened = try openPasscodeKeys(passcode)
        let device = try openDeviceKeys()
        let staying = opened.classes.filter { $0.key != .whenPasscodeSetThisDeviceOnly }
        return replacing(
            slots: [],
            device: DeviceKeys(
                indexKey: device.indexKey, integrityKey: device.integrityKey,
                classes: device.classes.merging(staying) { first, _ in first }),
            passcode: nil, generation: keybag.generation + 1)
    }

    // MARK: Wrapping

    private var deviceWrappingKey: SecretBytes {
        KeyDerivation.derive(.deviceWrapping, from: deviceKey, salt: keybag.keychainID)
    }

    private func passcodeWrappingKey(_ tierKey: SecretBytes) -> SecretBytes {
        KeyDerivation.derive(
            .passcodeWrapping, from: deviceKey.appending(tierKey), salt: keybag.keychainID)
    }

    private func slotWrappingKey(
        _ passcode: SecretBytes, salt: [UInt8], cost: PasscodeCost
    ) throws(KeychainFailure) -> SecretBytes {
        let stretched = try cost.deriveKey(from: passcode, salt: salt)
        return KeyDerivation.derive(
            .slotWrapping, from: deviceKey.appending(stretched), salt: keybag.keychainID)
    }

    private func slot(
        _ passcode: SecretBytes, _ tierKey: SecretBytes, _ cost: PasscodeCost
    ) throws(KeychainFailure) -> KeySlotVersion1 {
        guard passcode.count > 0 else { throw .param("The passcode is empty.") }
        defer { MemoryScrubber.eraseFreedMemory() }
        let salt = Bytes16.random().bytes
        let wrapping = try slotWrappingKey(passcode, salt: salt, cost: cost)
        return KeySlotVersion1(
            kind: .passcode, cost: cost, salt: salt,
            wrapped: AuthenticatedEncryption.wrap(
                tierKey, using: wrapping, authenticating: slotBinding(.passcode)))
    }

    private func slotBinding(_ kind: KeySlotVersion1.Kind) -> [UInt8] {
        KeybagVersion1.magic + [KeybagVersion1.version] + keybag.keychainID + [0, kind.rawValue, 0]
    }

    private func binding(
        _ role: WrappedKeyVersion1.Role, _ protection: ProtectionClass?,
        _ protector: WrappedKeyVersion1.Protector
    ) -> [UInt8] {
        KeybagVersion1.magic + [KeybagVersion1.version] + keybag.keychainID
            + [role.rawValue, protection?.rawValue ?? 0, protector.rawValue]
    }

    private func unwrap(
        _ role: WrappedKeyVersion1.Role, _ protection: ProtectionClass?,
        _ protector: WrappedKeyVersion1.Protector, _ wrapping: SecretBytes
    ) throws(KeychainFailure) -> SecretBytes {
        let entry = keybag.keys.first {
            $0.role == role && $0.protection == protection && $0.protector == protector
        }
        do {
            guard let entry else { throw AuthenticatedEncryption.Inauthentic() }
            return try AuthenticatedEncryption.unwrap(
                entry.wrapped, using: wrapping,
                authenticating: binding(role, protection, protector))
        } catch {
            throw KeychainFailure(
                .invalidKeychain, "The keybag lacks a key or contains an altered one.")
        }
    }

    private func openClasses(
        _ protector: WrappedKeyVersion1.Protector, _ wrapping: SecretBytes
    ) throws(KeychainFailure) -> [ProtectionClass: ClassKeys] {
        var classes: [ProtectionClass: ClassKeys] = [:]
        for entry in keybag.keys where entry.role == .classKey && entry.protector == protector {
            guard let protection = entry.protection else { continue }
            classes[protection] = ClassKeys(
                classKey: try unwrap(.classKey, protection, protector, wrapping),
                metadataKey: try unwrap(.metadataKey, protection, protector, wrapping))
        }
        return classes
    }

    /// Returns a hierarchy of the same keychain with these keys. Its keybag lists the keys in the
    /// order that `KeybagVersion1.parse` requires.
    private func replacing(
        slots: [KeySlotVersion1], device: DeviceKeys, passcode: PasscodeKeys?, generation: UInt64
    ) -> KeyHierarchyVersion1 {
        defer { MemoryScrubber.eraseFreedMemory() }
        let deviceWrapping = deviceWrappingKey
        var entries: [WrappedKeyVersion1] = []
        func add(
            _ key: SecretBytes, _ role: WrappedKeyVersion1.Role, _ protection: ProtectionClass?,
            _ protector: WrappedKeyVersion1.Protector, _ wrapping: SecretBytes
        ) {
            entries.append(
                WrappedKeyVersion1(
                    role: role, protection: protection, protector: protector,
                    wrapped: AuthenticatedEncryption.wrap(
                        key, using: wrapping,
                        authenticating: binding(role, protection, protector))))
        }
        add(device.indexKey, .indexKey, nil, .device, deviceWrapping)
        add(device.integrityKey, .integrityKey, nil, .device, deviceWrapping)
        let passcodeWrapping = passcode.map { passcodeWrappingKey($0.tierKey) }
        for protection in ProtectionClass.allCases {
            if let keys = device.classes[protection] {
                add(keys.classKey, .classKey, protection, .device, deviceWrapping)
                add(keys.metadataKey, .metadataKey, protection, .device, deviceWrapping)
            } else if let keys = passcode?.classes[protection], let passcodeWrapping {
                add(keys.classKey, .classKey, protection, .deviceAndPasscode, passcodeWrapping)
                add(
                    keys.metadataKey, .metadataKey, protection, .deviceAndPasscode,
                    passcodeWrapping)
            }
        }
        let replaced = KeybagVersion1(
            keychainID: keybag.keychainID, generation: generation, slots: slots, keys: entries)
        return KeyHierarchyVersion1(unchecked: replaced, deviceKey: deviceKey)
    }
}
