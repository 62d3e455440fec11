// PrecomputedDigest: a digest that came from outside, in the form that the crypto library signs;
// and the bytes of a shared secret.

import Crypto
import FoundationEssentials

/// A digest of any size. The library's own digest types can't be made from bytes.
struct PrecomputedDigest: Digest {
    /// Digests have one size a type; this one has the size of its bytes. ECDSA looks at those only.
    static let byteCount = 64

    let bytes: [UInt8]

    func withUnsafeBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        // SAFETY: the buffer is valid within the call, as the protocol has it.
        unsafe try bytes.withUnsafeBytes(body)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
    }

    var description: String { "PrecomputedDigest(\(bytes.count) bytes)" }
}

extension SharedSecret {
    /// A copy, in ordinary memory.
    var bytes: [UInt8] {
        // SAFETY: the buffer is used within the call only.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}
