// KeybagVersion1: the wrapped keys of version 1, as a value and as bytes.
// Documentation/Formats/keybag-v1.md specifies the layout.
//   (1) `parse` accepts any bytes. It returns a keybag or throws an error, and never traps. Each
//       keybag that it returns encodes to the same bytes, except for the tag if that is wrong.
//   (2) A parsed keybag is not yet trusted: `isAuthentic` checks that it was created with the
//       device key.

package import FoundationEssentials
package import KeychainCore

package struct KeybagVersion1: Hashable, Sendable {
    package static let magic = Array("KCKB".utf8)
    package static let version: UInt8 = 1
    package static let maximumByteCount = 4096
    private static let headByteCount = 40

    /// The identifier of the keychain, 16 random bytes. It is the salt of every derivation with
    /// HKDF.
    package var keychainID: [UInt8]
    /// Incremented with every change of the keybag.
    package var generation: UInt64
    package var slots: [KeySlotVersion1]
    package var keys: [WrappedKeyVersion1]
    /// HMAC-SHA-256 over all bytes before it. Empty if this value was not parsed.
    package fileprivate(set) var tag: [UInt8] = []

    package var hasPasscode: Bool { !slots.isEmpty }

    package init(
        keychainID: [UInt8], generation: UInt64, slots: [KeySlotVersion1],
        keys: [WrappedKeyVersion1]
    ) {
        self.keychainID = keychainID
        self.generation = generation
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
        let total =
            Self.headByteCount + slots.count * KeySlotVersion1.byteCount + keys.count
            * WrappedKeyVersion1.byteCount
            + StoreAuthenticator.tagByteCount
        var writer = ByteWriter()
        writer.bytes(Self.magic)
        writer.number(Self.version)
        writer.number(UInt8(truncatingIfNeeded: slots.count))
        writer.number(UInt16(truncatingIfNeeded: keys.count))
        writer.number(UInt32(truncatingIfNeeded: total))
        writer.number(UInt32(0))
        writer.bytes(keychainID)
        writer.number(generation)
        for slot in slots { slot.write(to: &writer) }
        for key in keys { key.write(to: &writer) }
        return writer.result
    }

    /// - Throws: `wrongVersion` for another version of the format; `invalidKeychain` for any other
    ///   bytes that are not a keybag.
    package static func parse(_ bytes: [UInt8]) throws(KeychainFailure) -> KeybagVersion1 {
        var reader = ByteReader(bytes)
        guard bytes.count <= maximumByteCount, reader.bytes(4) == magic else { throw notAKeybag }
        guard let version: UInt8 = reader.number() else { throw notAKeybag }
        guard version == Self.version else {
            throw KeychainFailure(
                .wrongVersion,
                "The keybag has format version \(version); this version of swift-keychain reads "
                    + "\(Self.version). Update swift-keychain.")
        }
        guard let slotCount: UInt8 = reader.number(), let keyCount: UInt16 = reader.number(),
            let total: UInt32 = reader.number(), Int(total) == bytes.count,
            let zero: UInt32 = reader.number(), zero == 0,
            let keychainID = reader.bytes(16), let generation: UInt64 = reader.number()
        else { throw notAKeybag }
        var slots: [KeySlotVersion1] = []
        for _ in 0..<slotCount {
            guard let slot = KeySlotVersion1(reading: &reader) else { throw notAKeybag }
            slots.append(slot)
        }
        var keys: [WrappedKeyVersion1] = []
        for _ in 0..<keyCount {
            guard let key = WrappedKeyVersion1(reading: &reader) else { throw notAKeybag }
            keys.append(key)
        }
        guard let tag = reader.bytes(StoreAuthenticator.tagByteCount), reader.isAtEnd else {
            throw notAKeybag
        }
        var keybag = KeybagVersion1(
            keychainID: keychainID, generation: generation, slots: slots, keys: keys)
        guard slots.count <= 1, keys.map(\.identity) == keybag.orderOfKeys else {
            throw notAKeybag
        }
        keybag.tag = tag
        return keybag
    }

    /// The keys that a keybag contains, in their only valid order.
    private var orderOfKeys: [WrappedKeyVersion1.Identity] {
        var order = [
            WrappedKeyVersion1.Identity(role: .indexKey, protection: nil, protector: .device),
            WrappedKeyVersion1.Identity(role: .integrityKey, protection: nil, protector: .device),
        ]
        for protection in ProtectionClass.allCases {
            guard hasPasscode || protection != .whenPasscodeSetThisDeviceOnly else { continue }
            let protector: WrappedKeyVersion1.Protector =
                hasPasscode && protection.availability != .always ? .deviceAndPasscode : .device
            for role in [WrappedKeyVersion1.Role.classKey, .metadataKey] {
                order.append(.init(role: role, protection: protection, protector: protector))
            }
        }
        return order
    }

    private static let notAKeybag = KeychainFailure(
        .invalidKeychain,
        "The keybag is damaged or not a keybag. Restore the keychain's folder from a backup.")
}

