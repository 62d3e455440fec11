// AsymmetricPrivateKey: a private key of any kind, and its encodings.
//   (1) The crypto library's types hold the secret. The caller is responsible for exported copies.
//   (2) No description or error contains any part of the secret.

import Crypto
import CryptoExtras
package import FoundationEssentials
import SwiftASN1

/// A private key.
package struct AsymmetricPrivateKey: Sendable {
    enum Key: Sendable {
        case rsa(RSAPrivateKey)
        case elliptic(any EllipticPrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
        case x25519(Curve25519.KeyAgreement.PrivateKey)
    }

    let key: Key
    /// The public key of the pair.
    package let publicKey: AsymmetricPublicKey

    private init(_ key: Key) throws {
        self.key = key
        let publicHalf: AsymmetricPublicKey.Key =
            switch key {
            case .rsa(let key): .rsa(try key.publicKey())
            case .elliptic(let key): .elliptic(key.publicKey)
            case .ed25519(let key): .ed25519(key.publicKey)
            case .x25519(let key): .x25519(key.publicKey)
            }
        publicKey = AsymmetricPublicKey(publicHalf)
    }

    package var shape: KeyShape { publicKey.shape }

    /// The sizes of new RSA keys in bits, which must also be multiples of 128. Generating a larger
    /// key would take minutes.
    package static let newRSASizes = 1024...8192

    /// Generates a key with the system's random number generator.
    ///
    /// - Throws: `parameter` if an RSA key can't have this size; `generation` if the library fails.
    package init(random shape: KeyShape) throws(KeyOperationFailure) {
        do {
            switch shape {
            case .rsa(let size):
                // The library would round the size down without an error.
                guard Self.newRSASizes.contains(size), size % 128 == 0 else {
                    throw KeyOperationFailure.parameter(
                        "The size of a new RSA key must be a multiple of 128, from 1024 to 8192 "
                            + "bits.")
                }
                try self.init(.rsa(RSAPrivateKey(randomOf: size)))
            case .elliptic(let curve):
                try self.init(.elliptic(curve.randomKey()))
            case .ed25519:
                try self.init(.ed25519(Curve25519.Signing.PrivateKey()))
            case .x25519:
                try self.init(.x25519(Curve25519.KeyAgreement.PrivateKey()))
            }
        } catch {
            throw error as? KeyOperationFailure ?? .generation
        }
    }

    // MARK: Encodings

    /// Reads a key in Apple's external representation: PKCS #1 for RSA, 04 ‖ X ‖ Y ‖ K for NIST
    /// curves, 32 bytes for Ed25519 and X25519. PKCS #8 is accepted for RSA too.
    package init(
        externalRepresentation bytes: Data, kind: KeyKind
    ) throws(KeyOperationFailure) {
        do {
            switch kind {
            case .rsa:
                let rsa = try RSAPrivateKey(der: bytes)
                // The library ignores bytes after the key. They are rejected here, as is every
                // encoding other than the library's own.
                guard bytes == rsa.pkcs1 || bytes == rsa.pkcs8 else {
                    throw KeyOperationFailure.parameter(
                        "The RSA key has an unusual encoding, or is followed by other bytes.")
                }
                try self.init(.rsa(rsa))
            case .elliptic:
                guard let curve = EllipticCurve(byteCount: bytes.count, isPrivate: true) else {
                    throw KeyOperationFailure.parameter("No curve has private keys of this size.")
                }
                try self.init(.elliptic(curve.privateKey(x963: bytes)))
            case .ed25519:
                try self.init(.ed25519(Curve25519.Signing.PrivateKey(rawRepresentation: bytes)))
            case .x25519:
                try self.init(
                    .x25519(Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes)))
            }
        } catch {
            throw AsymmetricPublicKey.notAKey(error)
        }
    }

    /// Reads a key as PKCS #8 (RFC 5958), RSAPrivateKey (PKCS #1) or ECPrivateKey (SEC 1).
    ///
    /// - Returns: `nil` for other bytes, for a key of an unsupported algorithm or curve, and for an
    ///   ECPrivateKey that doesn't name its curve.
    package init?(pkcs8 bytes: Data) {
        guard bytes.isOneDERElement,
            let info = PrivateKeyInfo(anyForm: Array(bytes))
        else { return nil }
        do {
            guard let key = try Key(info) else { return nil }
            try self.init(key)
        } catch {
            return nil
        }
    }

    package var externalRepresentation: Data {
        switch key {
        case .rsa(let key): key.pkcs1
        case .elliptic(let key): key.x963
        case .ed25519(let key): key.rawRepresentation
        case .x25519(let key): key.rawRepresentation
        }
    }

    package var pkcs8Representation: Data {
        switch key {
        case .rsa(let key): key.pkcs8
        case .elliptic(let key): key.pkcs8
        case .ed25519(let key): key.pkcs8DERRepresentation
        case .x25519(let key): key.pkcs8DERRepresentation
        }
    }
}

extension AsymmetricPrivateKey.Key {
    /// Reads the key of a PrivateKeyInfo. The result is `nil` if its algorithm or curve isn't
    /// supported.
    ///
    /// The crypto library accepts a key of any algorithm or curve if its numbers have the right
    /// size, for example an X25519 key as an Ed25519 key. So algorithm and curve are checked first.
    fileprivate init?(_ info: PrivateKeyInfo) throws {
        let bytes = Data(info.bytes)
        switch info.algorithm {
        case .rsaEncryption:
            self = .rsa(try RSAPrivateKey(der: bytes))
        case .ellipticCurve:
            guard let curve = EllipticCurve.allCases.first(where: { $0.identifier == info.curve })
            else { return nil }
            self = .elliptic(try curve.privateKey(der: bytes))
        case .ed25519:
            self = .ed25519(try Curve25519.Signing.PrivateKey(derRepresentation: bytes))
        case .x25519:
            self = .x25519(try Curve25519.KeyAgreement.PrivateKey(derRepresentation: bytes))
        default:
            return nil
        }
    }
}

extension EllipticCurve {
    /// The object identifier of the curve.
    fileprivate var identifier: ASN1ObjectIdentifier {
        switch self {
        case .p256: [1, 2, 840, 10045, 3, 1, 7]
        case .p384: [1, 3, 132, 0, 34]
        case .p521: [1, 3, 132, 0, 35]
        }
    }
}
