// KeyHierarchy+Rotation: replaces the device key and all other keys.
//   (1) No key of the new keybag is derived from, or wrapped under, a key of the old one. Therefore
//       the old device key, even with a way in, opens nothing in the new keybag.
//   (2) The earlier class keys of some classes are kept as retired keys, to open blobs that
//       applications store and that are sealed under these keys.
//   (3) A way in whose secret is not presented can't be kept, because the secret is needed to
//       create its new slot. It becomes invalid.

import FoundationEssentials
package import KeychainCore

extension KeyHierarchy {
    package struct Rotated {
        package let hierarchy: KeyHierarchy
        /// What the proof opened in the old keybag; `nil` if no way in was set.
        package let before: UnlockedTier?
        /// The guarded tier of the new keybag; `nil` if no way in was set and none is added.
        package let unlocked: UnlockedTier?
        /// The slots that became invalid.
        package let ended: [SlotSummary]
    }

    /// Rotates all keys.
    ///
    /// - Parameters:
    ///   - deviceKey: The new device key.
    ///   - proof: A way in, required if there is one. It must be the passcode if one is set.
    ///   - new: The first way in, if the keychain has none.
    ///   - classes: The classes whose class keys are kept as retired keys.
    ///   - credential: A credential in addition to the proof. If it opens a slot, that slot is kept
    ///     too.
    ///   - cost: The cost for the passcode's slot.
    ///   - now: The time in seconds since 2001-01-01.
    /// - Returns: The new key hierarchy, the unlocked tier before and after the rotation, and the
    ///   slots that became invalid.
    /// - Throws: `authFailed` if the proof is wrong or missing; `param` if it is not the passcode
    ///   although one is set, if `new` is given although there is a way in, or if the keybag has no
    ///   room for the retired keys; `notAvailable` on another machine.
    package func rotating(
        to deviceKey: SecretBytes, provedBy proof: WayIn?, guardingWith new: WayIn? = nil,
        retiring classes: Set<ProtectionClass>, credential: SecretBytes? = nil, cost: PasscodeCost,
        at now: Double
    ) throws(KeychainFailure) -> Rotated {
        if keybag.hasPasscode {
            guard new == nil else { throw guardedAlready }
            if let proof, proof.kind != .passcode,
                keybag.slots.contains(where: { $0.kind == .passcode })
            {
                throw .param(
                    "Rotating the keys requires the passcode, because its slot is created again.")
            }
        }
        // Rotation creates the machine slot of a bound keychain for this machine. The keychain must
        // therefore be bound to this machine already, or to none.
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
            guard let way = try first(of: shown, thatOpens: old) else { continue }
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

    private func first(
        of ways: [WayIn], thatOpens slot: KeySlot
    ) throws(KeychainFailure) -> WayIn? {
        for way in ways where way.kind == slot.kind {
            // A passcode has opened its slot already. Opening it again would take long.
            if way.kind == .passcode { return way }
            if try wrapper.open(slot, with: way) != nil { return way }
        }
        return nil
    }

    private static func unlocked(
        _ hierarchy: KeyHierarchy, _ tierKey: SecretBytes?
    ) throws(KeychainFailure) -> UnlockedTier? {
        guard let tierKey else { return nil }
        return try hierarchy.unlock(tierKey, machineKey: nil)
    }

    /// New keys for all fixed names, the retired keys of `old`, and the class keys of `classes` as
    /// further retired keys.
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
                    "The keys were changed so often that the keybag has no room for the earlier "
                        + "ones, which open Secure Enclave keys that programs keep. Nothing was "
                        + "changed.")
            }
            keys[.retiredClassKey(protection, number: number + 1)] = key
        }
        return keys
    }

    /// A limit that leaves room for all slots.
    private static let maximumKeyCount = 220
}
