// CircleVector: Documentation/Synchronization.md.

/// The data that a server stores for a circle, the private keys of a reader, and what the reader
/// finds in the data. In an invalid vector, what the reader would find is missing.
package struct CircleVector: FormatVector {
    package var tcId = 0
    package var comment: String
    package var flags: [String]
    package var result: VectorResult
    /// The reader's private keys: a scalar of P-256, and the seed of an X-Wing key.
    package var signingKey: Hex
    package var agreementSeed: Hex
    /// A recovery code of 16 bytes. A reader with a recovery code has neither of the keys.
    package var recoveryCode: Hex?
    package var membership: [Hex]
    /// The entries of each log, in order.
    package var logs: [[Hex]]
    package var heads: [Hex]
    package var circle: Hex?
    /// The identifiers of the members, in ascending order.
    package var members: [Hex]?
    package var epoch: UInt64?
    /// The plaintexts of the current versions that the reader can open, without tombstones, in
    /// ascending order.
    package var versions: [Hex]?

    package init(
        _ comment: String, _ flag: String, _ result: VectorResult, signingKey: Hex,
        agreementSeed: Hex, recoveryCode: Hex? = nil, membership: [Hex], logs: [[Hex]],
        heads: [Hex]
    ) {
        self.comment = comment
        flags = [flag]
        self.result = result
        self.signingKey = signingKey
        self.agreementSeed = agreementSeed
        self.recoveryCode = recoveryCode
        self.membership = membership
        self.logs = logs
        self.heads = heads
    }
}
