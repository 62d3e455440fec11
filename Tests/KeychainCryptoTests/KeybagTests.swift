// KeybagTests: version 2 of the keybag as bytes, what each way in opens, and the binding to a
// machine.

import FoundationEssentials
import KeychainCore
import Testing

@testable import KeychainCrypto

/// A chip that unseals only what it sealed itself.
private final class Chip: KeyHardware {
    let name = "a chip of a test"
    private let key = SecretBytes.random(byteCount: 32)
    let fails: Bool

    init(fails: Bool = false) { self.fails = fails }

    func makeKey(authorization: SecretBytes) throws(KeychainFailure) -> HardwareKey {
        throw .param("no keys here")
    }
    func sign(
        digest: Data, with wrapped: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> Data { throw .param("no keys here") }
    func sharedSecret(
        of wrapped: Data, with publicKey: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> SecretBytes { throw .param("no keys here") }

    func seal(_ secret: SecretBytes) throws(KeychainFailure) -> Data {
        guard !fails else { throw KeychainFailure(.notAvailable, "it is broken") }
        return AuthenticatedEncryption.wrap(secret, using: key, authenticating: [])
    }
    func unseal(_ sealed: Data) throws(KeychainFailure) -> SecretBytes {
        do {
            return try AuthenticatedEncryption.unwrap(sealed, using: key, authenticating: [])
        } catch {
            throw KeychainFailure(.decode, "another chip sealed the secret")
        }
    }
}

private func secret(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8)) }

private let deviceKey = SecretBytes(copying: Array(0..<32))
private let passcode = secret("correct horse")
private let credential = secret("0123456789abcdef")
private let code = secret("sixteen bytes ..")
private let here = Machine(identity: secret("this machine ..."))
private let there = Machine(identity: secret("another machine."))
private let cost = PasscodeCost(logN: 1, blockSize: 1, parallelism: 1)
private let onDevice = ProtectionClass.allCases.filter(\.isThisDeviceOnly)

/// A keybag without a passcode. It is bound to the machine if the machine has an identity.
private func bare(_ machine: Machine = .unidentified) -> KeyHierarchy {
    .create(deviceKey: deviceKey, machine: machine, at: 1)
}

/// A keybag with a passcode, a credential and a recovery code.
private func full(_ machine: Machine = .unidentified) throws -> KeyHierarchy {
    try bare(machine).settingPasscode(passcode, cost: cost, at: 2)
        .adding(.credential(credential), provedBy: .passcode(passcode), at: 3)
        .adding(.recoveryCode(code), provedBy: .passcode(passcode), at: 4)
}

private func reopened(_ hierarchy: KeyHierarchy, on machine: Machine) throws -> KeyHierarchy {
    try KeyHierarchy(Keybag.parse(hierarchy.encoded), deviceKey: deviceKey, machine: machine)
}

/// The keys of the given tiers, by name.
private func keys(_ tiers: TierKeys?...) -> [String: [UInt8]] {
    var keys: [String: [UInt8]] = [:]
    for (index, tier) in tiers.enumerated() {
        guard let tier else { continue }
        keys["index \(index)"] = tier.indexKey.plainBytes
        keys["integrity \(index)"] = tier.integrityKey.plainBytes
        for (protection, pair) in tier.classes {
            keys["class \(protection)"] = pair.classKey.plainBytes
            keys["metadata \(protection)"] = pair.metadataKey.plainBytes
        }
    }
    return keys
}

/// The bytes after a change, with a valid tag.
func retagged(_ bytes: [UInt8], _ change: (inout [UInt8]) -> Void) -> [UInt8] {
    var body = Array(bytes.dropLast(32))
    change(&body)
    let key = KeyDerivation.derive(.keybag, from: deviceKey, salt: Array(bytes[16..<32]))
    return body + StoreAuthenticator(key: key).tag(of: body)
}

