// DigestAlgorithm: the hash functions that key operations are defined over.

import Crypto
package import FoundationEssentials

/// A hash function.
package enum DigestAlgorithm: String, CaseIterable, Hashable, Sendable {
    case sha1 = "SHA1"
    case sha224 = "SHA224"
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"

    package var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// - Returns: ``byteCount`` bytes.
    package func hash(_ message: some DataProtocol) -> [UInt8] {
        switch self {
        case .sha1: Array(Insecure.SHA1.hash(data: message))
        case .sha224: SHA224.hash(message)
        case .sha256: Array(SHA256.hash(data: message))
        case .sha384: Array(SHA384.hash(data: message))
        case .sha512: Array(SHA512.hash(data: message))
        }
    }

    /// What stands before the digest in a DigestInfo (RFC 8017, section 9.2, note 1).
    var digestInfoPrefix: [UInt8] {
        let identifier: [UInt8] =
            switch self {
            case .sha1: [0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A]
            case .sha224: Self.sha2Identifier(4)
            case .sha256: Self.sha2Identifier(1)
            case .sha384: Self.sha2Identifier(2)
            case .sha512: Self.sha2Identifier(3)
            }
        let algorithm = identifier + [0x05, 0x00]
        let digestHeader = [0x04, UInt8(byteCount)]
        return [0x30, UInt8(2 + algorithm.count + 2 + byteCount)]
            + [0x30, UInt8(algorithm.count)] + algorithm + digestHeader
    }

    /// The object identifier 2.16.840.1.101.3.4.2.`last`.
    private static func sha2Identifier(_ last: UInt8) -> [UInt8] {
        [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, last]
    }

    /// The mask generation function MGF1 (RFC 8017, appendix B.2.1).
    func mask(seed: [UInt8], byteCount: Int) -> [UInt8] {
        var mask: [UInt8] = []
        var counter: UInt32 = 0
        while mask.count < byteCount {
            mask += hash(seed + counter.bigEndianBytes)
            counter += 1
        }
        return Array(mask.prefix(byteCount))
    }

    /// The key derivation function of ANSI X9.63 (SEC 1, section 3.6.1). `byteCount` is 1 and up, at
    /// most ``maximumDerivedByteCount``.
    func deriveX963(secret: [UInt8], sharedInfo: Data, byteCount: Int) -> [UInt8] {
        var derived: [UInt8] = []
        derived.reserveCapacity(byteCount + self.byteCount)
        var counter: UInt32 = 1
        while derived.count < byteCount {
            derived += hash(secret + counter.bigEndianBytes + sharedInfo)
            counter += 1
        }
        derived.removeSubrange(byteCount...)
        return derived
    }

    /// A bound far above any key, so that a mistaken size takes no memory to speak of.
    package static let maximumDerivedByteCount = 1 << 20
}

extension UInt32 {
    /// The four bytes, most significant first.
    var bigEndianBytes: [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> UInt32($0)) }
    }
}
