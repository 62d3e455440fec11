// KeyHierarchy: a keybag together with the keys that open it. It creates and opens keybags, adds
// ways in, and binds a keychain to a machine.
//   (1) A key is wrapped under a key derived from the device key. If the key belongs to the guarded
//       tier, the tier key is also needed if there is one. If its class is *this device only* and
//       the keychain is bound, the machine key is also needed.
//   (2) To add another way in, or bind a moved keychain to its new machine, only the tier key, the
//       machine key or both are wrapped again. No row is touched.
//   (3) The keys of the when-passcode-set class exist only while there is a tier key.
//   (4) While there is a tier key, at least one way in opens it. The last way in is removed only
//       together with the tier key.
//   (5) On another machine, the keys that need the machine key are missing, unless a recovery
//       code opens the machine key. All other keys can be opened.

import FoundationEssentials
package import KeychainCore

/// The two keys of a protection class.
package struct ClassKeys: Sendable {
    /// Wraps the row keys.
    package let classKey: SecretBytes
    /// Seals the attributes of the rows.
    package let metadataKey: SecretBytes
    /// Earlier class keys, the most recent last. They are used only to open blobs that applications
    /// store.
    package let retiredClassKeys: [SecretBytes]

    package init(
        classKey: SecretBytes, metadataKey: SecretBytes, retiredClassKeys: [SecretBytes] = []
    ) {
        self.classKey = classKey
        self.metadataKey = metadataKey
        self.retiredClassKeys = retiredClassKeys
    }

    static func random() -> ClassKeys {
        ClassKeys(classKey: .random(byteCount: 32), metadataKey: .random(byteCount: 32))
    }
}

/// The keys of a tier that can be opened on this machine.
package struct TierKeys: Sendable {
    package let indexKey: SecretBytes
    package let integrityKey: SecretBytes
    package let classes: [ProtectionClass: ClassKeys]

    package init(
        indexKey: SecretBytes, integrityKey: SecretBytes,
        classes: [ProtectionClass: ClassKeys]
    ) {
        self.indexKey = indexKey
        self.integrityKey = integrityKey
        self.classes = classes
    }
}

/// The guarded tier, opened with a way in.
package struct UnlockedTier: Sendable {
    /// The tier key. Every slot that opens the guarded tier contains it, wrapped.
    let tierKey: SecretBytes
    /// The machine key: the one already known or, if there is none, the one in a recovery code's
    /// slot.
    let machineKey: SecretBytes?
    package let keys: TierKeys
    /// The classes of the open tier, opened with the machine key of a recovery code's slot. Empty
    /// if the machine key was already known, or if there is none.
    package let openClasses: [ProtectionClass: ClassKeys]
}

extension WayIn {
    var kind: KeySlot.Kind {
        switch self {
        case .passcode: .passcode
        case .recoveryCode: .recoveryCode
        case .credential: .credential
        }
    }
}

