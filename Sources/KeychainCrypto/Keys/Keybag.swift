// Keybag: the wrapped keys of a keychain and its key slots, as a value and as bytes.
// Documentation/Formats/keybag-v2.md specifies the layout.
//   (1) `parse` accepts any bytes. It returns a keybag or throws an error, and never traps. If a
//       keybag that it returns is encoded again, the bytes are the same, except for the tag if the
//       parsed tag was wrong.
//   (2) A parsed keybag is not yet trusted: `isAuthentic` checks that it was created with the
//       device key.
//   (3) A slot of an unknown kind is encoded as it was read.

package import FoundationEssentials
package import KeychainCore

package struct Keybag: Hashable, Sendable {
    package static let magic = Array("KCKB".utf8)
    package static let version: UInt8 = 2
    package static let maximumByteCount = 16_384
    package static let maximumCredentialCount = 8

    /// The identifier of the keychain, 16 random bytes. Each salt with which HKDF derives a key for
    /// the keybag starts with this identifier.
    package var keychainID: [UInt8]
    /// Incremented with every change of the keybag.
    package var generation: UInt64
    /// Greater than the number of every slot that has ever existed.
    package var nextSlotNumber: UInt32
    /// In ascending order of their numbers.
    package var slots: [KeySlot]
    package var keys: [WrappedKey]
    /// HMAC-SHA-256 over all bytes before the tag. Empty if this keybag is not the result of
    /// ``parse(_:)``.
    package fileprivate(set) var tag: [UInt8] = []

    /// Whether the guarded tier has a tier key, because a passcode or another way in is set.
    package var hasPasscode: Bool { keys.contains { $0.protector.contains(.tier) } }
    /// Whether there is a passcode that a user can be asked for.
    package var hasPasscodeSlot: Bool { slots.contains { $0.kind == .passcode } }
    /// Whether the keys of the *this device only* classes require the machine.
    package var isBound: Bool { keys.contains { $0.protector.contains(.machine) } }

    package init(
        keychainID: [UInt8], generation: UInt64, nextSlotNumber: UInt32, slots: [KeySlot],
        keys: [WrappedKey]
    ) {
        self.keychainID = keychainID
        self.generation = generation
        self.nextSlotNumber = nextSlotNumber
        self.slots = slots
        self.keys = keys
    }

    // MARK: Bytes

    package func encoded(with authenticator: StoreAuthenticator) -> [UInt8] {
        let body = bodyBytes
        return body + authenticator.tag(of: body)
    }

    package func isAuthentic(_ authenticator: StoreAuthenticator) -> Bool {
        authenticator.isValid(tag, for: bodyBytes)
    }

    private var bodyBytes: [UInt8] {
        var rest = ByteWriter()
        rest.number(nextSlotNumber)
        rest.bytes(keychainID)
        rest.number(generation)
        for slot in slots { rest.bytes(slot.bytes) }
        for key in keys { key.write(to: &rest) }
        var head = ByteWriter()
        head.bytes(Self.magic)
        head.number(Self.version)
        head.number(UInt8(truncatingIfNeeded: slots.count))
        head.number(UInt16(truncatingIfNeeded: keys.count))
        let size = 12 + rest.result.count + StoreAuthenticator.tagByteCount
        head.number(UInt32(truncatingIfNeeded: size))
        return head.result + rest.result
    }

    /// The format version, if the bytes start like a keybag; otherwise `nil`.
    package static func formatVersion(of bytes: [UInt8]) -> UInt8? {
        bytes.count > magic.count && bytes.starts(with: magic) ? bytes[magic.count] : nil
    }

    /// - Throws: `wrongVersion` for a keybag of another format version; `invalidKeychain` for any
    ///   other bytes that are not a keybag.
    package static func parse(_ bytes: [UInt8]) throws(KeychainFailure) -> Keybag {
        var reader = ByteReader(bytes)
        guard bytes.count <= maximumByteCount, reader.bytes(4) == magic,
            let version: UInt8 = reader.number()
        else { throw notAKeybag }
        guard version == Self.version else {
            throw KeychainFailure(
                .wrongVersion,
                "The keybag has format version \(version); this version of swift-keychain reads "
                    + "\(Self.version). Update swift-keychain.")
        }
        guard let slotCount: UInt8 = reader.number(), let keyCount: UInt16 = reader.number(),
            let total: UInt32 = reader.number(), Int(total) == bytes.count,
            let nextSlotNumber: UInt32 = reader.number(),
            let keychainID = reader.bytes(16), let generation: UInt64 = reader.number()
        else { throw notAKeybag }
        var slots: [KeySlot] = []
        for _ in 0..<slotCount {
            guard let slot = KeySlot(reading: &reader) else { throw notAKeybag }
            slots.append(slot)
        }
        var keys: [WrappedKey] = []
        for _ in 0..<keyCount {
            guard let key = WrappedKey(reading: &reader) else { throw notAKeybag }
            keys.append(key)
        }
        guard let tag = reader.bytes(StoreAuthenticator.tagByteCount), reader.isAtEnd else {
            throw notAKeybag
        }
        var keybag = Keybag(
            keychainID: keychainID, generation: generation, nextSlotNumber: nextSlotNumber,
            slots: slots, keys: keys)
        guard keybag.hasOrderedKeys, keybag.hasFittingSlots else { throw notAKeybag }
        keybag.tag = tag
        return keybag
    }

    /// Whether ``keys`` has first the fixed keys and then any number of retired class keys, in the
    /// only valid order, and each key has the right protector.
    private var hasOrderedKeys: Bool {
        let fixed = KeyName.fixed(hasTier: hasPasscode)
        let retired = keys.dropFirst(fixed.count).map(\.name)
        return keys.prefix(fixed.count).map(\.name) == fixed
            && retired.allSatisfy { name in
                guard case .retiredClassKey(let protection, let number) = name else { return false }
                return number > 0 && fixed.contains(.classKey(protection))
            }
            && zip(retired, retired.dropFirst()).allSatisfy {
                $0.bytes.lexicographicallyPrecedes($1.bytes)
            }
            && keys.allSatisfy {
                $0.protector == $0.name.protector(hasTier: hasPasscode, isBound: isBound)
            }
    }

    private var hasFittingSlots: Bool {
        var openable: KeySlot.Opens = []
        if hasPasscode { openable.insert(.tier) }
        if isBound { openable.insert(.machine) }
        func count(_ kinds: KeySlot.Kind...) -> Int {
            slots.count { slot in kinds.contains { $0 == slot.kind } }
        }
        return slots.allSatisfy { !$0.opens.isEmpty && $0.opens.isSubset(of: openable) }
            && zip(slots, slots.dropFirst()).allSatisfy { $0.number < $1.number }
            && (slots.first?.number ?? 1) > 0 && (slots.last?.number ?? 0) < nextSlotNumber
            && count(.passcode) <= 1 && count(.recoveryCode) <= 1
            && count(.credential) <= Self.maximumCredentialCount
            && count(.machineIdentity, .machineChip) <= 1
    }

    private static let notAKeybag = KeychainFailure(
        .invalidKeychain,
        "The keybag is damaged or not a keybag. Restore the keychain's folder from a backup.")
}