/// One way to open the keys that require the passcode, comparable to the key slots of LUKS.
package struct KeySlotVersion1: Hashable, Sendable {
    static let byteCount = 20 + AuthenticatedEncryption.wrappedKeyByteCount

    package enum Kind: UInt8, Sendable {
        case passcode = 1
    }

    package var kind: Kind
    package var cost: PasscodeCost
    /// 16 random bytes.
    package var salt: [UInt8]
    /// The passcode-tier key, from which the wrapping keys of the classes that require the passcode
    /// are derived. It is wrapped under a key derived from the passcode and the device key.
    package var wrapped: Data

    package init(kind: Kind, cost: PasscodeCost, salt: [UInt8], wrapped: Data) {
        self.kind = kind
        self.cost = cost
        self.salt = salt
        self.wrapped = wrapped
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.number(kind.rawValue)
        writer.number(cost.logN)
        writer.number(cost.blockSize)
        writer.number(cost.parallelism)
        writer.bytes(salt)
        writer.bytes(Array(wrapped))
    }

    fileprivate init?(reading reader: inout ByteReader) {
        guard let kind = reader.number().flatMap(Kind.init(rawValue:)),
            let logN: UInt8 = reader.number(), let blockSize: UInt8 = reader.number(),
            let parallelism: UInt8 = reader.number(), let salt = reader.bytes(16),
            let wrapped = reader.bytes(AuthenticatedEncryption.wrappedKeyByteCount)
        else { return nil }
        self.init(
            kind: kind,
            cost: PasscodeCost(logN: logN, blockSize: blockSize, parallelism: parallelism),
            salt: salt, wrapped: Data(wrapped))
        guard cost.isAcceptable else { return nil }
    }
}

/// One key of the keybag, wrapped.
package struct WrappedKeyVersion1: Hashable, Sendable {
    static let byteCount = 4 + AuthenticatedEncryption.wrappedKeyByteCount

    package enum Role: UInt8, Sendable {
        /// Wraps row keys.
        case classKey = 1
        /// Seals the attributes of a protection class's rows.
        case metadataKey = 2
        /// Computes the labels of the blind index.
        case indexKey = 3
        /// Authenticates the store's header and rows.
        case integrityKey = 4
    }

    /// The keys required to unwrap a key.
    package enum Protector: UInt8, Sendable {
        case device = 1
        case deviceAndPasscode = 2
    }

    /// Identifies a key within a keybag.
    struct Identity: Hashable {
        let role: Role
        let protection: ProtectionClass?
        let protector: Protector
    }

    var identity: Identity {
        Identity(role: role, protection: protection, protector: protector)
    }

    package var role: Role
    /// `nil` for the keys that serve all classes, encoded as 0.
    package var protection: ProtectionClass?
    package var protector: Protector
    package var wrapped: Data

    package init(
        role: Role, protection: ProtectionClass?, protector: Protector, wrapped: Data
    ) {
        self.role = role
        self.protection = protection
        self.protector = protector
        self.wrapped = wrapped
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.number(role.rawValue)
        writer.number(protection?.rawValue ?? 0)
        writer.number(protector.rawValue)
        writer.number(UInt8(0))
        writer.bytes(Array(wrapped))
    }

    fileprivate init?(reading reader: inout ByteReader) {
        guard let role = reader.number().flatMap(Role.init(rawValue:)),
            let protection: UInt8 = reader.number(),
            let protector = reader.number().flatMap(Protector.init(rawValue:)),
            let zero: UInt8 = reader.number(), zero == 0,
            let wrapped = reader.bytes(AuthenticatedEncryption.wrappedKeyByteCount)
        else { return nil }
        let belongsToClass = role == .classKey || role == .metadataKey
        guard (protection != 0) == belongsToClass else { return nil }
        self.init(
            role: role, protection: nil, protector: protector, wrapped: Data(wrapped))
        if belongsToClass {
            guard let known = ProtectionClass(rawValue: protection) else { return nil }
            self.protection = known
        }
    }
}
