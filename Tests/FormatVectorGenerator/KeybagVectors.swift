// KeybagVectors: Documentation/Formats/keybag-v1.md.

import FormatVectors
import KeychainCrypto
import KeychainCore

struct KeybagVectors {
    private static let head = 40
    private static let slotByteCount = 80
    private static let keyByteCount = 64
    private static let tagByteCount = 32

    private let deviceKey = SecretBytes(copying: Example.counting(from: 0))
    private let passcode = SecretBytes(copying: Array("correct horse".utf8))
    /// Far below the cost that a keychain uses, because these vectors test only the format.
    private let cost = PasscodeCost(logN: 10, blockSize: 8, parallelism: 1)

    private let bare: KeyHierarchyVersion1
    private let guarded: KeyHierarchyVersion1

    init() throws {
        bare = .create(deviceKey: deviceKey)
        guarded = try bare.settingPasscode(passcode, cost: cost)
    }

    var file: VectorFile<KeybagVector> {
        get throws {
            VectorFile(
                algorithm: "swift-keychain keybag",
                notes: [
                    "Authentication": "The tag over the keybag, made with the device key.",
                    "Cost": "The cost of the passcode derivation and its limits.",
                    "Keys": "Whether the entries open. In invalid tests they don't, although the "
                        + "tag is right: it was made anew after the change.",
                    "Passcode": "Slots and passcodes.",
                    "Structure": "Fields with values that no version 1 keybag has. Where the size "
                        + "allows it, the tag was made anew after the change.",
                ],
                tests: try valid() + authentication() + passcodes() + structure() + keys())
        }
    }

    // MARK: Creating variants

    /// The bytes with a valid tag.
    private func tagged(_ body: some Sequence<UInt8>) -> Hex {
        let body = Array(body)
        return Hex(body + bare.authenticator.tag(of: body))
    }

    private func body(_ hierarchy: KeyHierarchyVersion1) -> [UInt8] {
        Array(hierarchy.encoded.dropLast(Self.tagByteCount))
    }

    private func setting(_ offset: Int, _ value: UInt8, in hierarchy: KeyHierarchyVersion1) -> Hex {
        var body = body(hierarchy)
        body[offset] = value
        return tagged(body)
    }

    private func flipping(_ offset: Int, in hierarchy: KeyHierarchyVersion1) -> Hex {
        setting(offset, hierarchy.encoded[offset] ^ 1, in: hierarchy)
    }

    /// The keybag with changed entries, and with the counts, the size and the tag that match them.
    private func keybag(
        _ hierarchy: KeyHierarchyVersion1, _ change: (inout KeybagVersion1) -> Void
    ) -> Hex {
        var keybag = hierarchy.keybag
        change(&keybag)
        return Hex(keybag.encoded(with: hierarchy.authenticator))
    }

    private func invalid(
        _ comment: String, _ flag: String, _ keybag: Hex, _ failure: KeybagVector.Failure,
        passcode: SecretBytes? = nil
    ) -> KeybagVector {
        KeybagVector(
            comment, [flag], deviceKey: Hex(deviceKey), keybag: keybag,
            passcode: passcode.map { Hex($0) }, failure: failure)
    }

    // MARK: Tests

    private func valid() throws -> [KeybagVector] {
        func test(
            _ comment: String, _ flag: String, _ hierarchy: KeyHierarchyVersion1,
            _ passcode: SecretBytes? = nil
        ) throws -> KeybagVector {
            KeybagVector(
                comment, [flag], deviceKey: Hex(deviceKey), keybag: Hex(hierarchy.encoded),
                passcode: passcode.map { Hex($0) },
                opened: try KeychainVector(hierarchy, deviceKey: deviceKey, passcode: passcode))
        }
        let other = SecretBytes(copying: [0, 10, 255, 0])
        let changed = try guarded.changingPasscode(
            from: passcode, to: other, cost: PasscodeCost(logN: 1, blockSize: 1, parallelism: 16))
        return [
            try test("no passcode", "Keys", bare),
            try test("a passcode, opened with it", "Passcode", guarded, passcode),
            try test("a passcode, opened without it", "Passcode", guarded),
            try test(
                "a zero byte after the passcode: the same to scrypt", "Passcode", guarded,
                SecretBytes(copying: Array("correct horse\0".utf8))),
            try test(
                "another passcode, of bytes that are no text; the least N and r, the greatest p",
                "Cost", changed, other),
            try test(
                "the passcode removed", "Passcode", try guarded.removingPasscode(passcode)),
            try test(
                "another passcode set after one was removed", "Passcode",
                try guarded.removingPasscode(passcode).settingPasscode(other, cost: cost), other),
        ]
    }

