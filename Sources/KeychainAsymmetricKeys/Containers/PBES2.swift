// PBES2: password-based encryption as in PKCS #8 and PKCS #12 (RFC 8018, section 6.2), its digests,
// and the limits on the work of an import.
//   (1) Encryption uses PBKDF2 with HMAC-SHA-256, and AES-256-CBC. Decryption also supports the
//       other digests of `PasswordHash`, scrypt (RFC 7914), AES-128 and AES-192.
//   (2) The scheme authenticates nothing: decryption with a wrong password can give garbage.
//       Plaintext is not used until it has been parsed successfully.
//   (3) The cost of one decryption is limited, so that hostile data can't occupy a processor for
//       hours.
//   (4) The cost of one import is limited too, by `WorkBudget`. Otherwise, data with a thousand
//       encrypted keys could cost a thousand times the limit of (3). Work is deducted from the
//       budget before it is done.

import Crypto
import CryptoExtras
import FoundationEssentials
package import KeychainCore
import KeychainCrypto
package import SwiftASN1

/// The parameters of a password-based encryption.
package struct PBES2: Hashable, Sendable {
    /// The object identifier of PBES2.
    package static let identifier: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 5, 13]

    /// The number of PBKDF2 rounds of a new encryption. Deriving the key takes about 50 ms.
    package static let writtenRounds = 100_000

    private enum Derivation: Hashable {
        case pbkdf2(salt: [UInt8], rounds: Int, PasswordHash)
        case scrypt(salt: [UInt8], cost: PasscodeCost)
    }

    private let derivation: Derivation
    private let keyByteCount: Int
    private let initializationVector: [UInt8]

    /// Creates parameters with a random salt and initialization vector.
    package init() {
        derivation = .pbkdf2(salt: .random(count: 16), rounds: Self.writtenRounds, .sha256)
        keyByteCount = 32
        initializationVector = .random(count: 16)
    }

    /// The work of an encryption or decryption, in rounds of PBKDF2.
    package var rounds: Int {
        switch derivation {
        case .pbkdf2(_, let rounds, _): rounds
        // scrypt takes N·r·p steps, each with four calls of Salsa20/8: two to fill the table and
        // two to read it. A step costs about as much as one round of PBKDF2, which is two
        // compressions of SHA-256.
        case .scrypt(_, let cost):
            (1 << Int(cost.logN)) * Int(cost.blockSize) * Int(cost.parallelism)
        }
    }

    /// Encrypts `plaintext`.
    ///
    /// - Returns: The ciphertext, or `nil` if the crypto library fails.
    package func encrypt(_ plaintext: [UInt8], password: [UInt8]) -> [UInt8]? {
        guard let key = key(from: password),
            let iv = try? AES._CBC.IV(ivBytes: initializationVector)
        else { return nil }
        return (try? AES._CBC.encrypt(plaintext, using: key, iv: iv)).map { Array($0) }
    }

    /// Decrypts `ciphertext`.
    ///
    /// - Returns: The plaintext. If the password is wrong or the bytes are damaged, the result is
    ///   `nil` or garbage.
    package func decrypt(_ ciphertext: [UInt8], password: [UInt8]) -> [UInt8]? {
        guard let key = key(from: password),
            let iv = try? AES._CBC.IV(ivBytes: initializationVector)
        else { return nil }
        return (try? AES._CBC.decrypt(ciphertext, using: key, iv: iv)).map { Array($0) }
    }

    private func key(from password: [UInt8]) -> SymmetricKey? {
        switch derivation {
        case .pbkdf2(let salt, let rounds, let hash):
            return hash.derive(
                from: password, salt: salt, rounds: rounds, byteCount: keyByteCount)
        case .scrypt(let salt, let cost):
            // The library rejects an empty password. scrypt begins with PBKDF2, whose HMAC pads its
            // key with zeros, so a single zero byte is equivalent.
            return try? KDF.Scrypt.deriveKey(
                from: password.isEmpty ? [0] : password, salt: salt,
                outputByteCount: keyByteCount, rounds: 1 << Int(cost.logN),
                blockSize: Int(cost.blockSize), parallelism: Int(cost.parallelism),
                maxMemory: cost.memoryByteCount + (32 << 20))
        }
    }
}

// MARK: - ASN.1

