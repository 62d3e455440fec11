// KeyHierarchy+Changes: changes of the passcode, of the other ways in, and of the binding to a
// machine; and summaries of the slots.
//   (1) Each change returns a hierarchy with a new keybag of the next generation. The receiver is
//       unchanged.

import FoundationEssentials
package import KeychainCore

extension KeyHierarchy {
    // MARK: Passcode

    /// Sets the first passcode, which creates the key of the guarded tier.
    package func settingPasscode(
        _ passcode: SecretBytes, cost: PasscodeCost, at now: Double
    ) throws(KeychainFailure) -> KeyHierarchy {
        guard !keybag.hasPasscode else { throw guardedAlready }
        return try guarding(with: .passcode(passcode), cost: cost, at: now)
    }

    /// The error for an attempt to add the first way in although there already is one.
    var guardedAlready: KeychainFailure {
        .param(
            keybag.hasPasscodeSlot
                ? "A passcode is already set. Change it instead."
                : "No passcode is set, but a credential or a recovery code is. To set a passcode, "
                    + "change the passcode with one of these as the proof.")
    }

    /// Replaces the passcode if there is one; otherwise adds it.
    package func changingPasscode(
        from way: WayIn, to new: SecretBytes, cost: PasscodeCost, at now: Double
    ) throws(KeychainFailure) -> KeyHierarchy {
        let opened = try unlock(way)
        let old = keybag.slots.first { $0.kind == .passcode }
        let number = if let old { old.number } else { try nextNumber() }
        let slot = try wrapper.slot(
            .passcode(new), cost: cost, opening: [(.tier, opened.tierKey)], number: number, at: now)
        return try replacing(slots: keybag.slots.filter { $0.kind != .passcode } + [slot])
    }

    /// Removes the protection of the guarded tier: the tier key, all ways in that open it, and the
    /// keys of the when-passcode-set class. A recovery code that also opens the machine key stays,
    /// for the machine key only.
    package func removingPasscode(_ way: WayIn) throws(KeychainFailure) -> KeyHierarchy {
        let keys = try allKeys(provedBy: way).keys
        return try replacing(
            keys.filter { $0.key.protection != .whenPasscodeSetThisDeviceOnly },
            slots: keybag.slots.compactMap { $0.removing(.tier) },
            Protectors(tierKey: nil, machineKey: machineKey))
    }

    private func guarding(
        with way: WayIn, cost: PasscodeCost?, at now: Double
    ) throws(KeychainFailure) -> KeyHierarchy {
        var keys = try allKeys(provedBy: nil).keys
        let tierKey = SecretBytes.random(byteCount: 32)
        let new = ClassKeys.random()
        keys[.classKey(.whenPasscodeSetThisDeviceOnly)] = new.classKey
        keys[.metadataKey(.whenPasscodeSetThisDeviceOnly)] = new.metadataKey
        let slot = try wrapper.slot(
            way, cost: cost, opening: [(.tier, tierKey)], number: try nextNumber(), at: now)
        return try replacing(
            keys, slots: keybag.slots + [slot],
            Protectors(tierKey: tierKey, machineKey: machineKey))
    }

    // MARK: Other ways in

    /// Adds a recovery code or a credential. A recovery code replaces an earlier recovery code, and
    /// opens all keys that require more than the device key. The proof is an existing way in,
    /// required if the guarded tier has one. Throws `param` if a recovery code would open nothing,
    /// or if there are too many slots. If the keychain is bound to another machine, throws
    /// `notAvailable` in two cases: if a credential would be the first way in; and if a recovery
    /// code is added, except when a proof is required and the proof opens the machine key.
    package func adding(
        _ way: WayIn, provedBy proof: WayIn?, at now: Double
    ) throws(KeychainFailure) -> KeyHierarchy {
        switch way {
        case .passcode: throw .param("A passcode can be set or changed, but not added.")
        case .credential:
            guard
                keybag.slots.count(where: { $0.kind == .credential })
                    < Keybag.maximumCredentialCount
            else {
                throw .param("There can be at most \(Keybag.maximumCredentialCount) credentials.")
            }
            guard keybag.hasPasscode else { return try guarding(with: way, cost: nil, at: now) }
        case .recoveryCode:
            guard keybag.hasPasscode || keybag.isBound else {
                throw .param(
                    "A recovery code would open nothing: no passcode is set, and the keychain "
                        + "isn't bound to this machine.")
            }
        }
        var opening: [(KeySlot.Opens, SecretBytes)] = []
        var machineKey = machineKey
        if keybag.hasPasscode {
            let unlocked = try unlock(try required(proof))
            opening.append((.tier, unlocked.tierKey))
            machineKey = unlocked.machineKey
        }
        if way.kind == .recoveryCode, keybag.isBound {
            guard let machineKey else { throw .boundElsewhere(machineState) }
            opening.append((.machine, machineKey))
        }
        let slot = try wrapper.slot(
            way, cost: nil, opening: opening, number: try nextNumber(), at: now)
        let staying = keybag.slots.filter { way.kind != .recoveryCode || $0.kind != .recoveryCode }
        return try replacing(slots: staying + [slot])
    }

