// DigestAlgorithm: the hash functions of key operations.
//   (1) SHA-224 (FIPS 180-4, section 6.3) is implemented here. Of the hash functions in Apple's
//       SecKey algorithms, it is the only one that the crypto library lacks. It is SHA-256 with
//       other initial values, truncated to 28 bytes. It hashes data to be signed, inputs of key
//       derivation and seeds of RSA paddings. Its branches depend only on lengths.
//   (2) This file also wraps a digest computed by the caller in a type that the crypto library
//       accepts for signing, and reads the bytes of a shared secret.

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

    /// The encoding that precedes the digest in a DigestInfo (RFC 8017, section 9.2, note 1).
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

    /// The key derivation function of ANSI X9.63 (SEC 1, section 3.6.1). `byteCount` must be 1 to
    /// ``maximumDerivedByteCount``.
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

    /// A limit far above the size of any key, so that a mistaken size can't exhaust the memory.
    package static let maximumDerivedByteCount = 1 << 20
}

extension UInt32 {
    /// The four bytes, most significant first.
    var bigEndianBytes: [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> UInt32($0)) }
    }
}

// MARK: - SHA-224

enum SHA224 {
    /// - Returns: 28 bytes.
    static func hash(_ message: some DataProtocol) -> [UInt8] {
        var state: [UInt32] = [
            0xC105_9ED8, 0x367C_D507, 0x3070_DD17, 0xF70E_5939, 0xFFC0_0B31, 0x6858_1511,
            0x64F9_8FA7, 0xBEFA_4FA4,
        ]
        var padded = Array(message)
        let bitCount = UInt64(padded.count) * 8
        padded.append(0x80)
        while padded.count % 64 != 56 { padded.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) {
            padded.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(shift)))
        }
        for start in stride(from: 0, to: padded.count, by: 64) {
            compress(padded[start..<start + 64], into: &state)
        }
        return state.prefix(7).flatMap(\.bigEndianBytes)
    }

    private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var words: [UInt32] = []
        words.reserveCapacity(64)
        for start in stride(from: block.startIndex, to: block.endIndex, by: 4) {
            words.append(block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
        }
        for index in 16..<64 {
            let a = words[index - 15]
            let b = words[index - 2]
            let small0 = rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)
            let small1 = rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10)
            words.append(words[index - 16] &+ small0 &+ words[index - 7] &+ small1)
        }
        var s = state
        for index in 0..<64 {
            let big1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)
            let choice = (s[4] & s[5]) ^ (~s[4] & s[6])
            let first = s[7] &+ big1 &+ choice &+ constants[index] &+ words[index]
            let big0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)
            let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2])
            s = [first &+ big0 &+ majority, s[0], s[1], s[2], s[3] &+ first, s[4], s[5], s[6]]
        }
        for index in 0..<8 { state[index] &+= s[index] }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1,
        0x923F_82A4, 0xAB1C_5ED5, 0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3,
        0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174, 0xE49B_69C1, 0xEFBE_4786,
        0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
        0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147,
        0x06CA_6351, 0x1429_2967, 0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13,
        0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85, 0xA2BF_E8A1, 0xA81A_664B,
        0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
        0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A,
        0x5B9C_CA4F, 0x682E_6FF3, 0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208,
        0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
    ]
}

// MARK: - Conversions for the crypto library

/// A digest of any size. The library's own digest types can't be created from bytes.
struct PrecomputedDigest: Digest {
    /// The protocol requires one size per type, but the size of this type varies. ECDSA uses only
    /// the bytes.
    static let byteCount = 64

    let bytes: [UInt8]

    func withUnsafeBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        // SAFETY: the buffer is valid during the call, as the protocol requires.
        unsafe try bytes.withUnsafeBytes(body)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
    }

    var description: String { "PrecomputedDigest(\(bytes.count) bytes)" }
}

extension SharedSecret {
    /// A copy in ordinary memory.
    var bytes: [UInt8] {
        // SAFETY: the buffer is used within the call only.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}