extension PBES2 {
    package static let pbkdf2: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 5, 12]
    private static let scrypt: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 11591, 4, 11]

    private static let ciphers: [(identifier: ASN1ObjectIdentifier, keyByteCount: Int)] = [
        ([2, 16, 840, 1, 101, 3, 4, 1, 2], 16), ([2, 16, 840, 1, 101, 3, 4, 1, 22], 24),
        ([2, 16, 840, 1, 101, 3, 4, 1, 42], 32),
    ]

    /// Reads an AlgorithmIdentifier.
    ///
    /// - Returns: `nil` for another scheme, for a digest or cipher that isn't supported, for other
    ///   invalid parameters such as an empty salt, and for a cost above the limits.
    package init?(algorithm: ASN1Node) {
        guard let algorithm = algorithm.sequence, algorithm.count == 2,
            algorithm[0].objectIdentifier == Self.identifier,
            let parameters = algorithm[1].sequence, parameters.count == 2,
            let derivation = parameters[0].sequence, derivation.count == 2,
            let encryption = parameters[1].sequence, encryption.count == 2,
            let cipher = Self.ciphers.first(where: {
                $0.identifier == encryption[0].objectIdentifier
            }),
            let vector = encryption[1].octets, vector.count == 16,
            let values = derivation[1].sequence
        else { return nil }
        keyByteCount = cipher.keyByteCount
        initializationVector = vector
        switch derivation[0].objectIdentifier {
        case Self.pbkdf2:
            guard let read = Self.readPBKDF2(values, keyByteCount: keyByteCount) else {
                return nil
            }
            self.derivation = read
        case Self.scrypt:
            guard let read = Self.readScrypt(values, keyByteCount: keyByteCount) else {
                return nil
            }
            self.derivation = read
        default: return nil
        }
    }

    /// Reads PBKDF2-params: salt, rounds, optionally the length of the key, optionally the digest.
    private static func readPBKDF2(_ values: [ASN1Node], keyByteCount: Int) -> Derivation? {
        guard values.count >= 2, let salt = values[0].octets, !salt.isEmpty,
            let rounds = values[1].integer, (1...PasswordHash.roundLimit).contains(rounds)
        else { return nil }
        var rest = values.dropFirst(2)
        if let length = rest.first?.integer {
            guard length == keyByteCount else { return nil }
            rest = rest.dropFirst()
        }
        guard let function = rest.first else {
            return .pbkdf2(salt: salt, rounds: rounds, .sha1)
        }
        guard rest.count == 1, let identifier = function.sequence?.first?.objectIdentifier,
            let hash = PasswordHash.allCases.first(where: { $0.hmacIdentifier == identifier })
        else { return nil }
        return .pbkdf2(salt: salt, rounds: rounds, hash)
    }

    /// Reads scrypt-params (RFC 7914, section 7): salt, N, r, p, optionally the length of the key.
    private static func readScrypt(_ values: [ASN1Node], keyByteCount: Int) -> Derivation? {
        guard values.count == 4 || values.count == 5,
            let salt = values[0].octets, !salt.isEmpty,
            let rounds = values[1].integer, rounds > 1, rounds.nonzeroBitCount == 1,
            let blockSize = values[2].integer.flatMap({ UInt8(exactly: $0) }),
            let parallelism = values[3].integer.flatMap({ UInt8(exactly: $0) }),
            values.count == 4 || values[4].integer == keyByteCount
        else { return nil }
        let cost = PasscodeCost(
            logN: UInt8(rounds.trailingZeroBitCount), blockSize: blockSize,
            parallelism: parallelism)
        return cost.isAcceptable ? .scrypt(salt: salt, cost: cost) : nil
    }

    /// The AlgorithmIdentifier, or `nil` for parameters that are supported for reading only.
    package var algorithm: DERValue? {
        guard case .pbkdf2(let salt, let rounds, .sha256) = derivation, keyByteCount == 32 else {
            return nil
        }
        return .sequence([
            .identifier(Self.identifier),
            .sequence([
                .sequence([
                    .identifier(Self.pbkdf2),
                    .sequence([
                        .octets(salt), .integer(rounds),
                        .sequence([
                            .identifier(PasswordHash.sha256.hmacIdentifier), .null,
                        ]),
                    ]),
                ]),
                .sequence([
                    .identifier([2, 16, 840, 1, 101, 3, 4, 1, 42]),
                    .octets(initializationVector),
                ]),
            ]),
        ])
    }
}

// MARK: - Digests

