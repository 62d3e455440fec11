// RSAKeys: RSA keys with the crypto library's operations, and the raw RSA operations on which the
// other variants of RFC 8017 are built.
//   (1) The private operation is the library's. It uses blinding and checks its result.
//   (2) The public operation, m^e mod n, verifies and encrypts. It is implemented here, because the
//       library offers it only with padding.
//   (3) Modulus and exponent are public, but the base may be a padded message. So every
//       multiplication takes the same steps for all values, and no branch depends on the base,
//       except the check that it is below the modulus.
//   (4) Numbers are arrays of 64-bit limbs, least significant first, as long as the modulus.
//
// Multiplication is Montgomery's, see the Handbook of Applied Cryptography, 14.36.

import Crypto
import CryptoExtras
import FoundationEssentials

/// An RSA public key of at least 1024 bits.
struct RSAPublicKey: Sendable {
    let key: _RSA.Signing.PublicKey
    let operation: RSAPublicOperation

    init(_ key: _RSA.Signing.PublicKey) throws {
        let numbers = try key.getKeyPrimitives()
        guard
            let operation = RSAPublicOperation(
                modulus: Array(numbers.modulus), exponent: Array(numbers.publicExponent))
        else { throw KeyOperationFailure.parameter("The numbers of the RSA key are not valid.") }
        self.key = key
        self.operation = operation
    }

    /// Reads a SubjectPublicKeyInfo or an RSAPublicKey (PKCS #1).
    init(der: Data) throws {
        try self.init(_RSA.Signing.PublicKey(unsafeDERRepresentation: der))
    }

    var sizeInBits: Int { key.keySizeInBits }
    var blockByteCount: Int { (sizeInBits + 7) / 8 }
    var pkcs1: Data { key.pkcs1DERRepresentation }
    var subjectPublicKeyInfo: Data { key.derRepresentation }

    /// - Returns: `nil` if the block doesn't have the modulus' size or isn't below the modulus.
    func raw(_ block: [UInt8]) -> [UInt8]? { operation.apply(to: block) }

    /// The library's encryption with a padding that it supports. The size of the modulus must be a
    /// multiple of 8 bits.
    func encrypt(_ message: Data, padding: _RSA.Encryption.Padding) throws -> Data {
        try _RSA.Encryption.PublicKey(unsafeDERRepresentation: pkcs1)
            .encrypt(message, padding: padding)
    }
}

/// An RSA private key of at least 1024 bits.
struct RSAPrivateKey: Sendable {
    let key: _RSA.Signing.PrivateKey
    /// The same key in the type that offers the raw private operation.
    private let bare: _RSA.BlindSigning.PrivateKey<SHA384>

    init(_ key: _RSA.Signing.PrivateKey) throws {
        self.key = key
        var bytes = key.derRepresentation
        defer { bytes.resetBytes(in: bytes.startIndex..<bytes.endIndex) }
        bare = try _RSA.BlindSigning.PrivateKey<SHA384>(unsafeDERRepresentation: bytes)
    }

    /// Generates a key. The caller has checked the size, see ``AsymmetricPrivateKey/newRSASizes``.
    init(randomOf sizeInBits: Int) throws {
        try self.init(
            _RSA.Signing.PrivateKey(unsafeKeySize: _RSA.Signing.KeySize(bitCount: sizeInBits)))
    }

    /// Reads PKCS #8 or an RSAPrivateKey (PKCS #1).
    init(der: Data) throws {
        try self.init(_RSA.Signing.PrivateKey(unsafeDERRepresentation: der))
    }

    var sizeInBits: Int { key.keySizeInBits }
    var blockByteCount: Int { (sizeInBits + 7) / 8 }
    var pkcs1: Data { key.derRepresentation }
    var pkcs8: Data { key.pkcs8DERRepresentation }

    func publicKey() throws -> RSAPublicKey { try RSAPublicKey(key.publicKey) }

