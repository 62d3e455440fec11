// KeyWrapping: seals and opens the keys and slots of a keybag.
// Documentation/Formats/keybag-v2.md specifies the derivations and the associated data.

import FoundationEssentials
import KeychainCore

/// The keys that wrapping keys are derived from in addition to the device key.
struct Protectors {
    let tierKey: SecretBytes?
    let machineKey: SecretBytes?
}

/// Seals and opens keys and slots under keys that are derived from the device key.
struct SlotWrapper {
    let keychainID: [UInt8]
    let deviceKey: SecretBytes

    static let missingKey = KeychainFailure(
        .invalidKeychain, "The keybag lacks a key or contains an altered one.")

    var authenticator: StoreAuthenticator {
        StoreAuthenticator(key: KeyDerivation.derive(.keybag, from: deviceKey, salt: keychainID))
    }

    private var binding: [UInt8] { Keybag.magic + [Keybag.version] + keychainID }

    // MARK: Keys

    /// Wraps the given keys, in the order in which a keybag contains them.
    func wrap(_ keys: [KeyName: SecretBytes], under protectors: Protectors) -> [WrappedKey] {
        let fixed = KeyName.fixed(hasTier: protectors.tierKey != nil)
        let retired = keys.keys.filter { !fixed.contains($0) }.sorted {
            $0.bytes.lexicographicallyPrecedes($1.bytes)
        }
        var wrapping: [UInt8: SecretBytes] = [:]
        return (fixed + retired).compactMap { name in
            guard let key = keys[name] else { return nil }
            let protector = name.protector(
                hasTier: protectors.tierKey != nil, isBound: protectors.machineKey != nil)
            let wrapper = wrapping[protector.rawValue] ?? wrappingKey(protector, protectors)
            wrapping[protector.rawValue] = wrapper
            guard let wrapper else { return nil }
            return WrappedKey(
                name: name, protector: protector,
                wrapped: AuthenticatedEncryption.wrap(
                    key, using: wrapper, authenticating: binding(name, protector)))
        }
    }

    func unwrap(
        _ entry: WrappedKey, _ protectors: Protectors
    ) throws(KeychainFailure) -> SecretBytes {
        guard let wrapping = wrappingKey(entry.protector, protectors),
            let key = try? AuthenticatedEncryption.unwrap(
                entry.wrapped, using: wrapping,
                authenticating: binding(entry.name, entry.protector))
        else { throw Self.missingKey }
        return key
    }

    private func wrappingKey(
        _ protector: WrappedKey.Protector, _ protectors: Protectors
    ) -> SecretBytes? {
        var source = deviceKey
        for (part, key) in [
            (WrappedKey.Protector.tier, protectors.tierKey), (.machine, protectors.machineKey),
        ] where protector.contains(part) {
            guard let key else { return nil }
            source = source.appending(key)
        }
        return KeyDerivation.derive(.wrapping, protector.rawValue, from: source, salt: keychainID)
    }

    private func binding(_ name: KeyName, _ protector: WrappedKey.Protector) -> [UInt8] {
        binding + name.bytes + [protector.rawValue]
    }

    // MARK: Slots

    func slot(
        _ way: WayIn, cost: PasscodeCost?, opening: [(KeySlot.Opens, SecretBytes)],
        number: UInt32, at now: Double
    ) throws(KeychainFailure) -> KeySlot {
        switch way {
        case .passcode(let passcode) where passcode.count == 0:
            throw .param("The passcode is empty.")
        case .credential(let secret) where secret.count < WayIn.leastCredentialByteCount:
            throw .param("A credential must have at least \(WayIn.leastCredentialByteCount) bytes.")
        case .recoveryCode(let code) where code.count != RecoveryCode.byteCount:
            throw .param("A recovery code must have \(RecoveryCode.byteCount) bytes.")
        default: break
        }
        defer { MemoryScrubber.eraseFreedMemory() }
        var slot = KeySlot(
            kind: way.kind, number: number, madeAt: now,
            opens: KeySlot.Opens(opening.map(\.0)), salt: Bytes16.random().bytes, cost: cost,
            boxes: [])
        guard let secret = try self.secret(of: way, for: slot) else { throw Self.missingKey }
        slot.boxes = seal(opening, in: slot, secret)
        return slot
    }