/// A digest function in a password-based scheme.
package enum PasswordHash: CaseIterable, Hashable, Sendable {
    case sha1, sha256, sha384, sha512

    /// The maximum number of rounds. 10 million rounds of SHA-256 take several seconds.
    package static let roundLimit = 10_000_000

    /// The object identifier of the digest.
    package var digestIdentifier: ASN1ObjectIdentifier {
        switch self {
        case .sha1: [1, 3, 14, 3, 2, 26]
        case .sha256: [2, 16, 840, 1, 101, 3, 4, 2, 1]
        case .sha384: [2, 16, 840, 1, 101, 3, 4, 2, 2]
        case .sha512: [2, 16, 840, 1, 101, 3, 4, 2, 3]
        }
    }

    /// The object identifier of HMAC with the digest (RFC 8018, appendix B.1).
    package var hmacIdentifier: ASN1ObjectIdentifier {
        switch self {
        case .sha1: [1, 2, 840, 113549, 2, 7]
        case .sha256: [1, 2, 840, 113549, 2, 9]
        case .sha384: [1, 2, 840, 113549, 2, 10]
        case .sha512: [1, 2, 840, 113549, 2, 11]
        }
    }

    /// The block size of the digest, in bytes.
    private var blockByteCount: Int {
        switch self {
        case .sha1, .sha256: 64
        case .sha384, .sha512: 128
        }
    }

    /// The crypto library's value for this hash function in PBKDF2.
    private var function: KDF.Insecure.PBKDF2.HashFunction {
        switch self {
        case .sha1: .insecureSHA1
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }

    /// Derives a key with PBKDF2 (RFC 8018, section 5.2) and HMAC with this digest, in 1 to
    /// ``roundLimit`` rounds.
    ///
    /// - Returns: The key, or `nil` if `rounds` is out of range, the salt is empty or the crypto
    ///   library fails.
    func derive(
        from password: [UInt8], salt: [UInt8], rounds: Int, byteCount: Int
    ) -> SymmetricKey? {
        guard (1...Self.roundLimit).contains(rounds), !salt.isEmpty else { return nil }
        // The library rejects an empty password. HMAC pads its key with zeros, so a single zero
        // byte is equivalent.
        return try? KDF.Insecure.PBKDF2.deriveKey(
            from: password.isEmpty ? [0] : password, salt: salt, using: function,
            outputByteCount: byteCount, unsafeUncheckedRounds: rounds)
    }

    /// The authentication code of a PKCS #12 container: HMAC with a key derived according to RFC
    /// 7292, appendix B.2.
    ///
    /// - Parameters:
    ///   - message: The authenticated bytes.
    ///   - password: A BMPString with its terminating two zero bytes, or empty for no password. An
    ///     empty password differs from no password: it consists of the two zero bytes.
    ///   - salt: The salt of the key derivation.
    ///   - rounds: 1 to ``roundLimit``.
    /// - Returns: The code, or `nil` if `rounds` is out of range.
    package func pkcs12Code(
        of message: [UInt8], password: [UInt8], salt: [UInt8], rounds: Int
    ) -> [UInt8]? {
        guard (1...Self.roundLimit).contains(rounds) else { return nil }
        // Purpose 3 means "integrity". The key of HMAC is as long as one digest, so one iteration
        // of the outer loop is enough. Steps 6.B and 6.C, which prepare the next iteration, are
        // omitted.
        let start =
            [UInt8](repeating: 3, count: blockByteCount) + filled(salt) + filled(password)
        return switch self {
        case .sha1: Self.code(Insecure.SHA1.self, of: message, start, rounds)
        case .sha256: Self.code(SHA256.self, of: message, start, rounds)
        case .sha384: Self.code(SHA384.self, of: message, start, rounds)
        case .sha512: Self.code(SHA512.self, of: message, start, rounds)
        }
    }

    /// `bytes`, repeated to fill whole blocks.
    private func filled(_ bytes: [UInt8]) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        let blocks = (bytes.count + blockByteCount - 1) / blockByteCount
        return (0..<(blocks * blockByteCount)).map { bytes[$0 % bytes.count] }
    }

    private static func code<Hash: HashFunction>(
        _: Hash.Type, of message: [UInt8], _ start: [UInt8], _ rounds: Int
    ) -> [UInt8] {
        var digest = Hash.hash(data: start)
        for _ in 1..<rounds { digest = Hash.hash(data: Array(digest)) }
        let key = SymmetricKey(data: Array(digest))
        return Array(HMAC<Hash>.authenticationCode(for: message, using: key))
    }
}

// MARK: - Work limit

/// The amount of work that an import may still do.
package struct WorkBudget {
    /// The budget of an import, in rounds of PBKDF2: about a minute. Tests lower it.
    @TaskLocal package static var initialRounds = 10 * PasswordHash.roundLimit

    /// The cost of checking the numbers of a private key, in rounds of PBKDF2: a few milliseconds.
    package static let roundsPerKey = 10_000

    private var rounds: Int

    package init() {
        rounds = Self.initialRounds
    }

    /// Deducts work from the budget.
    ///
    /// - Parameter count: The work in rounds, 0 or more.
    /// - Throws: `unsupportedFormat` if less than `count` is left. In that case, nothing is
    ///   deducted.
    package mutating func take(_ count: Int) throws(KeychainFailure) {
        guard count <= rounds else {
            throw KeychainFailure(
                .unsupportedFormat, "Reading the data requires too much computation."
            )
        }
        rounds -= count
    }
}