/// A keybag together with the device key that authenticates it, on a given machine.
package struct KeyHierarchy: Sendable {
    package let keybag: Keybag
    package let authenticator: StoreAuthenticator
    package let machineState: MachineState
    let deviceKey: SecretBytes
    let machine: Machine
    /// `nil` if the keychain isn't bound, or its machine slot can't be opened on this machine now.
    let machineKey: SecretBytes?

    /// - Throws: `invalidKeychain` if the keybag was created with another device key, or was
    ///   altered.
    ///
    /// `previous` is the hierarchy of an earlier keybag of this keychain, opened on this machine.
    /// If it has the same machine slot, its machine key is used without accessing the chip.
    package init(
        _ keybag: Keybag, deviceKey: SecretBytes, machine: Machine = .unidentified,
        after previous: KeyHierarchy? = nil
    ) throws(KeychainFailure) {
        let wrapper = SlotWrapper(keychainID: keybag.keychainID, deviceKey: deviceKey)
        guard keybag.isAuthentic(wrapper.authenticator) else {
            throw KeychainFailure(
                .invalidKeychain,
                "The keybag was altered, or `device.key` belongs to another keychain.")
        }
        let slot = keybag.slots.first { $0.kind.isOfMachine }
        if let previous, let key = previous.machineKey, slot != nil,
            previous.keybag.slots.contains(where: { $0 == slot })
        {
            self.init(
                keybag, deviceKey: deviceKey, machine: machine, state: .thisMachine,
                machineKey: key)
            return
        }
        let (state, machineKey) = wrapper.openMachineKey(of: keybag, on: machine)
        self.init(
            keybag, deviceKey: deviceKey, machine: machine, state: state, machineKey: machineKey)
    }

    init(
        _ keybag: Keybag, deviceKey: SecretBytes, machine: Machine, state: MachineState,
        machineKey: SecretBytes?
    ) {
        self.keybag = keybag
        self.deviceKey = deviceKey
        self.machine = machine
        machineState = state
        self.machineKey = machineKey
        authenticator =
            SlotWrapper(keychainID: keybag.keychainID, deviceKey: deviceKey)
            .authenticator
    }

    /// The bytes of the keybag.
    package var encoded: [UInt8] { keybag.encoded(with: authenticator) }

    var wrapper: SlotWrapper {
        SlotWrapper(keychainID: keybag.keychainID, deviceKey: deviceKey)
    }

    // MARK: Creation

    /// Creates a keychain's first keybag. It has no passcode, and is bound to the machine if
    /// possible. If the chip fails, the keybag is bound to the machine's identity instead.
    package static func create(
        deviceKey: SecretBytes, machine: Machine = .unidentified, at now: Double = 0
    ) -> KeyHierarchy {
        var keys: [KeyName: SecretBytes] = [:]
        for name in KeyName.fixed(hasTier: false) { keys[name] = .random(byteCount: 32) }
        return bare(
            Bytes16.random().bytes, deviceKey: deviceKey, machine: machine, keys: keys,
            generation: 1, bindingAt: now)
    }

    private static func bare(
        _ keychainID: [UInt8], deviceKey: SecretBytes, machine: Machine,
        keys: [KeyName: SecretBytes], generation: UInt64, bindingAt now: Double?
    ) -> KeyHierarchy {
        let wrapper = SlotWrapper(keychainID: keychainID, deviceKey: deviceKey)
        let machineKey = SecretBytes.random(byteCount: 32)
        let slot = now.flatMap { now in
            let machines = [machine, Machine(identity: machine.identity)]
            return machines.lazy.compactMap {
                try? wrapper.machineSlot(machineKey, $0, number: 1, at: now)
            }.first
        }
        let protectors = Protectors(tierKey: nil, machineKey: slot.map { _ in machineKey })
        let keybag = Keybag(
            keychainID: keychainID, generation: generation, nextSlotNumber: slot == nil ? 1 : 2,
            slots: slot.map { [$0] } ?? [], keys: wrapper.wrap(keys, under: protectors))
        return KeyHierarchy(
            keybag, deviceKey: deviceKey, machine: machine,
            state: slot == nil ? .notBound : .thisMachine, machineKey: protectors.machineKey)
    }

    /// Converts a keybag of version 1. The keychain's identifier, class keys and metadata keys stay
    /// the same, index and integrity keys are new, and the result is not bound. If the old keybag
    /// has a passcode, `passcode` must be that passcode, and the new keybag has it too. Throws
    /// `authFailed` if `passcode` is wrong, and `param` if it is missing, or is given although the
    /// old keybag has no passcode.
    package static func converting(
        _ old: KeyHierarchyVersion1, passcode: SecretBytes?, deviceKey: SecretBytes,
        machine: Machine = .unidentified, cost: PasscodeCost, at now: Double
    ) throws(KeychainFailure) -> (hierarchy: KeyHierarchy, unlocked: UnlockedTier?) {
        var classes = try old.openDeviceKeys().classes
        if let passcode {
            classes.merge(try old.openPasscodeKeys(passcode).classes) { first, _ in first }
        }
        var keys: [KeyName: SecretBytes] = [:]
        for name in KeyName.fixed(hasTier: passcode != nil) {
            switch name {
            case .classKey(let protection): keys[name] = classes[protection]?.classKey
            case .metadataKey(let protection): keys[name] = classes[protection]?.metadataKey
            default: keys[name] = .random(byteCount: 32)
            }
        }
        guard keys.count == KeyName.fixed(hasTier: passcode != nil).count else {
            throw .param("The passcode of the keychain is needed to convert it.")
        }
        let whenPasscodeSet = ProtectionClass.whenPasscodeSetThisDeviceOnly
        var bare = keys
        bare[.classKey(whenPasscodeSet)] = nil
        bare[.metadataKey(whenPasscodeSet)] = nil
        let hierarchy = Self.bare(
            old.keybag.keychainID, deviceKey: deviceKey, machine: machine, keys: bare,
            generation: old.keybag.generation, bindingAt: nil)
        guard let passcode else {
            return (hierarchy.raisingGeneration(), nil)
        }
        let tierKey = SecretBytes.random(byteCount: 32)
        let slot = try hierarchy.wrapper.slot(
            .passcode(passcode), cost: cost, opening: [(.tier, tierKey)], number: 1, at: now)
        let new = try hierarchy.replacing(
            keys, slots: [slot], Protectors(tierKey: tierKey, machineKey: nil))
        return (new, try new.unlock(tierKey, machineKey: nil))
    }

    private func raisingGeneration() -> KeyHierarchy {
        var changed = keybag
        changed.generation &+= 1
        return KeyHierarchy(
            changed, deviceKey: deviceKey, machine: machine, state: machineState,
            machineKey: machineKey)
    }

    // MARK: Opening

    /// Opens the open tier. If the machine key can't be opened on this machine, the classes whose
    /// keys need it are missing.
    package func openTier() throws(KeychainFailure) -> TierKeys {
        try tierKeys(.open, Protectors(tierKey: nil, machineKey: machineKey))
    }

    /// Opens the guarded tier if it has no way in. Returns `nil` if it has one.
    package func guardedTierWithoutPasscode() throws(KeychainFailure) -> TierKeys? {
        guard !keybag.hasPasscode else { return nil }
        return try tierKeys(.guarded, Protectors(tierKey: nil, machineKey: machineKey))
    }

    /// - Throws: `authFailed` if the way in is wrong or opens only the machine key; `param` if the
    ///   keychain has no way in of this kind, or if the guarded tier has no way in at all.
    package func unlock(_ way: WayIn) throws(KeychainFailure) -> UnlockedTier {
        let opened = try open(way)
        guard let tierKey = opened[.tier] else {
            guard keybag.hasPasscode else {
                throw .param(
                    "No passcode is set, so nothing is locked. To read items that are bound to "
                        + "another machine, use `keychainctl bind --recovery-code`.")
            }
            throw KeychainFailure(
                .authFailed,
                "The recovery code was created before the passcode was set, and can't unlock the "
                    + "keychain.")
        }
        return try unlock(tierKey, machineKey: opened[.machine])
    }

    func unlock(
        _ tierKey: SecretBytes, machineKey other: SecretBytes?
    ) throws(KeychainFailure) -> UnlockedTier {
        let protectors = Protectors(tierKey: tierKey, machineKey: machineKey ?? other)
        let open = try machineKey == nil && other != nil ? tierKeys(.open, protectors).classes : [:]
        return UnlockedTier(
            tierKey: tierKey, machineKey: protectors.machineKey,
            keys: try tierKeys(.guarded, protectors), openClasses: open)
    }

    /// Opens the slots of the given kind and returns the keys in the first one that opens.
    func open(_ way: WayIn) throws(KeychainFailure) -> [KeySlot.Opens: SecretBytes] {
        defer { MemoryScrubber.eraseFreedMemory() }
        let slots = keybag.slots.filter { $0.kind == way.kind }
        guard !slots.isEmpty else {
            switch way {
            case .passcode:
                throw .param(
                    keybag.hasPasscode
                        ? "No passcode is set. A credential or a recovery code unlocks the "
                            + "keychain."
                        : "No passcode is set.")
            case .recoveryCode: throw .param("There is no recovery code.")
            case .credential: throw .param("No credential opens this keychain.")
            }
        }
        for slot in slots {
            if let opened = try wrapper.open(slot, with: way) { return opened }
        }
        switch way {
        case .passcode: throw KeychainFailure(.authFailed, "The passcode is wrong.")
        case .recoveryCode: throw KeychainFailure(.authFailed, "The recovery code is wrong.")
        case .credential:
            throw KeychainFailure(.authFailed, "The credential doesn't open this keychain.")
        }
    }

    private func tierKeys(
        _ tier: Tier, _ protectors: Protectors
    ) throws(KeychainFailure) -> TierKeys {
        let keys = try openKeys(protectors) { $0.tier == tier }
        guard let indexKey = keys[.indexKey(tier)], let integrityKey = keys[.integrityKey(tier)]
        else { throw SlotWrapper.missingKey }
        var classes: [ProtectionClass: ClassKeys] = [:]
        for protection in ProtectionClass.allCases {
            guard let classKey = keys[.classKey(protection)],
                let metadataKey = keys[.metadataKey(protection)]
            else { continue }
            // The retired keys of the class, in the order of their numbers.
            let retired = keybag.keys.compactMap { entry -> SecretBytes? in
                guard case .retiredClassKey(protection, _) = entry.name else { return nil }
                return keys[entry.name]
            }
            classes[protection] = ClassKeys(
                classKey: classKey, metadataKey: metadataKey, retiredClassKeys: retired)
        }
        return TierKeys(indexKey: indexKey, integrityKey: integrityKey, classes: classes)
    }

    /// Unwraps the keys. Without the machine key, the keys that need it are omitted.
    func openKeys(
        _ protectors: Protectors, where isIncluded: (KeyName) -> Bool = { _ in true }
    ) throws(KeychainFailure) -> [KeyName: SecretBytes] {
        defer { MemoryScrubber.eraseFreedMemory() }
        var keys: [KeyName: SecretBytes] = [:]
        for entry in keybag.keys where isIncluded(entry.name) {
            if entry.protector.contains(.machine), protectors.machineKey == nil { continue }
            keys[entry.name] = try wrapper.unwrap(entry, protectors)
        }
        return keys
    }
}