    /// - Returns: `nil` if the block doesn't have the modulus' size or isn't below the modulus.
    func raw(_ block: [UInt8]) -> [UInt8]? {
        guard block.count == blockByteCount else { return nil }
        // A blind signature is the raw operation on its input.
        return (try? bare.blindSignature(for: block)).map { Array($0.rawRepresentation) }
    }

    /// The library's decryption with a padding that it supports. The size of the modulus must be a
    /// multiple of 8 bits.
    func decrypt(_ block: Data, padding: _RSA.Encryption.Padding) throws -> Data {
        var bytes = pkcs1
        defer { bytes.resetBytes(in: bytes.startIndex..<bytes.endIndex) }
        return try _RSA.Encryption.PrivateKey(unsafeDERRepresentation: bytes)
            .decrypt(block, padding: padding)
    }
}

// MARK: - The public operation

struct RSAPublicOperation: Sendable {
    private let modulus: [UInt64]
    /// The bits of the exponent below its highest set bit, most significant first.
    private let exponentBits: [Bool]
    private let blockByteCount: Int
    /// -modulus⁻¹ mod 2⁶⁴.
    private let negatedInverse: UInt64
    /// 2^(2·64·limbs) mod modulus. Multiplying by it converts a number to Montgomery form.
    private var square: [UInt64]

    /// - Returns: `nil` if the modulus is even or has fewer than 64 bytes, or the exponent is even,
    ///   below 3 or longer than 64 bits.
    init?(modulus bytes: [UInt8], exponent: [UInt8]) {
        let modulusBytes = Array(bytes.drop { $0 == 0 })
        let exponentBytes = exponent.drop { $0 == 0 }
        guard modulusBytes.count >= 64, let last = modulusBytes.last, last & 1 == 1,
            exponentBytes.count <= 8
        else { return nil }
        let number = exponentBytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard number >= 3, number & 1 == 1 else { return nil }
        blockByteCount = modulusBytes.count
        modulus = Self.limbs(of: modulusBytes, count: (modulusBytes.count + 7) / 8)
        exponentBits = (0..<(63 - number.leadingZeroBitCount)).reversed()
            .map { number >> UInt64($0) & 1 == 1 }

        // Each step of Newton's iteration doubles the number of correct bits, from 3 to 96.
        var inverse = modulus[0]
        for _ in 0..<5 { inverse = inverse &* (2 &- modulus[0] &* inverse) }
        negatedInverse = 0 &- inverse

        // Compute 2^(64·limbs) mod modulus, the Montgomery form of 1, by doubling the highest power
        // of two below the modulus.
        let bitCount = 64 * modulus.count
        let highest = bitCount - 1 - modulus[modulus.count - 1].leadingZeroBitCount
        square = [UInt64](repeating: 0, count: modulus.count)
        square[highest / 64] = 1 << UInt64(highest % 64)
        for _ in highest..<bitCount { square = Self.doubled(square, modulus) }
        // From it, compute 2^(64·limbs) in Montgomery form by squaring and doubling. This takes a
        // few steps per key; doubling alone would take thousands.
        for bit in (0..<(Int.bitWidth - bitCount.leadingZeroBitCount)).reversed() {
            square = multiply(square, square)
            if bitCount >> bit & 1 == 1 { square = Self.doubled(square, modulus) }
        }
    }

    /// - Parameter block: A number below the modulus, big-endian, of the modulus' size.
    /// - Returns: The result in the same encoding, or `nil` if `block` is not such a number.
    func apply(to block: [UInt8]) -> [UInt8]? {
        guard block.count == blockByteCount else { return nil }
        let base = Self.limbs(of: block, count: modulus.count)
        guard Self.subtract(modulus, from: base).borrowed else { return nil }
        let baseInForm = multiply(base, square)
        var result = baseInForm
        for bit in exponentBits {
            result = multiply(result, result)
            if bit { result = multiply(result, baseInForm) }
        }
        var one = [UInt64](repeating: 0, count: modulus.count)
        one[0] = 1
        return Self.bytes(of: multiply(result, one), count: blockByteCount)
    }

