// PasswordHash: the digests that password-based schemes of other programs name.
//   (1) The cost that a foreign container asks for is bounded, so that a hostile one can't keep a
//       processor busy for hours.

import Crypto
import CryptoExtras
import FoundationEssentials
package import SwiftASN1

/// A digest function in a password-based scheme.
package enum PasswordHash: CaseIterable, Hashable, Sendable {
    case sha1, sha256, sha384, sha512

    /// The most rounds that are worked. 10 million rounds of SHA-256 are some seconds.
    package static let roundLimit = 10_000_000

    /// The digest's own identifier.
    package var digestIdentifier: ASN1ObjectIdentifier {
        switch self {
        case .sha1: [1, 3, 14, 3, 2, 26]
        case .sha256: [2, 16, 840, 1, 101, 3, 4, 2, 1]
        case .sha384: [2, 16, 840, 1, 101, 3, 4, 2, 2]
        case .sha512: [2, 16, 840, 1, 101, 3, 4, 2, 3]
        }
    }

    /// The identifier of HMAC with the digest (RFC 8018, appendix B.1).
    package var hmacIdentifier: ASN1ObjectIdentifier {
        switch self {
        case .sha1: [1, 2, 840, 113549, 2, 7]
        case .sha256: [1, 2, 840, 113549, 2, 9]
        case .sha384: [1, 2, 840, 113549, 2, 10]
        case .sha512: [1, 2, 840, 113549, 2, 11]
        }
    }

    /// The bytes that the digest takes at a time.
    private var blockByteCount: Int {
        switch self {
        case .sha1, .sha256: 64
        case .sha384, .sha512: 128
        }
    }

    /// The function of PBKDF2 in the crypto library.
    private var function: KDF.Insecure.PBKDF2.HashFunction {
        switch self {
        case .sha1: .insecureSHA1
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }

    /// PBKDF2 (RFC 8018, section 5.2) with HMAC over this digest, in 1 to ``roundLimit`` rounds.
    ///
    /// - Returns: The key; nil if `rounds` is out of range or the salt empty.
    func derive(
        from password: [UInt8], salt: [UInt8], rounds: Int, byteCount: Int
    ) -> SymmetricKey? {
        guard (1...Self.roundLimit).contains(rounds), !salt.isEmpty else { return nil }
        // HMAC fills its key up with zeros: a zero byte is the same password as none, and the
        // library takes no empty one.
        return try? KDF.Insecure.PBKDF2.deriveKey(
            from: password.isEmpty ? [0] : password, salt: salt, using: function,
            outputByteCount: byteCount, unsafeUncheckedRounds: rounds)
    }

    /// The authentication code of a PKCS #12 container: HMAC under a key that is derived as
    /// RFC 7292, appendix B.2, says.
    ///
    /// - Parameters:
    ///   - message: What the code is of.
    ///   - password: BMPString with its two zero bytes; empty for no password, which is not the
    ///     same as an empty one.
    ///   - salt: The salt of the key.
    ///   - rounds: 1 to ``roundLimit``.
    /// - Returns: The code; nil if `rounds` is out of range.
    package func pkcs12Code(
        of message: [UInt8], password: [UInt8], salt: [UInt8], rounds: Int
    ) -> [UInt8]? {
        guard (1...Self.roundLimit).contains(rounds) else { return nil }
        // The purpose 3 is "integrity". One round of the outer loop gives a whole digest, which is
        // all a key for HMAC takes, so the steps 6.B and 6.C, which prepare a second, aren't here.
        let start =
            [UInt8](repeating: 3, count: blockByteCount) + filled(salt) + filled(password)
        return switch self {
        case .sha1: Self.code(Insecure.SHA1.self, of: message, start, rounds)
        case .sha256: Self.code(SHA256.self, of: message, start, rounds)
        case .sha384: Self.code(SHA384.self, of: message, start, rounds)
        case .sha512: Self.code(SHA512.self, of: message, start, rounds)
        }
    }

    /// The bytes repeated up to whole blocks.
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