    private func authentication() -> [KeybagVector] {
        let size = bare.encoded.count
        func changed(_ offset: Int) -> Hex {
            var bytes = bare.encoded
            bytes[offset] ^= 1
            return Hex(bytes)
        }
        return [
            KeybagVector(
                "another device key", ["Authentication"],
                deviceKey: Hex(Example.counting(from: 1)), keybag: Hex(bare.encoded),
                failure: .inauthentic),
            invalid(
                "the first bit of the tag changed", "Authentication", changed(size - 32),
                .inauthentic),
            invalid(
                "the last bit of the tag changed", "Authentication", changed(size - 1),
                .inauthentic),
            invalid(
                "the keychain's identifier changed", "Authentication", changed(16), .inauthentic),
            invalid("the generation changed", "Authentication", changed(39), .inauthentic),
            invalid("a wrapped key changed", "Authentication", changed(80), .inauthentic),
        ]
    }

    private func passcodes() -> [KeybagVector] {
        let keybag = Hex(guarded.encoded)
        func wrong(_ comment: String, _ passcode: [UInt8]) -> KeybagVector {
            invalid(
                comment, "Passcode", keybag, .wrongPasscode,
                passcode: SecretBytes(copying: passcode))
        }
        func altered(_ comment: String, _ offset: Int) -> KeybagVector {
            invalid(
                comment, "Passcode", flipping(offset, in: guarded), .wrongPasscode,
                passcode: passcode)
        }
        return [
            wrong("a wrong passcode", Array("incorrect horse".utf8)),
            wrong("the passcode with a newline", Array("correct horse\n".utf8)),
            wrong("the passcode in capitals", Array("CORRECT HORSE".utf8)),
            wrong("a zero byte before the passcode", Array("\0correct horse".utf8)),
            wrong("an empty passcode", []),
            altered("the salt changed, the tag made anew", Self.head + 4),
            altered("the sealed key changed, the tag made anew", Self.head + 40),
            invalid(
                "another cost, the tag made anew", "Cost", setting(Self.head + 1, 9, in: guarded),
                .wrongPasscode, passcode: passcode),
        ]
    }

    private func malformed(_ comment: String, _ keybag: Hex) -> KeybagVector {
        invalid(comment, "Structure", keybag, .malformed)
    }

    /// Keybags of which only the structure is wrong: each has a valid tag at its end, except those
    /// that were cut short or have a byte after the tag. The number of slots is at offset 5; the
    /// number of keys, two bytes in big-endian order, is at offset 6.
    private func structure() -> [KeybagVector] {
        let key = Self.head + 2 * Self.keyByteCount
        func cost(_ comment: String, _ offset: Int, _ value: UInt8) -> KeybagVector {
            invalid(comment, "Cost", setting(Self.head + offset, value, in: guarded), .malformed)
        }
        let long = keybag(bare) { keybag in
            while keybag.keys.count < 63 { keybag.keys.append(keybag.keys[0]) }
        }
        return [
            malformed("no bytes", Hex([])),
            malformed("the head only", Hex(bare.encoded[..<40])),
            malformed("the wrong magic", setting(3, 0x4C, in: bare)),
            invalid("version 2", "Structure", setting(4, 2, in: bare), .newerVersion),
            invalid("version 0", "Structure", setting(4, 0, in: bare), .newerVersion),
            malformed("a slot more than there is", setting(5, 1, in: bare)),
            malformed("a key fewer than there are", setting(7, 13, in: bare)),
            malformed("a key more than there are", setting(7, 15, in: bare)),
            malformed("a key count of 65294", setting(6, 0xFF, in: bare)),
            malformed("a size that is one too large", flipping(11, in: bare)),
            malformed("reserved bytes that are not zero", setting(15, 1, in: bare)),
            malformed("a byte after the tag", Hex(bare.encoded + [0])),
            malformed("a byte between keys and tag", tagged(body(bare) + [0])),
            malformed("the last byte missing", Hex(bare.encoded.dropLast())),
            malformed("4104 bytes, above the limit", long),
            malformed("a slot of an unknown kind", setting(Self.head, 2, in: guarded)),
            malformed("a key of role 0", setting(key, 0, in: bare)),
            malformed("a key of role 5", setting(key, 5, in: bare)),
            malformed("a class key of no class", setting(key + 1, 0, in: bare)),
            malformed("a class key of class 5", setting(key + 1, 5, in: bare)),
            malformed("a class key of class 13", setting(key + 1, 13, in: bare)),
            malformed("an index key of class 6", setting(Self.head + 1, 6, in: bare)),
            malformed("a key of protector 0", setting(key + 2, 0, in: bare)),
            malformed("a key of protector 3", setting(key + 2, 3, in: bare)),
            malformed("a key whose reserved byte is not zero", setting(key + 3, 1, in: bare)),
            cost("log2 N of 0", 1, 0),
            cost("log2 N of 25", 1, 25),
            cost("2 GiB of memory: log2 N of 21, r of 8", 1, 21),
            cost("r of 0", 2, 0),
            cost("r of 33", 2, 33),
            cost("p of 0", 3, 0),
            cost("p of 17", 3, 17),
        ]
    }