    /// - Throws: `param` if no slot has the number, or if the slot is that of the last way in or of
    ///   the machine.
    package func removingSlot(_ number: UInt32) throws(KeychainFailure) -> KeyHierarchy {
        guard let slot = keybag.slots.first(where: { $0.number == number }) else {
            throw .param("There is no slot \(number).")
        }
        guard !slot.kind.isOfMachine else {
            throw .param("Slot \(number) binds the keychain to this machine. Unbind it instead.")
        }
        let staying = keybag.slots.filter { $0.number != number }
        guard
            !slot.opens.contains(.tier)
                || staying.contains(where: { $0.kind.isKnown && $0.opens.contains(.tier) })
        else {
            throw .param(
                "Slot \(number) is the only remaining way in. Add another one first, or remove the "
                    + "passcode protection as a whole.")
        }
        return try replacing(slots: staying)
    }

    // MARK: Machine

    /// Binds the *this device only* classes to this machine. The proof is a way in, required if the
    /// guarded tier has one. Throws `param` if the keychain is already bound to this machine, or if
    /// the machine has neither a chip nor a permanent identity, and `notAvailable` if the keychain
    /// is bound to another machine.
    package func binding(
        provedBy proof: WayIn?, at now: Double
    ) throws(KeychainFailure) -> KeyHierarchy {
        switch machineState {
        case .notBound: break
        case .thisMachine: throw .param("The keychain is already bound to this machine.")
        case .otherMachine, .unreachable: throw .boundElsewhere(machineState)
        }
        let (keys, tierKey) = try allKeys(provedBy: proof)
        let machineKey = SecretBytes.random(byteCount: 32)
        let slot = try newMachineSlot(machineKey, at: now)
        return try replacing(
            keys, slots: keybag.slots + [slot],
            Protectors(tierKey: tierKey, machineKey: machineKey))
    }

    /// Binds a keychain that was moved from another machine to this one, with the recovery code.
    package func rebinding(
        with code: SecretBytes, at now: Double
    ) throws(KeychainFailure) -> KeyHierarchy {
        guard keybag.isBound else { throw .param("The keychain isn't bound to a machine.") }
        guard let machineKey = try open(.recoveryCode(code))[.machine] else {
            throw KeychainFailure(
                .authFailed,
                "The recovery code was created before the keychain was bound, and can't open the "
                    + "bound items.")
        }
        let slot = try newMachineSlot(machineKey, at: now)
        return try replacing(
            slots: keybag.slots.filter { !$0.kind.isOfMachine } + [slot], machineKey: machineKey)
    }

    /// Unbinds the keychain from its machine. The proof is a way in, required if the guarded tier
    /// has one. On another machine, the proof is always required, and must be a recovery code that
    /// opens the machine key.
    package func unbinding(provedBy proof: WayIn?) throws(KeychainFailure) -> KeyHierarchy {
        guard keybag.isBound else { throw .param("The keychain isn't bound to a machine.") }
        let (keys, tierKey) = try allKeys(provedBy: proof)
        return try replacing(
            keys, slots: keybag.slots.compactMap { $0.removing(.machine) },
            Protectors(tierKey: tierKey, machineKey: nil))
    }

