// StoreHeader: the one row that authenticates all others.
//   (1) It is changed in the transaction that changes rows, so it always belongs to the same commit
//       as the rows.
//   (2) A digest is stored masked, with a new mask for each of its changes. Otherwise the
//       difference of two headers would reveal the contributions of single rows, and from enough of
//       those an attacker could compose an older state with the same sum.
//   (3) The header's tag is made with the open tier's integrity key; an altered header is not
//       accepted. The part about the guarded tier has an additional tag under that tier's key.
//       Without this key, that part can be copied unchanged, but not modified.

package import KeychainCrypto
package import KeychainCore

/// Documentation/Formats/database-v2.md, "Header".
package struct StoreHeader: Hashable, Sendable {
    package static let byteCount = 232
    private static let magic = Array("KCHD".utf8)
    private static let version: UInt8 = 2
    /// Count, number of writes, mask value and digest of the guarded tier, and their tag.
    private static let guardedRange = 104..<200

    /// The keychain's identifier, 16 bytes. The keybag contains it, too.
    package let keychainID: [UInt8]
    /// Incremented by every commit that changes the header.
    package var generation: UInt64
    /// The number of rows that are set aside.
    package var setAsideCount: UInt64
    /// The generation of the keybag that belongs to the rows.
    package var keybagGeneration: UInt64
    private var open: Part
    private var guarded: GuardedPart

    /// The count and the digest of a tier's rows.
    fileprivate struct Part: Hashable {
        var count: UInt64 = 0
        var digest = StoreDigest.zero
        /// The value that the mask of the digest is derived from.
        var maskValue = Bytes16.random()
    }

    fileprivate enum GuardedPart: Hashable {
        /// The bytes as they were read. The count is unreliable: the part's own tag can't be
        /// checked yet, and the device key is enough to forge the header's tag.
        case sealed([UInt8], count: UInt64)
        /// The part, and the bytes it was read from or encoded to; `bytes` is `nil` if the part is
        /// new or has been changed since.
        case opened(Part, writeCount: UInt64, bytes: [UInt8]?)
    }

    /// `generation` is 1, except in a database that replaces another.
    package init(keychainID: [UInt8], keybagGeneration: UInt64, generation: UInt64 = 1) {
        self.keychainID = keychainID
        self.keybagGeneration = keybagGeneration
        self.generation = generation
        setAsideCount = 0
        open = Part()
        guarded = .opened(Part(), writeCount: 0, bytes: nil)
    }

    // MARK: Tiers

    package var itemCount: UInt64 { count(of: .open) &+ count(of: .guarded) }

    package func count(of tier: Tier) -> UInt64 {
        switch (tier, guarded) {
        case (.open, _): open.count
        case (.guarded, .sealed(_, let count)): count
        case (.guarded, .opened(let part, _, _)): part.count
        }
    }

    /// `nil` if the keys of the tier are not available.
    package func digest(of tier: Tier) -> StoreDigest? {
        switch (tier, guarded) {
        case (.open, _): open.digest
        case (.guarded, .sealed): nil
        case (.guarded, .opened(let part, _, _)): part.digest
        }
    }

    var isGuardedOpened: Bool { digest(of: .guarded) != nil }

    /// Whether digests equal those of the header, as far as the keys are available.
    package func vouches(for digests: TierDigests) -> Bool {
        Tier.allCases.allSatisfy { (digest(of: $0) ?? digests[$0]) == digests[$0] }
    }

    /// - Throws: `interactionNotAllowed` if the keys of the tier are not available.
    mutating func change(
        _ tier: Tier, _ body: (inout UInt64, inout StoreDigest) -> Void
    ) throws(KeychainFailure) {
        switch (tier, guarded) {
        case (.open, _):
            body(&open.count, &open.digest)
        case (.guarded, .sealed):
            throw .lockedBeforeFirstUnlock
        case (.guarded, .opened(var part, let writeCount, let bytes)):
            body(&part.count, &part.digest)
            guarded = .opened(part, writeCount: writeCount &+ (bytes == nil ? 0 : 1), bytes: nil)
        }
    }

    /// Gives the open tier's digest a new mask. This is done for every commit that changes the
    /// header.
    mutating func renewMask() {
        open.maskValue = .random()
    }

    // MARK: Bytes

    /// Encodes the header for writing. Afterwards it equals the header decoded from those bytes.
    mutating func seal(with tiers: StoreTiers) -> [UInt8] {
        if case .opened(var part, let writeCount, nil) = guarded {
            part.maskValue = .random()
            let bytes = encoded(part, writeCount, tiers)
            guarded = .opened(part, writeCount: writeCount, bytes: bytes)
        }
        return encoded(with: tiers)
    }

    package func encoded(with tiers: StoreTiers) -> [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.bytes(Self.magic)
        writer.number(Self.version)
        writer.bytes([0, 0, 0])
        writer.bytes(keychainID)
        writer.number(generation)
        writer.number(setAsideCount)
        writer.number(keybagGeneration)
        open.writeCount(to: &writer)
        open.writeDigest(to: &writer, tiers.open.authenticator)
        switch guarded {
        case .sealed(let bytes, _), .opened(_, _, let bytes?):
            writer.bytes(bytes)
        case .opened(let part, let writeCount, nil):
            writer.bytes(encoded(part, writeCount, tiers))
        }
        return writer.result + tiers.open.authenticator.tag(of: writer.result)
    }

    private func encoded(_ part: Part, _ writeCount: UInt64, _ tiers: StoreTiers) -> [UInt8] {
        guard let authenticator = tiers.guarded?.authenticator else {
            // A part can be opened, and therefore changed, only with these keys.
            preconditionFailure("the guarded tier was changed without its keys")
        }
        var writer = ByteWriter(capacity: Self.guardedRange.count)
        part.writeCount(to: &writer)
        writer.number(writeCount)
        part.writeDigest(to: &writer, authenticator)
        return writer.result
            + authenticator.tag(of: Self.guardedBinding(keychainID) + writer.result)
    }

    fileprivate static func guardedBinding(_ keychainID: [UInt8]) -> [UInt8] {
        Array("guarded".utf8) + keychainID
    }

    /// - Returns: `nil` if the bytes are not a header, or a tag whose key is available is wrong.
    package init?(_ bytes: [UInt8], _ tiers: StoreTiers) {
        if tiers.isVersion1 {
            self.init(version1: bytes, tiers.open.authenticator)
        } else {
            self.init(version2: bytes, tiers)
        }
    }

    private init?(version2 bytes: [UInt8], _ tiers: StoreTiers) {
        var reader = ByteReader(bytes)
        guard bytes.count == Self.byteCount, reader.bytes(4) == Self.magic,
            reader.bytes(4) == [Self.version, 0, 0, 0], let keychainID = reader.bytes(16),
            let generation: UInt64 = reader.number(),
            let setAsideCount: UInt64 = reader.number(),
            let keybagGeneration: UInt64 = reader.number(),
            let count: UInt64 = reader.number(),
            let open = Part(&reader, count: count, tiers.open.authenticator),
            let sealed = reader.bytes(Self.guardedRange.count),
            let tag = reader.bytes(StoreAuthenticator.tagByteCount),
            tiers.open.authenticator.isValid(tag, for: Array(bytes.dropLast(tag.count))),
            let guarded = GuardedPart(sealed, keychainID, tiers.guarded?.authenticator)
        else { return nil }
        self.keychainID = keychainID
        self.generation = generation
        self.setAsideCount = setAsideCount
        self.keybagGeneration = keybagGeneration
        self.open = open
        self.guarded = guarded
    }

    /// Opens the part of the guarded tier, whose keys became available after the header was read.
    /// - Returns: `false` if its tag is wrong. `true` also if the part is open already or there are
    ///   still no keys for it.
    mutating func openGuarded(_ tiers: StoreTiers) -> Bool {
        guard case .sealed(let bytes, _) = guarded, let keys = tiers.guarded else { return true }
        guard let opened = GuardedPart(bytes, keychainID, keys.authenticator) else { return false }
        guarded = opened
        return true
    }
}

