// StoreHeader: the one row that vouches for all others.
//   (1) It is changed in the transaction that changes rows, so it is always of the same commit.
//   (2) A digest stands under a mask that each of its changes makes anew: the difference of two
//       headers would otherwise tell what single rows contribute, and from enough of those an
//       older state with the same sum could be put together.
//   (3) Its tag is made with the open tier's integrity key; a header that was altered is not read. What it
//       says of the guarded tier has a tag of that tier's key besides: without the passcode it can be taken
//       over as it stands, and not changed.

package import KeychainCrypto
package import KeychainCore

/// Documentation/Formats/database-v2.md, "Header".
package struct StoreHeader: Hashable, Sendable {
    package static let byteCount = 232
    private static let magic = Array("KCHD".utf8)
    private static let version: UInt8 = 2
    /// Count, number of writes, mask value and digest of the guarded tier, and their tag.
    private static let guardedRange = 104..<200

    /// The keychain's identifier, 16 bytes; the keybag's too.
    package let keychainID: [UInt8]
    /// Raised by one with every commit.
    package var generation: UInt64
    /// Damaged rows that were set aside.
    package var setAsideCount: UInt64
    /// The generation of the keybag that belongs to the rows.
    package var keybagGeneration: UInt64
    private var open: Part
    private var guarded: GuardedPart

    /// What is known of a tier's rows.
    fileprivate struct Part: Hashable {
        var count: UInt64 = 0
        var digest = StoreDigest.zero
        /// What the mask over the digest is made from.
        var maskValue = Bytes16.random()
    }

    fileprivate enum GuardedPart: Hashable {
        /// As it stands. Its count is not to be relied on: only its own tag vouches for it.
        case sealed([UInt8], count: UInt64)
        /// With the bytes it was read from; nil: it has been changed.
        case opened(Part, writeCount: UInt64, bytes: [UInt8]?)
    }

    /// `generation` is 1 but in a database that takes the place of another.
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

    /// nil: the keys of the tier aren't there.
    package func digest(of tier: Tier) -> StoreDigest? {
        switch (tier, guarded) {
        case (.open, _): open.digest
        case (.guarded, .sealed): nil
        case (.guarded, .opened(let part, _, _)): part.digest
        }
    }

    var isGuardedOpened: Bool { digest(of: .guarded) != nil }

    /// Whether digests are those of the header, as far as keys are there.
    package func vouches(for digests: TierDigests) -> Bool {
        Tier.allCases.allSatisfy { (digest(of: $0) ?? digests[$0]) == digests[$0] }
    }

    /// - Throws: `interactionNotAllowed` where the keys of the tier aren't there.
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

    /// Gives the open tier's digest another mask. Every commit does.
    mutating func renewMask() {
        open.maskValue = .random()
    }

    // MARK: Bytes

    /// The bytes to be written. Afterwards it is the header that is read from them.
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
            // A part is opened, and so changed, with these keys alone.
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

    /// - Returns: nil when the bytes are no header or a tag is wrong whose key is there.
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

    /// Opens the part of the guarded tier, whose keys have come since.
    /// - Returns: Whether its tag fits.
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
    /// Without an authenticator it stays sealed.
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
    /// Of version 1, whose one digest is over all rows. Documentation/Formats/database-v1.md, "Header".
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
