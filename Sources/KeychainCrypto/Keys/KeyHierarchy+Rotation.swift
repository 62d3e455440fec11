// KeyHierarchy+Rotation: a keybag under another device key, with other keys of every kind.
//   (1) No key of the new keybag follows from one of the old, or is wrapped under one: who has the old
//       device key and all ways in of that time opens nothing of it.
//   (2) Earlier class keys stay as retired ones where applications keep blobs that are sealed under them.
//   (3) A way in that isn't shown can't be carried over: what opens its slot is not known. It ends.

import FoundationEssentials
package import KeychainCore

extension KeyHierarchy {
    package struct Rotated {
        package let hierarchy: KeyHierarchy
        /// What the proof opened of the old one. nil: no passcode was set.
        package let before: UnlockedTier?
        /// nil: no passcode is set, or will be.
        package let unlocked: UnlockedTier?
        /// The ways in that ended.
        package let ended: [SlotSummary]
    }

    /// Rotates all keys.
    ///
    /// - Parameters:
    ///   - deviceKey: The new one.
    ///   - proof: A way in, where there is one: the passcode, where one is set.
    ///   - new: The first way in, where there is none.
    ///   - classes: Those whose class keys are kept, retired.
    ///   - credential: Kept as well where it opens a slot.
    ///   - cost: That of the passcode's slot.
    ///   - now: Seconds since 2001-01-01.
    /// - Returns: The next keybag, and what it opens.
    /// - Throws: `authFailed` for a wrong or missing proof; `notAvailable` on another machine.
    package func rotating(
        to deviceKey: SecretBytes, provedBy proof: WayIn?, guardingWith new: WayIn? = nil,
        retiring classes: Set<ProtectionClass>, credential: SecretBytes? = nil, cost: PasscodeCost,
        at now: Double
    ) throws(KeychainFailure) -> Rotated {
        if keybag.hasPasscode {
            guard new == nil else { throw .param("A passcode is set already. Change it.") }
            if let proof, proof.kind != .passcode,
                keybag.slots.contains(where: { $0.kind == .passcode })
            {
                throw .param("Changing the keys takes the passcode: its slot is made anew.")
            }
        }
        // Its slot would be this machine's: binding it comes first.
        guard machineState.isOpen else { throw .boundElsewhere(machineState) }
        let hasTier = keybag.hasPasscode || new != nil
        let old = try allKeys(provedBy: proof)
        let keys = try rotatedKeys(old.keys, retiring: classes, hasTier: hasTier)
        let tierKey = hasTier ? SecretBytes.random(byteCount: 32) : nil
        let machineKey = keybag.isBound ? SecretBytes.random(byteCount: 32) : nil
        let base = KeyHierarchy(
            keybag, deviceKey: deviceKey, machine: machine, state: machineState,
            machineKey: machineKey)

        var slots: [KeySlot] = []
        if let machineKey {
            let old = keybag.slots.first(where: \.kind.isOfMachine)
            slots.append(
                try base.newMachineSlot(machineKey, number: old?.number, at: old?.madeAt ?? now))
        }
        if let new, let tierKey {
            slots.append(
                try base.wrapper.slot(
                    new, cost: new.kind == .passcode ? cost : nil, opening: [(.tier, tierKey)],
                    number: try nextNumber(), at: now)
            )
        }
        let shown = [proof, credential.map { .credential($0) }].compactMap(\.self)
        for old in keybag.slots where !slots.contains(where: { $0.number == old.number }) {
            guard let way = shown.first(where: { $0.kind == old.kind }) else { continue }
            // A passcode has opened its slot already, and that takes long.
            if old.kind != .passcode, try wrapper.open(old, with: way) == nil { continue }
            let opening = old.opens.elements.compactMap { part in
                (part == .tier ? tierKey : machineKey).map { (part, $0) }
            }
            slots.append(
                try base.wrapper.slot(
                    way, cost: way.kind == .passcode ? cost : nil, opening: opening,
                    number: old.number, at: old.madeAt))
        }
        let rotated = try base.replacing(
            keys, slots: slots, Protectors(tierKey: tierKey, machineKey: machineKey))
        return Rotated(
            hierarchy: rotated, before: try Self.unlocked(self, old.tierKey),
            unlocked: try Self.unlocked(rotated, tierKey),
            ended: slotSummaries.filter { summary in
                !slots.contains { $0.number == summary.number }
            })
    }

    private static func unlocked(
        _ hierarchy: KeyHierarchy, _ tierKey: SecretBytes?
    ) throws(KeychainFailure) -> UnlockedTier? {
        guard let tierKey else { return nil }
        return try hierarchy.unlock(tierKey, machineKey: nil)
    }

    /// New keys of all names, and the earlier class keys.
    private func rotatedKeys(
        _ old: [KeyName: SecretBytes], retiring classes: Set<ProtectionClass>, hasTier: Bool
    ) throws(KeychainFailure) -> [KeyName: SecretBytes] {
        var keys: [KeyName: SecretBytes] = [:]
        for name in KeyName.fixed(hasTier: hasTier) { keys[name] = .random(byteCount: 32) }
        var last: [ProtectionClass: UInt8] = [:]
        for (name, key) in old {
            guard case .retiredClassKey(let protection, let number) = name else { continue }
            keys[name] = key
            last[protection] = max(last[protection] ?? 0, number)
        }
        for (name, key) in old {
            guard case .classKey(let protection) = name, classes.contains(protection) else {
                continue
            }
            let number = last[protection] ?? 0
            guard number < .max, keys.count < Self.maximumKeyCount else {
                throw .param(
                    "The keys were changed so often that the keybag has no room for the earlier ones, "
                        + "which open Secure Enclave keys that programs keep. Nothing was changed.")
            }
            keys[.retiredClassKey(protection, number: number + 1)] = key
        }
        return keys
    }

    /// Leaves room for all slots.
    private static let maximumKeyCount = 220
}
