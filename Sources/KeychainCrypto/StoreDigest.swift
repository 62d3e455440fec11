// StoreDigest: a keyed hash over a set of rows. Updating it for one changed row costs the same
// however many rows there are.
//   (1) The digest is the sum modulo 2^256 of HMAC-SHA-256 over each row's reference and the tag
//       of its metadata.
//   (2) The order of changes doesn't matter. Removing a row subtracts what adding it contributed.
//   (3) An attacker without the integrity key can't create rows that result in a chosen sum.

package import KeychainCore

/// Computes and checks HMAC-SHA-256 tags under one key, such as those of the keybag and of the
/// database's header, and the contributions of rows to a ``StoreDigest``.
package struct StoreAuthenticator: Sendable {
    package static let tagByteCount = 32
    private let keyed: KeyedHash

    package init(key: SecretBytes) {
        keyed = KeyedHash(key: key)
    }

    /// Returns an authenticator with a key derived from this authenticator's key.
    package func derived(for purpose: String) -> StoreAuthenticator {
        StoreAuthenticator(key: keyed.secretCode(of: Array(purpose.utf8)))
    }

    /// - Returns: 32 bytes.
    package func tag(of bytes: [UInt8]) -> [UInt8] {
        keyed.code(of: bytes).bytes
    }

    package func isValid(_ tag: [UInt8], for bytes: [UInt8]) -> Bool {
        let expected = self.tag(of: bytes)
        guard tag.count == expected.count else { return false }
        var difference: UInt8 = 0
        for index in tag.indices { difference |= tag[index] ^ expected[index] }
        return difference == 0
    }

    /// The contribution of one row to the digest of its store.
    package func contribution(reference: [UInt8], metadataTag: [UInt8]) -> StoreDigest {
        StoreDigest(bytes: tag(of: Array("row".utf8) + reference + metadataTag)) ?? .zero
    }
}

/// The contribution of a row, or a sum of contributions: a number modulo 2^256.
package struct StoreDigest: Hashable, Sendable {
    package static let byteCount = 32
    package static let zero = StoreDigest(words: (0, 0, 0, 0))

    /// The most significant word comes first.
    private var high: UInt64
    private var middleHigh: UInt64
    private var middleLow: UInt64
    private var low: UInt64

    private init(words: (UInt64, UInt64, UInt64, UInt64)) {
        (high, middleHigh, middleLow, low) = words
    }

    /// - Returns: `nil` unless there are exactly ``byteCount`` bytes. They are in big-endian order.
    package init?(bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let high: UInt64 = reader.number(), let middleHigh: UInt64 = reader.number(),
            let middleLow: UInt64 = reader.number(), let low: UInt64 = reader.number(),
            reader.isAtEnd
        else { return nil }
        self.init(words: (high, middleHigh, middleLow, low))
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        for word in [high, middleHigh, middleLow, low] { writer.number(word) }
        return writer.result
    }

    package static func + (a: StoreDigest, b: StoreDigest) -> StoreDigest {
        let (w3, c3) = a.low.addingReportingOverflow(b.low)
        let (w2, c2) = add(a.middleLow, b.middleLow, carry: c3)
        let (w1, c1) = add(a.middleHigh, b.middleHigh, carry: c2)
        let (w0, _) = add(a.high, b.high, carry: c1)
        return StoreDigest(words: (w0, w1, w2, w3))
    }

    package static func - (a: StoreDigest, b: StoreDigest) -> StoreDigest {
        // Two's complement: a + ¬b + 1.
        let inverse = StoreDigest(words: (~b.high, ~b.middleHigh, ~b.middleLow, ~b.low))
        return a + inverse + StoreDigest(words: (0, 0, 0, 1))
    }

    private static func add(_ a: UInt64, _ b: UInt64, carry: Bool) -> (UInt64, Bool) {
        let (sum, first) = a.addingReportingOverflow(b)
        let (total, second) = sum.addingReportingOverflow(carry ? 1 : 0)
        return (total, first || second)
    }
}