    func newMachineSlot(
        _ machineKey: SecretBytes, number: UInt32? = nil, at now: Double
    ) throws(KeychainFailure) -> KeySlot {
        let chosen = if let number { number } else { try nextNumber() }
        guard let slot = try wrapper.machineSlot(machineKey, machine, number: chosen, at: now)
        else {
            throw .param(
                "This machine has no permanent identity (it may be a container), so nothing can be "
                    + "bound to it.")
        }
        return slot
    }

    // MARK: Shared steps

    /// All keys of the keybag, and the key of the guarded tier. If the keychain is bound to another
    /// machine, throws `notAvailable` unless the proof is a recovery code that opens the machine
    /// key.
    func allKeys(
        provedBy proof: WayIn?
    ) throws(KeychainFailure) -> (keys: [KeyName: SecretBytes], tierKey: SecretBytes?) {
        let unlocked = try keybag.hasPasscode ? unlock(required(proof)) : nil
        var machineKey = machineKey ?? unlocked?.machineKey
        if machineKey == nil, keybag.isBound, case .recoveryCode? = proof, let proof {
            machineKey = try open(proof)[.machine]
        }
        guard !keybag.isBound || machineKey != nil else { throw .boundElsewhere(machineState) }
        let protectors = Protectors(tierKey: unlocked?.tierKey, machineKey: machineKey)
        return (try openKeys(protectors), protectors.tierKey)
    }

    private func required(_ proof: WayIn?) throws(KeychainFailure) -> WayIn {
        guard let proof else {
            throw KeychainFailure(
                .authFailed, "This requires the passcode, the recovery code or a credential.")
        }
        return proof
    }

    func nextNumber() throws(KeychainFailure) -> UInt32 {
        guard keybag.nextSlotNumber < .max else { throw .param("All slot numbers are used.") }
        return keybag.nextSlotNumber
    }

    /// Returns a hierarchy with the keychain's next keybag, in which all keys are wrapped again.
    func replacing(
        _ keys: [KeyName: SecretBytes], slots: [KeySlot], _ protectors: Protectors
    ) throws(KeychainFailure) -> KeyHierarchy {
        defer { MemoryScrubber.eraseFreedMemory() }
        return try replacing(
            slots: slots, keys: wrapper.wrap(keys, under: protectors),
            machineKey: protectors.machineKey)
    }

    /// Returns a hierarchy with the keychain's next keybag. The next keybag contains `keys` or, if
    /// `keys` is `nil`, the wrapped keys of the receiver's keybag.
    func replacing(
        slots: [KeySlot], keys: [WrappedKey]? = nil, machineKey: SecretBytes?? = nil
    ) throws(KeychainFailure) -> KeyHierarchy {
        let slots = slots.sorted { $0.number < $1.number }
        let next = slots.last.map { max(keybag.nextSlotNumber, $0.number + 1) }
        let replaced = Keybag(
            keychainID: keybag.keychainID, generation: keybag.generation &+ 1,
            nextSlotNumber: next ?? keybag.nextSlotNumber, slots: slots, keys: keys ?? keybag.keys)
        let known = machineKey ?? self.machineKey
        let state: MachineState =
            !replaced.isBound ? .notBound : known != nil ? .thisMachine : machineState
        let new = KeyHierarchy(
            replaced, deviceKey: deviceKey, machine: machine, state: state, machineKey: known)
        guard new.encoded.count <= Keybag.maximumByteCount else {
            throw .param("The keybag has no room left for another slot.")
        }
        return new
    }
}

// MARK: - Status

extension KeyHierarchy {
    /// Whether a key is wrapped identically in another keybag, and therefore is the same key. Also
    /// `true` if neither keybag contains a key with this name.
    package func hasSameKey(_ name: KeyName, as other: KeyHierarchy) -> Bool {
        keybag.keys.first { $0.name == name } == other.keybag.keys.first { $0.name == name }
    }

    package var slotSummaries: [SlotSummary] {
        keybag.slots.map { slot in
            let kind: SlotSummary.Kind =
                switch slot.kind {
                case .passcode: .passcode
                case .recoveryCode: .recoveryCode
                case .credential: .credential
                case .machineIdentity: .machineIdentity
                case .machineChip: .machineChip
                case .unknown: .unknown
                }
            return SlotSummary(
                number: slot.number, kind: kind, madeAt: slot.madeAt,
                opensPasscode: slot.opens.contains(.tier),
                opensMachine: slot.opens.contains(.machine))
        }
    }
}
