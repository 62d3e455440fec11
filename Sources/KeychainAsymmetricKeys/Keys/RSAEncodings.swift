// RSAEncodings: the paddings of RFC 8017 that the crypto library lacks, or supports only for
// digests that it computes itself or for moduli whose size is a multiple of 8 bits.
//   (1) Encoding returns a block of the modulus' size, or `nil` if the input doesn't fit.
//   (2) Decoding a decrypted block takes the same steps for every block of a given size. Only the
//       result depends on the content: the message, or `nil` for every kind of error. This prevents
//       Manger's attack on OAEP, and Bleichenbacher's attack finds no difference in timing.

import Crypto

enum RSAEncodings {
    // MARK: Signatures

    /// EMSA-PKCS1-v1_5 (section 9.2) of a DigestInfo.
    static func pkcs1v15(digestInfo: [UInt8], blockByteCount: Int) -> [UInt8]? {
        let paddingCount = blockByteCount - digestInfo.count - 3
        guard paddingCount >= 8 else { return nil }
        return [0, 1] + [UInt8](repeating: 0xFF, count: paddingCount) + [0] + digestInfo
    }

    /// EMSA-PSS-ENCODE (section 9.1.1). The salt is as long as the digest.
    static func pss(
        digest: [UInt8], salt: [UInt8], sizeInBits: Int, using algorithm: DigestAlgorithm
    ) -> [UInt8]? {
        let bitCount = sizeInBits - 1
        let byteCount = (bitCount + 7) / 8
        let maskedCount = byteCount - digest.count - 1
        guard maskedCount >= salt.count + 1 else { return nil }
        let hash = algorithm.hash([UInt8](repeating: 0, count: 8) + digest + salt)
        let data = [UInt8](repeating: 0, count: maskedCount - salt.count - 1) + [1] + salt
        var masked = xor(data, algorithm.mask(seed: hash, byteCount: maskedCount))
        masked[0] &= 0xFF >> UInt8(8 * byteCount - bitCount)
        // If the modulus has 8k+1 bits, the block has one byte more than the encoding.
        let front = [UInt8](repeating: 0, count: (sizeInBits + 7) / 8 - byteCount)
        return front + masked + hash + [0xBC]
    }

    /// EMSA-PSS-VERIFY (section 9.1.2).
    static func isPSS(
        _ block: [UInt8], of digest: [UInt8], sizeInBits: Int, using algorithm: DigestAlgorithm
    ) -> Bool {
        let bitCount = sizeInBits - 1
        let byteCount = (bitCount + 7) / 8
        let front = block.count - byteCount
        guard front >= 0, block.prefix(front).allSatisfy({ $0 == 0 }) else { return false }
        let encoded = Array(block.dropFirst(front))
        let maskedCount = byteCount - digest.count - 1
        guard maskedCount >= digest.count + 1, encoded.last == 0xBC else { return false }
        let unusedBits = UInt8(8 * byteCount - bitCount)
        let masked = Array(encoded[..<maskedCount])
        let hash = Array(encoded[maskedCount..<maskedCount + digest.count])
        guard masked[0] & ~(0xFF >> unusedBits) == 0 else { return false }
        var data = xor(masked, algorithm.mask(seed: hash, byteCount: maskedCount))
        data[0] &= 0xFF >> unusedBits
        let separator = maskedCount - digest.count - 1
        guard data[..<separator].allSatisfy({ $0 == 0 }), data[separator] == 1 else {
            return false
        }
        let salt = data[(separator + 1)...]
        return algorithm.hash([UInt8](repeating: 0, count: 8) + digest + salt) == hash
    }

    // MARK: Encryption

    /// EME-OAEP encoding (section 7.1.1) with an empty label. The seed must be random and as long
    /// as the digest.
    static func oaep(
        message: [UInt8], seed: [UInt8], blockByteCount: Int, using algorithm: DigestAlgorithm
    ) -> [UInt8]? {
        let digestCount = algorithm.byteCount
        let paddingCount = blockByteCount - message.count - 2 * digestCount - 2
        guard paddingCount >= 0 else { return nil }
        let data =
            algorithm.hash([UInt8]()) + [UInt8](repeating: 0, count: paddingCount) + [1] + message
        let maskedData = xor(data, algorithm.mask(seed: seed, byteCount: data.count))
        let maskedSeed = xor(seed, algorithm.mask(seed: maskedData, byteCount: digestCount))
        return [0] + maskedSeed + maskedData
    }

    /// EME-OAEP decoding (section 7.1.2), with an empty label.
    static func decodeOAEP(_ block: [UInt8], using algorithm: DigestAlgorithm) -> [UInt8]? {
        let digestCount = algorithm.byteCount
        guard block.count >= 2 * digestCount + 2 else { return nil }
        let maskedSeed = Array(block[1...digestCount])
        let maskedData = Array(block[(digestCount + 1)...])
        let seed = xor(maskedSeed, algorithm.mask(seed: maskedData, byteCount: digestCount))
        let data = xor(maskedData, algorithm.mask(seed: seed, byteCount: maskedData.count))

        // All errors are accumulated without branches and tested once at the end.
        var wrong = block[0]
        for (byte, expected) in zip(data, algorithm.hash([UInt8]())) { wrong |= byte ^ expected }
        // All ones until the first byte that isn't zero.
        var looking: UInt = .max
        var separator: UInt = 0
        for index in digestCount..<data.count {
            let byte = data[index]
            let isOne = isZeroMask(byte ^ 1)
            let isZero = isZeroMask(byte)
            separator |= looking & isOne & UInt(index)
            wrong |= UInt8(truncatingIfNeeded: looking & ~isOne & ~isZero)
            looking &= isZero
        }
        wrong |= UInt8(truncatingIfNeeded: looking)
        guard wrong == 0 else { return nil }
        return Array(data[(Int(separator) + 1)...])
    }

    /// EME-PKCS1-v1_5 encoding (section 7.2.1).
    static func pkcs1(message: [UInt8], blockByteCount: Int) -> [UInt8]? {
        let paddingCount = blockByteCount - message.count - 3
        guard paddingCount >= 8 else { return nil }
        var generator = SystemRandomNumberGenerator()
        let padding = (0..<paddingCount).map { _ in UInt8.random(in: 1...255, using: &generator) }
        return [0, 2] + padding + [0] + message
    }

    /// EME-PKCS1-v1_5 decoding (section 7.2.2).
    ///
    /// Bleichenbacher's attack needs to know whether decoding fails. The caller learns that, as
    /// with every implementation of this function, but the timing reveals nothing more.
    static func decodePKCS1(_ block: [UInt8]) -> [UInt8]? {
        guard block.count >= 11 else { return nil }
        var wrong = block[0] | (block[1] ^ 2)
        // All ones until the first zero.
        var looking: UInt = .max
        var separator: UInt = 0
        for index in 2..<block.count {
            let isZero = isZeroMask(block[index])
            separator |= looking & isZero & UInt(index)
            // The padding must have at least eight bytes.
            if index < 10 { wrong |= UInt8(truncatingIfNeeded: isZero) }
            looking &= ~isZero
        }
        wrong |= UInt8(truncatingIfNeeded: looking)
        guard wrong == 0 else { return nil }
        return Array(block[(Int(separator) + 1)...])
    }

    /// All ones if `byte` is zero, otherwise zero.
    private static func isZeroMask(_ byte: UInt8) -> UInt {
        0 &- ((UInt(byte) &- 1) >> UInt(UInt.bitWidth - 1))
    }

    private static func xor(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        zip(a, b).map { $0 ^ $1 }
    }
}
