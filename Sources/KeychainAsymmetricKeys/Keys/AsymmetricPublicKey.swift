// AsymmetricPublicKey: a public key of any kind, its encodings and its equality.

import Crypto
import CryptoExtras
package import FoundationEssentials
import KeychainCrypto

/// A public key.
package struct AsymmetricPublicKey: Sendable {
    enum Key: Sendable {
        case rsa(RSAPublicKey)
        case elliptic(any EllipticPublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
        case x25519(Curve25519.KeyAgreement.PublicKey)
    }

    let key: Key

    init(_ key: Key) {
        self.key = key
    }

    package var shape: KeyShape {
        switch key {
        case .rsa(let key): .rsa(sizeInBits: key.sizeInBits)
        case .elliptic(let key): .elliptic(key.curve)
        case .ed25519: .ed25519
        case .x25519: .x25519
        }
    }

    // MARK: Encodings

    /// Reads a key in Apple's external representation: PKCS #1 for RSA, 04 ‖ X ‖ Y for NIST curves,
    /// 32 bytes for Ed25519 and X25519. A SubjectPublicKeyInfo is accepted for RSA too.
    package init(
        externalRepresentation bytes: Data, kind: KeyKind
    ) throws(KeyOperationFailure) {
        do {
            switch kind {
            case .rsa:
                let rsa = try RSAPublicKey(der: bytes)
                // The library ignores bytes after the key. They are rejected here, as is every
                // encoding other than the library's own.
                guard bytes == rsa.pkcs1 || bytes == rsa.subjectPublicKeyInfo else {
                    throw KeyOperationFailure.parameter(
                        "The RSA key has an unusual encoding, or is followed by other bytes.")
                }
                key = .rsa(rsa)
            case .elliptic:
                guard let curve = EllipticCurve(byteCount: bytes.count, isPrivate: false) else {
                    throw KeyOperationFailure.parameter("No curve has points of this size.")
                }
                key = .elliptic(try curve.publicKey(point: bytes))
            case .ed25519:
                key = .ed25519(try Curve25519.Signing.PublicKey(rawRepresentation: bytes))
            case .x25519:
                key = .x25519(try Curve25519.KeyAgreement.PublicKey(rawRepresentation: bytes))
            }
        } catch {
            throw Self.notAKey(error)
        }
    }

    /// Reads a key as SubjectPublicKeyInfo (RFC 5280, section 4.1).
    ///
    /// - Returns: `nil` for other bytes, and for a key of an unsupported algorithm or curve.
    package init?(subjectPublicKeyInfo bytes: Data) {
        guard bytes.isOneDERElement else { return nil }
        if let key = try? RSAPublicKey(der: bytes), key.pkcs1 != bytes {
            self.key = .rsa(key)
        } else if let key = EllipticCurve.allCases.lazy
            .compactMap({ try? $0.publicKey(der: bytes) }).first,
            // The library reads only the point and ignores the algorithm and curve beside it.
            key.subjectPublicKeyInfo == bytes
        {
            self.key = .elliptic(key)
        } else if let key = try? Curve25519.Signing.PublicKey(derRepresentation: bytes) {
            self.key = .ed25519(key)
        } else if let key = try? Curve25519.KeyAgreement.PublicKey(derRepresentation: bytes) {
            self.key = .x25519(key)
        } else {
            return nil
        }
    }

    package var externalRepresentation: Data {
        switch key {
        case .rsa(let key): key.pkcs1
        case .elliptic(let key): key.point
        case .ed25519(let key): key.rawRepresentation
        case .x25519(let key): key.rawRepresentation
        }
    }

    package var subjectPublicKeyInfo: Data {
        switch key {
        case .rsa(let key): key.subjectPublicKeyInfo
        case .elliptic(let key): key.subjectPublicKeyInfo
        case .ed25519(let key): key.derRepresentation
        case .x25519(let key): key.derRepresentation
        }
    }

    /// The SHA-1 of the external representation, 20 bytes. Apple calls it the application label.
    package var sha1: Data {
        Data(Fingerprint.sha1(of: Array(externalRepresentation)))
    }

    /// Converts an error that the library throws when it creates a key.
    static func notAKey(_ error: any Error) -> KeyOperationFailure {
        error as? KeyOperationFailure
            ?? .parameter("The bytes are not a key of this type, class and size.")
    }
}

extension Data {
    /// Whether the bytes are exactly one DER element, according to the length that it states. Its
    /// contents are not examined.
    var isOneDERElement: Bool {
        var header = self.prefix(6).dropFirst()
        guard let first = header.popFirst() else { return false }
        var length = Int(first)
        var headerCount = 2
        if first >= 0x80 {
            let sizeCount = Int(first & 0x7F)
            guard (1...4).contains(sizeCount), header.count >= sizeCount else { return false }
            length = header.prefix(sizeCount).reduce(0) { $0 << 8 | Int($1) }
            headerCount += sizeCount
        }
        return count == headerCount + length
    }
}

extension AsymmetricPublicKey: Hashable {
    package static func == (a: AsymmetricPublicKey, b: AsymmetricPublicKey) -> Bool {
        a.shape == b.shape && a.externalRepresentation == b.externalRepresentation
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(externalRepresentation)
    }
}