@Suite struct `A keybag of version 2` {
    @Test func `an encoded keybag is parsed unchanged and opens to the same keys`() throws {
        var count = 0
        for hierarchy in [bare(), bare(here), try full(), try full(here)] {
            let again = try reopened(hierarchy, on: here)
            #expect(again.encoded == hierarchy.encoded)
            #expect(again.keybag.slots == hierarchy.keybag.slots)
            #expect(again.keybag.hasPasscode == hierarchy.keybag.hasPasscode)
            #expect(keys(try again.openTier()) == keys(try hierarchy.openTier()))
            count += 1
        }
        #expect(count == 4)
        #expect(bare(here).machineState == .thisMachine)
        #expect(bare().machineState == .notBound)
        #expect(Keybag.formatVersion(of: bare().encoded) == 2)
        let old = KeyHierarchyVersion1.create(deviceKey: deviceKey)
        #expect(Keybag.formatVersion(of: old.encoded) == 1)
        #expect(throws: KeychainFailure.self) { try Keybag.parse(old.encoded) }
    }

    @Test func `a changed, truncated or extended keybag is refused`() throws {
        let bytes = try full(here).encoded
        for index in bytes.indices {
            var altered = bytes
            altered[index] ^= 0x40
            #expect(
                (try? KeyHierarchy(Keybag.parse(altered), deviceKey: deviceKey)) == nil,
                "byte \(index)")
            #expect((try? Keybag.parse(Array(bytes[..<index]))) == nil, "cut at \(index)")
        }
        #expect((try? Keybag.parse(bytes + [0])) == nil)
        #expect(
            throws: KeychainFailure.self,
            performing: {
                try KeyHierarchy(
                    Keybag.parse(bytes), deviceKey: SecretBytes(copying: Array(1..<33)))
            })
    }

    @Test func `a keybag with an invalid structure is refused even if its tag is valid`() throws {
        let bytes = try full(here).encoded
        // The machine's slot comes first, at offset 40, with 92 bytes. The passcode's slot follows.
        let passcodeSlot = 40 + 92
        let cases: [(String, (inout [UInt8]) -> Void)] = [
            ("version 3", { $0[4] = 3 }),
            ("one slot too few", { $0[5] -= 1 }),
            ("one key too few", { $0[7] -= 1 }),
            ("another size", { $0[11] ^= 1 }),
            ("a next slot number that is already used", { $0[15] = 4 }),
            (
                "a slot of 1 byte",
                {
                    $0[40] = 0; $0[41] = 1
                }
            ),
            ("a slot that ends beyond the end of the file", { $0[40] = 0xFF }),
            ("a slot that opens nothing", { $0[43] = 0 }),
            ("a machine's slot that opens the tier", { $0[43] = 1 }),
            ("a slot that opens an unknown key", { $0[43] = 6 }),
            ("a slot of number 0", { $0[47] = 0 }),
            ("two slots of one number", { $0[47] = 2 }),
            (
                "a date that isn't a number",
                {
                    $0[48] = 0x7F; $0[49] = 0xF8
                }
            ),
            ("a second slot of the machine", { $0[passcodeSlot + 2] = 4 }),
            ("a cost beyond the limits", { $0[passcodeSlot + 32] = 25 }),
            ("a reserved byte of a cost", { $0[passcodeSlot + 35] = 1 }),
            ("an unknown role", { $0[$0.count - 64] = 6 }),
            ("a key of an unknown class", { $0[$0.count - 63] = 13 }),
            ("a number where none belongs", { $0[$0.count - 62] = 1 }),
            ("another protector", { $0[$0.count - 61] ^= 4 }),
            ("a protector without the device", { $0[$0.count - 61] ^= 1 }),
            (
                "keys in another order",
                {
                    $0[$0.count - 64] = 1; $0[$0.count - 128] = 2
                }
            ),
        ]
        for (name, change) in cases {
            #expect((try? Keybag.parse(retagged(bytes, change))) == nil, "\(name)")
        }
        #expect((try? Keybag.parse(retagged(bytes) { _ in })) != nil)
        // The next slot number can't be 0 even in a keybag without slots.
        #expect((try? Keybag.parse(retagged(bare().encoded) { $0[15] = 0 })) == nil)
        #expect((try? Keybag.parse(retagged(bare().encoded) { _ in })) != nil)
    }

    @Test func `two wrapped keys that were swapped can't be unwrapped`() throws {
        let bytes = retagged(bare().encoded) { body in
            let (first, second) = (Array(body[44..<104]), Array(body[108..<168]))
            body.replaceSubrange(44..<104, with: second)
            body.replaceSubrange(108..<168, with: first)
        }
        let hierarchy = try KeyHierarchy(Keybag.parse(bytes), deviceKey: deviceKey)
        #expect(throws: KeychainFailure.self) { try hierarchy.openTier() }
    }

    @Test func `a slot of an unknown kind is ignored, and kept until the passcode is removed`()
        throws
    {
        let hierarchy = try full(here)
        let unknown: [UInt8] =
            [0, 21, 77, 3] + [0, 0, 0, 9] + [UInt8](repeating: 0, count: 8) + [1, 2, 3, 4, 5]
        let bytes = retagged(hierarchy.encoded) { body in
            let end = body.count - 64 * hierarchy.keybag.keys.count
            body.insert(contentsOf: unknown, at: end)
            body[5] += 1
            let size = body.count + 32
            body[10] = UInt8(size >> 8)
            body[11] = UInt8(size & 0xFF)
            body[15] = 10
        }
        let later = try KeyHierarchy(Keybag.parse(bytes), deviceKey: deviceKey, machine: here)
        #expect(later.encoded == bytes)
        #expect(later.keybag.slots.last?.kind == .unknown(77))
        let changed = try later.changingPasscode(
            from: .passcode(passcode), to: secret("another one"), cost: cost, at: 5)
        #expect(Array(changed.encoded).firstRange(of: unknown) != nil)
        #expect(throws: Never.self) { try reopened(changed, on: here) }
        // The slot doesn't count as a way in, since this version can't open the slot.
        let alone = try changed.removingSlot(2).removingSlot(3)
        #expect(throws: KeychainFailure.self) { try alone.removingSlot(4) }
        // Removing the passcode removes the slot too.
        let without = try changed.removingPasscode(.recoveryCode(code))
        #expect(Array(without.encoded).firstRange(of: unknown) == nil)
    }

    @Test func `retired class keys are kept with their class when a passcode is set`() throws {
        let hierarchy = bare()
        let retired = SecretBytes.random(byteCount: 32)
        let wrapping = KeyDerivation.derive(
            .wrapping, 1, from: deviceKey, salt: hierarchy.keybag.keychainID)
        var keybag = hierarchy.keybag
        keybag.keys.append(
            WrappedKey(
                name: .retiredClassKey(.whenUnlocked, number: 1), protector: .device,
                wrapped: AuthenticatedEncryption.wrap(
                    retired, using: wrapping,
                    authenticating: Keybag.magic + [2] + keybag.keychainID + [5, 6, 1, 1])))
        let parsed = try Keybag.parse(keybag.encoded(with: hierarchy.authenticator))
        let set = try KeyHierarchy(parsed, deviceKey: deviceKey)
            .settingPasscode(passcode, cost: cost, at: 0)
        let kept = try reopened(set, on: here).unlock(.passcode(passcode)).keys.classes
            .filter { !$0.value.retiredClassKeys.isEmpty }
        #expect(kept[.whenUnlocked]?.retiredClassKeys.first?.isEqual(to: retired) == true)
        #expect(kept.count == 1)
    }
}