    /// Returns `nil` if the machine has neither a chip nor a machine identity.
    func machineSlot(
        _ machineKey: SecretBytes, _ machine: Machine, number: UInt32, at now: Double
    ) throws(KeychainFailure) -> KeySlot? {
        var slot = KeySlot(
            kind: .machineIdentity, number: number, madeAt: now, opens: .machine,
            salt: Bytes16.random().bytes, boxes: [])
        let secret: SecretBytes
        if let chip = machine.chip, chip.isPresent {
            secret = .random(byteCount: 32)
            let sealed = try chip.seal(secret)
            guard SealedDeviceKeyFile.sealedByteCounts.contains(sealed.count),
                try chip.unseal(sealed).isEqual(to: secret)
            else {
                throw KeychainFailure(
                    .notAvailable, "The chip did not return the secret that it had sealed.")
            }
            slot.kind = .machineChip
            slot.sealed = sealed
        } else if let identity = machine.identity {
            secret = identity
        } else {
            return nil
        }
        defer { MemoryScrubber.eraseFreedMemory() }
        slot.boxes = seal([(.machine, machineKey)], in: slot, secret)
        return slot
    }

    /// Returns `nil` if the way in doesn't open the slot.
    func open(
        _ slot: KeySlot, with way: WayIn
    ) throws(KeychainFailure) -> [KeySlot.Opens: SecretBytes]? {
        guard let secret = try self.secret(of: way, for: slot) else { return nil }
        return open(slot, secret)
    }

    func openMachineKey(
        of keybag: Keybag, on machine: Machine
    ) -> (MachineState, SecretBytes?) {
        guard keybag.isBound else { return (.notBound, nil) }
        guard let slot = keybag.slots.first(where: \.kind.isOfMachine) else {
            return (.otherMachine, nil)
        }
        defer { MemoryScrubber.eraseFreedMemory() }
        var secret = machine.identity
        if let sealed = slot.sealed {
            guard let chip = machine.chip else { return (.unreachable, nil) }
            do throws(KeychainFailure) {
                secret = try chip.unseal(sealed)
            } catch {
                return (error.status == .decode ? .otherMachine : .unreachable, nil)
            }
        }
        guard let secret else { return (.unreachable, nil) }
        let key = open(slot, secret)?[.machine]
        return (key == nil ? .otherMachine : .thisMachine, key)
    }

    /// The secret from which the wrapping key of a slot is derived, in addition to the device key.
    private func secret(
        of way: WayIn, for slot: KeySlot
    ) throws(KeychainFailure) -> SecretBytes? {
        switch way {
        case .passcode(let passcode):
            guard let cost = slot.cost else { return nil }
            // scrypt treats some different passcodes as equal: a passcode of more than 64 bytes and
            // its SHA-256 hash, and shorter ones that differ only in trailing zero bytes. HMAC is
            // applied first, so that these passcodes give different keys.
            return try cost.deriveKey(
                from: passcode.authenticationCode(under: Self.passcodeKey), salt: slot.salt)
        case .recoveryCode, .credential: return way.secret
        }
    }

    private static let passcodeKey = Array("swift-keychain 2 passcode".utf8)

    private func seal(
        _ keys: [(KeySlot.Opens, SecretBytes)], in slot: KeySlot, _ secret: SecretBytes
    ) -> [Data] {
        let wrapping = slotKey(slot, secret)
        return keys.map { part, key in
            AuthenticatedEncryption.wrap(key, using: wrapping, authenticating: binding(slot, part))
        }
    }

    private func open(_ slot: KeySlot, _ secret: SecretBytes) -> [KeySlot.Opens: SecretBytes]? {
        let wrapping = slotKey(slot, secret)
        var opened: [KeySlot.Opens: SecretBytes] = [:]
        for (part, box) in zip(slot.opens.elements, slot.boxes) {
            guard
                let key = try? AuthenticatedEncryption.unwrap(
                    box, using: wrapping, authenticating: binding(slot, part))
            else { return nil }
            opened[part] = key
        }
        return opened
    }

    private func slotKey(_ slot: KeySlot, _ secret: SecretBytes) -> SecretBytes {
        KeyDerivation.derive(
            .slot, slot.kind.code, from: deviceKey.appending(secret), salt: keychainID + slot.salt)
    }

    private func binding(_ slot: KeySlot, _ part: KeySlot.Opens) -> [UInt8] {
        binding + [0, slot.kind.code, part.rawValue, 0]
            + bigEndianBytes(UInt64(slot.number)).suffix(4)
    }
}