extension StoreHeader.Part {
    fileprivate func writeCount(to writer: inout ByteWriter) { writer.number(count) }

    fileprivate func writeDigest(to writer: inout ByteWriter, _ authenticator: StoreAuthenticator) {
        maskValue.write(to: &writer)
        writer.bytes((digest + Self.mask(maskValue, authenticator)).bytes)
    }

    fileprivate init?(
        _ reader: inout ByteReader, count: UInt64, _ authenticator: StoreAuthenticator
    ) {
        guard let maskValue = reader.bytes16(),
            let sum = reader.bytes(StoreDigest.byteCount), let masked = StoreDigest(bytes: sum)
        else { return nil }
        self.count = count
        self.maskValue = maskValue
        digest = masked - Self.mask(maskValue, authenticator)
    }

    /// HMAC-SHA-256 of "mask" and the value, as a number.
    private static func mask(_ value: Bytes16, _ authenticator: StoreAuthenticator) -> StoreDigest {
        StoreDigest(bytes: authenticator.tag(of: Array("mask".utf8) + value.bytes)) ?? .zero
    }
}

extension StoreHeader.GuardedPart {
    /// Without an authenticator, the part stays sealed.
    fileprivate init?(
        _ bytes: [UInt8], _ keychainID: [UInt8], _ authenticator: StoreAuthenticator?
    ) {
        var reader = ByteReader(bytes)
        guard let count: UInt64 = reader.number(), let writeCount: UInt64 = reader.number() else {
            return nil
        }
        guard let authenticator else {
            self = .sealed(bytes, count: count)
            return
        }
        let tag = Array(bytes.suffix(StoreAuthenticator.tagByteCount))
        guard
            authenticator.isValid(
                tag,
                for: StoreHeader.guardedBinding(keychainID) + bytes.dropLast(tag.count)),
            let part = StoreHeader.Part(&reader, count: count, authenticator)
        else { return nil }
        self = .opened(part, writeCount: writeCount, bytes: bytes)
    }
}

// MARK: - Version 1

extension StoreHeader {
    /// A header of version 1, whose single digest covers all rows.
    /// Documentation/Formats/database-v1.md, "Header".
    private init?(version1 bytes: [UInt8], _ authenticator: StoreAuthenticator) {
        var reader = ByteReader(bytes)
        guard bytes.count == Self.version1ByteCount, reader.bytes(4) == Self.magic,
            reader.bytes(4) == [1, 0, 0, 0], let keychainID = reader.bytes(16),
            let generation: UInt64 = reader.number(), let itemCount: UInt64 = reader.number(),
            let setAsideCount: UInt64 = reader.number(),
            let keybagGeneration: UInt64 = reader.number(),
            let open = Part(&reader, count: itemCount, authenticator),
            let tag = reader.bytes(StoreAuthenticator.tagByteCount),
            authenticator.isValid(tag, for: Array(bytes.dropLast(tag.count)))
        else { return nil }
        self.init(
            keychainID: keychainID, keybagGeneration: keybagGeneration, generation: generation)
        self.setAsideCount = setAsideCount
        self.open = open
    }

    package static let version1ByteCount = 136
}
