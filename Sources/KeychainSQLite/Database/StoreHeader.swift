// StoreHeader: the one row that vouches for all others.
//   (1) It is changed in the transaction that changes rows, so it is always of the same commit.
//   (2) The digest stands under a mask that each commit makes anew: the difference of two
//       headers would otherwise tell what single rows contribute, and from enough of those an
//       older state with the same sum could be put together.
//   (3) Its tag is made with the integrity key; a header that was altered is not read.

package import KeychainCrypto
import KeychainCore

/// Documentation/Formats/database-v1.md, "Header".
package struct StoreHeader: Hashable, Sendable {
    package static let byteCount = 136
    private static let magic = Array("KCHD".utf8)
    private static let version: UInt8 = 1

    /// The keychain's identifier, 16 bytes; the keybag's too.
    package var keychainID: [UInt8]
    /// Raised by one with every commit.
    package var generation: UInt64
    package var itemCount: UInt64
    /// Damaged rows that were set aside.
    package var setAsideCount: UInt64
    /// The generation of the keybag that belongs to the rows.
    package var keybagGeneration: UInt64
    package var digest: StoreDigest
    /// What the mask over the digest is made from.
    private var maskValue: Bytes16

    /// `generation` is 1 but in a database that takes the place of another.
    package init(keychainID: [UInt8], keybagGeneration: UInt64, generation: UInt64 = 1) {
        self.keychainID = keychainID
        self.keybagGeneration = keybagGeneration
        self.generation = generation
        itemCount = 0
        setAsideCount = 0
        digest = .zero
        maskValue = .random()
    }

    /// Gives the digest another mask. Every commit does.
    mutating func renewMask() {
        maskValue = .random()
    }

    package func encoded(with authenticator: StoreAuthenticator) -> [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.bytes(Self.magic)
        writer.number(Self.version)
        writer.bytes([0, 0, 0])
        writer.bytes(keychainID)
        writer.number(generation)
        writer.number(itemCount)
        writer.number(setAsideCount)
        writer.number(keybagGeneration)
        maskValue.write(to: &writer)
        writer.bytes((digest + Self.mask(maskValue, authenticator)).bytes)
        return writer.result + authenticator.tag(of: writer.result)
    }

    /// - Returns: nil when the bytes are no header or their tag is wrong.
    package init?(_ bytes: [UInt8], authenticator: StoreAuthenticator) {
        var reader = ByteReader(bytes)
        guard bytes.count == Self.byteCount, reader.bytes(4) == Self.magic,
            reader.bytes(4) == [Self.version, 0, 0, 0], let keychainID = reader.bytes(16),
            let generation: UInt64 = reader.number(), let itemCount: UInt64 = reader.number(),
            let setAsideCount: UInt64 = reader.number(),
            let keybagGeneration: UInt64 = reader.number(),
            let maskValue = reader.bytes16(),
            let sum = reader.bytes(StoreDigest.byteCount), let masked = StoreDigest(bytes: sum),
            let tag = reader.bytes(StoreAuthenticator.tagByteCount),
            authenticator.isValid(tag, for: Array(bytes[..<104]))
        else { return nil }
        self.keychainID = keychainID
        self.generation = generation
        self.itemCount = itemCount
        self.setAsideCount = setAsideCount
        self.keybagGeneration = keybagGeneration
        self.maskValue = maskValue
        digest = masked - Self.mask(maskValue, authenticator)
    }

    /// HMAC-SHA-256 of "mask" and the value, as a number.
    private static func mask(_ value: Bytes16, _ authenticator: StoreAuthenticator) -> StoreDigest {
        StoreDigest(bytes: authenticator.tag(of: Array("mask".utf8) + value.bytes)) ?? .zero
    }
}
