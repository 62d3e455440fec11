// WireLimits: what both ends of a connection hold each other to.

package enum WireLimits {
    /// The versions of the protocol that this end speaks. Version 1 was another protocol.
    package static let versions: ClosedRange<UInt32> = 2...2
    /// The most bytes of one message: a request with the largest secret and its attributes.
    package static let messageByteCount = 64 << 20
    /// The most bytes of an answer in one message. A longer one comes in several.
    package static let partByteCount = 1 << 20
    /// The most elements in the lists of one request: items, attributes, access groups.
    package static let elementCount = 50_000
}