@Suite struct `Ways into a keychain` {
    @Test func `every way to unlock opens the same keys, and a wrong secret opens none`() throws {
        let hierarchy = try reopened(full(), on: here)
        #expect(try hierarchy.guardedTierWithoutPasscode() == nil)
        let opened = try hierarchy.unlock(.passcode(passcode)).keys
        #expect(opened.classes.count == 5)
        #expect(keys(try hierarchy.unlock(.credential(credential)).keys) == keys(opened))
        #expect(keys(try hierarchy.unlock(.recoveryCode(code)).keys) == keys(opened))
        let wrong: [WayIn] = [
            .passcode(secret("correct horse\0")), .passcode(secret("")),
            .credential(secret("0123456789abcdeg")), .credential(passcode),
            .recoveryCode(secret("sixteen bytes .;")),
        ]
        for way in wrong {
            #expect(throws: KeychainFailure.self) { try hierarchy.unlock(way) }
        }
    }

    @Test func `passcodes that scrypt treats as equal are distinguished`() throws {
        let long = [UInt8](repeating: 0x61, count: 65)
        let hierarchy = try bare().settingPasscode(
            SecretBytes(copying: long), cost: cost, at: 0)
        // HMAC hashes a key of more than 64 bytes.
        let hashed = SecretBytes(copying: SecretBytes(copying: long).sha256)
        #expect(throws: KeychainFailure.self) { try hierarchy.unlock(.passcode(hashed)) }
        #expect(throws: Never.self) {
            try hierarchy.unlock(.passcode(SecretBytes(copying: long)))
        }
    }

    @Test
    func `setting, changing or removing a passcode changes only the when-passcode-set keys`()
        throws
    {
        let start = bare(here)
        let before = keys(try start.openTier(), try start.guardedTierWithoutPasscode())
        let set = try start.settingPasscode(passcode, cost: cost, at: 0)
        #expect(throws: KeychainFailure.self) {
            try set.settingPasscode(passcode, cost: cost, at: 0)
        }
        let changed = try set.changingPasscode(
            from: .passcode(passcode), to: secret("another one"), cost: cost, at: 0)
        #expect(throws: KeychainFailure.self) { try changed.unlock(.passcode(passcode)) }
        #expect(changed.keybag.slots.map(\.number) == set.keybag.slots.map(\.number))
        let opened = keys(
            try changed.openTier(), try changed.unlock(.passcode(secret("another one"))).keys)
        #expect(opened.count == before.count + 2)
        #expect(opened.filter { before[$0.key] != nil } == before)
        let removed = try reopened(
            changed.removingPasscode(.passcode(secret("another one"))), on: here)
        #expect(keys(try removed.openTier(), try removed.guardedTierWithoutPasscode()) == before)
        #expect(removed.keybag.slots.map(\.kind) == [.machineIdentity])
        #expect(removed.keybag.generation == start.keybag.generation + 3)
    }

    @Test func `a recovery code replaces a forgotten passcode, and a credential needs no passcode`()
        throws
    {
        let forgotten = try full()
        let changed = try forgotten.changingPasscode(
            from: .recoveryCode(code), to: secret("a new one"), cost: cost, at: 0)
        #expect(throws: Never.self) { try changed.unlock(.passcode(secret("a new one"))) }
        let server = try bare().adding(.credential(credential), provedBy: nil, at: 0)
        #expect(server.keybag.hasPasscode)
        #expect(
            try reopened(server, on: here).unlock(.credential(credential)).keys.classes.count == 5)
        #expect(throws: KeychainFailure.self) { try server.unlock(.passcode(passcode)) }
        let both = try server.changingPasscode(
            from: .credential(credential), to: passcode, cost: cost, at: 0)
        #expect(throws: Never.self) { try both.unlock(.passcode(passcode)) }
    }

    @Test func `credentials and recovery codes need a proof and are limited in number`() throws {
        let hierarchy = try full()
        for proof in [nil, WayIn.passcode(secret("wrong"))] {
            #expect(throws: KeychainFailure.self) {
                try hierarchy.adding(.credential(credential), provedBy: proof, at: 0)
            }
            #expect(throws: KeychainFailure.self) {
                try hierarchy.adding(.recoveryCode(code), provedBy: proof, at: 0)
            }
        }
        #expect(throws: KeychainFailure.self) {
            try hierarchy.adding(
                .credential(secret("fifteen bytes..")), provedBy: .passcode(passcode), at: 0)
        }
        var many = hierarchy
        for index in 1..<8 {
            many = try many.adding(
                .credential(secret("credential no. \(index)")), provedBy: .passcode(passcode),
                at: 0)
        }
        #expect(throws: KeychainFailure.self) {
            try many.adding(.credential(credential), provedBy: .passcode(passcode), at: 0)
        }
        #expect(throws: KeychainFailure.self) {
            try bare().adding(.recoveryCode(code), provedBy: nil, at: 0)
        }
        // A new recovery code replaces the old one, in a slot with a new number.
        let second = RecoveryCode.random().bytes
        let replaced = try hierarchy.adding(
            .recoveryCode(second), provedBy: .recoveryCode(code), at: 0)
        #expect(replaced.keybag.slots.map(\.number) == [1, 2, 4])
        #expect(throws: KeychainFailure.self) { try replaced.unlock(.recoveryCode(code)) }
        #expect(throws: Never.self) { try replaced.unlock(.recoveryCode(second)) }
    }

    @Test func `the machine's slot and the last slot that unlocks can't be removed`() throws {
        let hierarchy = try full(here)
        #expect(
            hierarchy.keybag.slots.map(\.kind) == [
                .machineIdentity, .passcode, .credential, .recoveryCode,
            ])
        #expect(throws: KeychainFailure.self) { try hierarchy.removingSlot(1) }
        #expect(throws: KeychainFailure.self) { try hierarchy.removingSlot(5) }
        let one = try hierarchy.removingSlot(2).removingSlot(4)
        #expect(throws: KeychainFailure.self) { try one.unlock(.passcode(passcode)) }
        #expect(throws: KeychainFailure.self) { try one.removingSlot(3) }
        let again = try one.adding(.recoveryCode(code), provedBy: .credential(credential), at: 0)
        #expect(again.keybag.slots.map(\.number) == [1, 3, 5])
        #expect(throws: Never.self) { try again.removingSlot(3).unlock(.recoveryCode(code)) }
    }
}