    /// a·b·2^(-64·limbs) mod modulus.
    private func multiply(_ a: [UInt64], _ b: [UInt64]) -> [UInt64] {
        let count = modulus.count
        var total = [UInt64](repeating: 0, count: count + 2)
        for index in 0..<count {
            var carry: UInt64 = 0
            for position in 0..<count {
                (carry, total[position]) = Self.multiplyAdd(
                    a[index], b[position], total[position], carry)
            }
            var sum = total[count].addingReportingOverflow(carry)
            total[count] = sum.partialValue
            total[count + 1] = sum.overflow ? 1 : 0

            let factor = total[0] &* negatedInverse
            carry = Self.multiplyAdd(factor, modulus[0], total[0], 0).high
            for position in 1..<count {
                (carry, total[position - 1]) = Self.multiplyAdd(
                    factor, modulus[position], total[position], carry)
            }
            sum = total[count].addingReportingOverflow(carry)
            total[count - 1] = sum.partialValue
            total[count] = total[count + 1] &+ (sum.overflow ? 1 : 0)
        }
        return Self.reduced(Array(total[..<count]), overflow: total[count], modulus)
    }

    // MARK: Limbs

    private static func multiplyAdd(
        _ a: UInt64, _ b: UInt64, _ addend: UInt64, _ carry: UInt64
    ) -> (high: UInt64, low: UInt64) {
        var (high, low) = a.multipliedFullWidth(by: b)
        let first = low.addingReportingOverflow(addend)
        let second = first.partialValue.addingReportingOverflow(carry)
        low = second.partialValue
        // This can't overflow: (2⁶⁴-1)² + 2·(2⁶⁴-1) is the largest 128-bit number.
        high = high &+ (first.overflow ? 1 : 0) &+ (second.overflow ? 1 : 0)
        return (high, low)
    }

    private static func doubled(_ number: [UInt64], _ modulus: [UInt64]) -> [UInt64] {
        var result = number
        var carry: UInt64 = 0
        for index in result.indices {
            let next = result[index] >> 63
            result[index] = result[index] << 1 | carry
            carry = next
        }
        return reduced(result, overflow: carry, modulus)
    }

    /// Subtracts the modulus unless the result would be negative. The choice is made with a mask,
    /// not a branch.
    private static func reduced(
        _ number: [UInt64], overflow: UInt64, _ modulus: [UInt64]
    ) -> [UInt64] {
        let (difference, borrowed) = subtract(modulus, from: number)
        let keep: UInt64 = 0 &- ((borrowed ? 1 : 0) & (1 &- overflow))
        return zip(number, difference).map { ($0 & keep) | ($1 & ~keep) }
    }

    private static func subtract(
        _ subtrahend: [UInt64], from number: [UInt64]
    ) -> (difference: [UInt64], borrowed: Bool) {
        var difference = number
        var borrow: UInt64 = 0
        for index in difference.indices {
            let first = number[index].subtractingReportingOverflow(subtrahend[index])
            let second = first.partialValue.subtractingReportingOverflow(borrow)
            difference[index] = second.partialValue
            borrow = (first.overflow ? 1 : 0) | (second.overflow ? 1 : 0)
        }
        return (difference, borrow == 1)
    }

    private static func limbs(of bytes: [UInt8], count: Int) -> [UInt64] {
        var limbs = [UInt64](repeating: 0, count: count)
        for (index, byte) in bytes.reversed().enumerated() {
            limbs[index / 8] |= UInt64(byte) << UInt64(8 * (index % 8))
        }
        return limbs
    }

    private static func bytes(of limbs: [UInt64], count: Int) -> [UInt8] {
        (0..<count).reversed().map { index in
            UInt8(truncatingIfNeeded: limbs[index / 8] >> UInt64(8 * (index % 8)))
        }
    }
}
