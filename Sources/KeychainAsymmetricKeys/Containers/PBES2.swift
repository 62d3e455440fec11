// PBES2: encryption under a password as PKCS #8 and PKCS #12 have it (RFC 8018, section 6.2).
//   (1) Written is PBKDF2 with HMAC-SHA-256 and AES-256-CBC; read are the digests of
//       `PasswordHash`, scrypt (RFC 7914) and AES with any of its key sizes.
//   (2) The scheme authenticates nothing: a wrong password can give garbage. What comes out is
//       parsed before it counts.

import Crypto
import CryptoExtras
import FoundationEssentials
import KeychainCrypto
package import SwiftASN1

/// The parameters of one encryption.
package struct PBES2: Hashable, Sendable {
    /// The identifier of the scheme.
    package static let identifier: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 5, 13]

    /// The rounds of PBKDF2 in what is written: some 50 ms for a program that has the password.
    package static let writtenRounds = 100_000

    private enum Derivation: Hashable {
        case pbkdf2(salt: [UInt8], rounds: Int, PasswordHash)
        case scrypt(salt: [UInt8], cost: PasscodeCost)
    }

    private let derivation: Derivation
    private let keyByteCount: Int
    private let initializationVector: [UInt8]

    /// Fresh parameters.
    package init() {
        derivation = .pbkdf2(salt: .random(count: 16), rounds: Self.writtenRounds, .sha256)
        keyByteCount = 32
        initializationVector = .random(count: 16)
    }

    /// The work of an encryption or decryption, in rounds of PBKDF2.
    package var rounds: Int {
        switch derivation {
        case .pbkdf2(_, let rounds, _): rounds
        // Four times Salsa20/8 for 128 bytes, forth and back; a round is two of SHA-256.
        case .scrypt(_, let cost):
            (1 << Int(cost.logN)) * Int(cost.blockSize) * Int(cost.parallelism)
        }
    }

    /// Encrypts.
    ///
    /// - Returns: The ciphertext, or nil if the crypto library fails.
    package func encrypt(_ plaintext: [UInt8], password: [UInt8]) -> [UInt8]? {
        guard let key = key(from: password),
            let iv = try? AES._CBC.IV(ivBytes: initializationVector)
        else { return nil }
        return (try? AES._CBC.encrypt(plaintext, using: key, iv: iv)).map { Array($0) }
    }

    /// Decrypts.
    ///
    /// - Returns: The plaintext, or nil if the password is wrong or the bytes are damaged; garbage
    ///   is possible in both cases.
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
            // PBKDF2 begins scrypt too: a zero byte is the same as no password.
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
    /// - Returns: Nil for any other scheme, for a digest or cipher that isn't in the table, and for
    ///   a cost beyond the limits.
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

    /// PBKDF2-params: the salt, the rounds, perhaps the length of the key, perhaps the digest.
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

    /// scrypt-params (RFC 7914, section 7): salt, N, r, p, perhaps the length of the key.
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

    /// The AlgorithmIdentifier. Nil for what is read only.
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