@Suite struct `A keychain and its machine` {
    @Test func `on another machine only the keys of the this-device-only classes are missing`()
        throws
    {
        let hierarchy = try full(here)
        for (machine, state) in [
            (there, MachineState.otherMachine), (.unidentified, .unreachable), (here, .thisMachine),
        ] {
            let moved = try reopened(hierarchy, on: machine)
            #expect(moved.machineState == state)
            let missing = state == .thisMachine ? [] : onDevice
            let open = try moved.openTier().classes.keys
            let guarded = try moved.unlock(.passcode(passcode)).keys.classes.keys
            #expect(
                Set(open).union(guarded) == Set(ProtectionClass.allCases).subtracting(missing))
        }
    }

    @Test func `an operation that needs the machine's keys fails on another machine, and says why`()
        throws
    {
        let moved = try reopened(bare(here), on: there)
        func cause(_ body: () throws -> KeyHierarchy) -> KeychainFailure.Cause? {
            do { _ = try body() } catch { return (error as? KeychainFailure)?.cause }
            return nil
        }
        #expect(cause { try moved.settingPasscode(passcode, cost: cost, at: 0) } == .otherMachine)
        #expect(cause { try moved.binding(provedBy: nil, at: 0) } == .otherMachine)
        #expect(cause { try moved.unbinding(provedBy: nil) } == .otherMachine)
        #expect(
            cause { try moved.adding(.recoveryCode(code), provedBy: nil, at: 0) }
                == .otherMachine)
        #expect(KeychainFailure.boundElsewhere(.otherMachine).reason.contains("recovery code"))
    }

    @Test func `a recovery code moves a keychain with all its keys to another machine`() throws {
        for hierarchy in [
            try bare(here).adding(.recoveryCode(code), provedBy: nil, at: 0), try full(here),
        ] {
            let moved = try reopened(hierarchy, on: there)
            let bound = try reopened(moved.rebinding(with: code, at: 0), on: there)
            #expect(bound.machineState == .thisMachine)
            #expect(keys(try bound.openTier()) == keys(try hierarchy.openTier()))
            #expect(try reopened(bound, on: here).machineState == .otherMachine)
            #expect(bound.keybag.slots.filter(\.kind.isOfMachine).count == 1)
            #expect(throws: KeychainFailure.self) {
                try moved.rebinding(with: RecoveryCode.random().bytes, at: 0)
            }
        }
        // If the passcode is forgotten too, the code alone opens all classes of the guarded tier.
        let moved = try reopened(full(here), on: there)
        #expect(try moved.unlock(.recoveryCode(code)).keys.classes.count == 5)
    }

    @Test func `binding to a machine and unbinding change no key`() throws {
        let start = try KeyHierarchy(
            Keybag.parse(bare().encoded), deviceKey: deviceKey, machine: here)
        let guarded = try start.settingPasscode(passcode, cost: cost, at: 0)
        #expect(throws: KeychainFailure.self) { try guarded.binding(provedBy: nil, at: 0) }
        let bound = try guarded.binding(provedBy: .passcode(passcode), at: 0)
        let before = keys(try guarded.openTier(), try guarded.unlock(.passcode(passcode)).keys)
        #expect(bound.machineState == .thisMachine)
        #expect(throws: KeychainFailure.self) {
            try bound.binding(provedBy: .passcode(passcode), at: 0)
        }
        #expect(keys(try bound.openTier(), try bound.unlock(.passcode(passcode)).keys) == before)
        let recovered = try bound.adding(
            .recoveryCode(code), provedBy: .passcode(passcode), at: 0)
        let unbound = try reopened(
            recovered.unbinding(provedBy: .passcode(passcode)), on: there)
        #expect(unbound.machineState == .notBound)
        #expect(
            keys(try unbound.openTier(), try unbound.unlock(.recoveryCode(code)).keys) == before)
        // A keychain can't be bound to a machine without an identity.
        #expect(bare(.unidentified).keybag.isBound == false)
        #expect(throws: KeychainFailure.self) { try bare().binding(provedBy: nil, at: 0) }
    }

    @Test func `a recovery code created before the passcode was set doesn't unlock the keychain`()
        throws
    {
        let hierarchy = try bare(here).adding(.recoveryCode(code), provedBy: nil, at: 0)
            .settingPasscode(passcode, cost: cost, at: 0)
        #expect(throws: KeychainFailure.self) { try hierarchy.unlock(.recoveryCode(code)) }
        #expect(hierarchy.keybag.slots.first { $0.kind == .recoveryCode }?.opens == .machine)
    }

    @Test func `a keychain is bound to the machine's chip rather than its identity`() throws {
        let machine = Machine(identity: here.identity, chip: Chip())
        let hierarchy = bare(machine)
        #expect(hierarchy.keybag.slots.map(\.kind) == [.machineChip])
        #expect(try reopened(hierarchy, on: machine).machineState == .thisMachine)
        // The identity alone, or with another chip, doesn't open the machine's keys.
        #expect(try reopened(hierarchy, on: here).machineState == .unreachable)
        #expect(
            try reopened(hierarchy, on: Machine(identity: here.identity, chip: Chip()))
                .machineState == .otherMachine)
        // A failing chip doesn't prevent creating a keychain.
        let broken = bare(Machine(identity: here.identity, chip: Chip(fails: true)))
        #expect(broken.keybag.slots.map(\.kind) == [.machineIdentity])
    }

    @Test func `a converted version 1 keychain keeps its identifier, class keys and passcode`()
        throws
    {
        let old = try KeyHierarchyVersion1.create(deviceKey: deviceKey)
            .settingPasscode(passcode, cost: cost)
        let (new, unlocked) = try KeyHierarchy.converting(
            old, passcode: passcode, deviceKey: deviceKey, machine: here, cost: cost, at: 0)
        let before = try old.openPasscodeKeys(passcode).classes
        let after = try #require(unlocked).keys.classes
        #expect(before.count == 5 && after.count == 5)
        for (protection, pair) in before {
            #expect(after[protection]?.classKey.isEqual(to: pair.classKey) == true)
            #expect(after[protection]?.metadataKey.isEqual(to: pair.metadataKey) == true)
        }
        #expect(new.keybag.keychainID == old.keybag.keychainID)
        #expect(new.keybag.generation == old.keybag.generation + 1)
        #expect(new.machineState == .notBound)
        let indexKey = try old.openDeviceKeys().indexKey
        #expect(!(try new.openTier().indexKey.isEqual(to: indexKey)))
        #expect(
            keys(try reopened(new, on: here).unlock(.passcode(passcode)).keys)
                == keys(unlocked?.keys))
        #expect(throws: KeychainFailure.self) {
            try KeyHierarchy.converting(
                old, passcode: nil, deviceKey: deviceKey, cost: cost, at: 0)
        }
    }
}