    private func keys() -> [KeybagVector] {
        let first = Self.head
        func lacking(_ role: WrappedKeyVersion1.Role, _ protection: ProtectionClass?) -> Hex {
            keybag(bare) { $0.keys.removeAll { $0.role == role && $0.protection == protection } }
        }
        func missing(_ comment: String, _ keybag: Hex) -> KeybagVector {
            invalid(comment, "Keys", keybag, .missingKey)
        }
        return [
            missing("a nonce changed", flipping(first + 4, in: bare)),
            missing("a ciphertext changed", flipping(first + 20, in: bare)),
            missing("a key's tag changed", flipping(first + 63, in: bare)),
            malformed("the index key missing", lacking(.indexKey, nil)),
            malformed("the integrity key missing", lacking(.integrityKey, nil)),
            malformed("a metadata key missing", lacking(.metadataKey, .whenUnlocked)),
            missing(
                "index and integrity key exchanged",
                keybag(bare) { keybag in
                    let wrapped = keybag.keys[0].wrapped
                    keybag.keys[0].wrapped = keybag.keys[1].wrapped
                    keybag.keys[1].wrapped = wrapped
                }),
            missing(
                "the class keys of two classes exchanged",
                keybag(bare) { keybag in
                    let wrapped = keybag.keys[2].wrapped
                    keybag.keys[2].wrapped = keybag.keys[4].wrapped
                    keybag.keys[4].wrapped = wrapped
                }),
            missing(
                "the keys of another keychain of the same device",
                keybag(bare) { keybag in
                    keybag.keys = KeyHierarchyVersion1.create(deviceKey: deviceKey).keybag.keys
                }),
            // The changed protectors say that the device key alone opens each key. In fact the keys
            // of the guarded tier are wrapped under a key that is derived from the device key and
            // the tier key.
            malformed(
                "keys of the passcode's tier named as the device's",
                keybag(guarded) { keybag in
                    for index in keybag.keys.indices { keybag.keys[index].protector = .device }
                }),
            malformed(
                "a metadata key missing in the passcode's tier",
                keybag(guarded) { keybag in
                    keybag.keys.removeAll {
                        $0.role == .metadataKey && $0.protection == .whenPasscodeSetThisDeviceOnly
                    }
                }),
            malformed(
                "two keys in each other's place",
                keybag(bare) { $0.keys.swapAt(0, 1) }),
        ]
    }

    // MARK: Example

    /// The keybag of test 2, and every step from its passcode to a class key of the guarded tier.
    func exampleLines() throws -> [String] {
        let keybag = guarded.keybag
        let slot = keybag.slots[0]
        func derived(_ purpose: KeyDerivation.Purpose, _ key: SecretBytes) -> SecretBytes {
            KeyDerivation.derive(purpose, from: key, salt: keybag.keychainID)
        }
        let device = derived(.deviceWrapping, deviceKey)
        let stretched = try slot.cost.deriveKey(from: passcode, salt: slot.salt)
        let slotKey = derived(.slotWrapping, deviceKey.appending(stretched))
        let slotData =
            KeybagVersion1.magic + [KeybagVersion1.version] + keybag.keychainID + [0, 1, 0]
        let tierKey = try AuthenticatedEncryption.unwrap(
            slot.wrapped, using: slotKey, authenticating: slotData)
        let tier = derived(.passcodeWrapping, deviceKey.appending(tierKey))
        let indexData =
            KeybagVersion1.magic + [KeybagVersion1.version] + keybag.keychainID + [3, 0, 1]
        let indexKey = try AuthenticatedEncryption.unwrap(
            keybag.keys[0].wrapped, using: device, authenticating: indexData)
        guard
            let entry = keybag.keys.first(where: {
                $0.role == .classKey && $0.protection == .whenUnlocked
            })
        else { throw VectorFileError(reason: "no class key in the keybag") }
        let classData =
            KeybagVersion1.magic + [KeybagVersion1.version] + keybag.keychainID + [1, 6, 2]
        let classKey = try AuthenticatedEncryption.unwrap(
            entry.wrapped, using: tier, authenticating: classData)
        return [
            Example.dump("device key", deviceKey.plainBytes),
            Example.dump("passcode, \"correct horse\"", passcode.plainBytes),
            Example.dump("keybag", guarded.encoded),
            Example.dump("tag key", derived(.keybagAuthentication, deviceKey).plainBytes),
            Example.dump("device wrapping key", device.plainBytes),
            Example.dump("associated data of the index key (entry 1)", indexData),
            Example.dump("index key", indexKey.plainBytes),
            Example.dump("scrypt of the passcode, N = 1024, r = 8, p = 1", stretched.plainBytes),
            Example.dump("slot wrapping key", slotKey.plainBytes),
            Example.dump("associated data of the slot", slotData),
            Example.dump("tier key", tierKey.plainBytes),
            Example.dump("passcode wrapping key", tier.plainBytes),
            Example.dump("associated data of the class key of class 6", classData),
            Example.dump("class key of class 6", classKey.plainBytes),
        ].reduce([]) { $0.isEmpty ? $1 : $0 + [""] + $1 }
    }
}