// MARK: - Keys

/// The name of a key in a keybag.
package enum KeyName: Hashable, Sendable {
    /// Computes the labels of the blind index.
    case indexKey(Tier)
    /// Authenticates what the store's header states about the tier's rows. The open tier's key also
    /// authenticates the whole header and the file `anchor`.
    case integrityKey(Tier)
    /// Wraps row keys.
    case classKey(ProtectionClass)
    /// Seals the attributes of a protection class's rows.
    case metadataKey(ProtectionClass)
    /// An earlier class key, which opens blobs that applications store.
    case retiredClassKey(ProtectionClass, number: UInt8)

    /// Three bytes: the role of the key, its tier or class, and its number, 0 for a key that has no
    /// number.
    var bytes: [UInt8] {
        switch self {
        case .classKey(let protection): [1, protection.rawValue, 0]
        case .metadataKey(let protection): [2, protection.rawValue, 0]
        case .indexKey(let tier): [3, tier.code, 0]
        case .integrityKey(let tier): [4, tier.code, 0]
        case .retiredClassKey(let protection, let number): [5, protection.rawValue, number]
        }
    }

    fileprivate init?(role: UInt8, subject: UInt8, number: UInt8) {
        let protection = ProtectionClass(rawValue: subject)
        let tier = Tier.allCases.first { $0.code == subject }
        let name: KeyName? =
            switch role {
            case 1: protection.map { .classKey($0) }
            case 2: protection.map { .metadataKey($0) }
            case 3: tier.map { .indexKey($0) }
            case 4: tier.map { .integrityKey($0) }
            case 5: protection.map { .retiredClassKey($0, number: number) }
            default: nil
            }
        // The bytes differ if `number` isn't 0 for a key that has no number.
        guard let name, name.bytes == [role, subject, number] else { return nil }
        self = name
    }

    var tier: Tier {
        switch self {
        case .indexKey(let tier), .integrityKey(let tier): tier
        case .classKey(let protection), .metadataKey(let protection),
            .retiredClassKey(let protection, _):
            protection.tier
        }
    }

    var protection: ProtectionClass? {
        switch self {
        case .classKey(let protection), .metadataKey(let protection),
            .retiredClassKey(let protection, _):
            protection
        case .indexKey, .integrityKey: nil
        }
    }

    func protector(hasTier: Bool, isBound: Bool) -> WrappedKey.Protector {
        var protector: WrappedKey.Protector = .device
        if hasTier, tier == .guarded { protector.insert(.tier) }
        if isBound, protection?.isThisDeviceOnly == true { protector.insert(.machine) }
        return protector
    }

    /// The keys that a keybag always contains, in order. Only a keybag with a tier key contains the
    /// class key and the metadata key of the when-passcode-set class.
    static func fixed(hasTier: Bool) -> [KeyName] {
        Tier.allCases.flatMap { [.indexKey($0), .integrityKey($0)] }
            + ProtectionClass.allCases
            .filter { hasTier || $0 != .whenPasscodeSetThisDeviceOnly }
            .flatMap { [.classKey($0), .metadataKey($0)] }
    }
}

extension Tier {
    /// The number of the tier in files.
    var code: UInt8 { self == .open ? 1 : 2 }
}

/// One key of the keybag, wrapped.
package struct WrappedKey: Hashable, Sendable {
    /// The keys required to unwrap a key.
    package struct Protector: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let device = Protector(rawValue: 1)
        package static let tier = Protector(rawValue: 2)
        package static let machine = Protector(rawValue: 4)
    }

    package var name: KeyName
    package var protector: Protector
    package var wrapped: Data

    package init(name: KeyName, protector: Protector, wrapped: Data) {
        self.name = name
        self.protector = protector
        self.wrapped = wrapped
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.bytes(name.bytes)
        writer.number(protector.rawValue)
        writer.bytes(wrapped)
    }

    fileprivate init?(reading reader: inout ByteReader) {
        guard let role: UInt8 = reader.number(), let subject: UInt8 = reader.number(),
            let number: UInt8 = reader.number(), let protector: UInt8 = reader.number(),
            let wrapped = reader.bytes(AuthenticatedEncryption.wrappedKeyByteCount),
            let name = KeyName(role: role, subject: subject, number: number)
        else { return nil }
        self.init(
            name: name, protector: Protector(rawValue: protector), wrapped: Data(wrapped))
    }
}
