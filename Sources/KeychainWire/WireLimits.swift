// WireLimits: what both ends of a connection hold each other to.

package enum WireLimits {
    /// The version of the protocol. Ends of different versions don't speak to each other.
    package static let version: UInt32 = 1
    /// The most bytes of one message: a request with the largest secret and its attributes.
    package static let messageByteCount = 64 << 20
    /// About how many bytes of items go into one message of a long answer.
    package static let partByteCount = 1 << 20
    /// The most fields of a request, with those of the messages in it. Every attribute and every
    /// access group has a few.
    package static let fieldCount = 50_000
    /// How many messages may stand in one another. Entitlements are the deepest: lists in lists.
    package static let messageDepth = 200
}
