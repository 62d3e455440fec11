// SecKeyAlgorithm: the names of key operations, and the meaning of each name.
//   (1) A name is Apple's string. Any string can be used to create a value; unknown names are
//       detected when the meaning is looked up.

#if !canImport(Darwin)

public import Foundation
package import KeychainAsymmetricKeys

/// The name of a key operation. It determines the input, the padding and hash function, and the
/// output.
///
/// ``SecKeyIsAlgorithmSupported(_:_:_:)`` returns whether a key supports the operation. This type
/// corresponds to Apple's type of the same name.
public struct SecKeyAlgorithm: RawRepresentable, Hashable, Sendable {
    let name: String

    /// Apple's string, such as `algid:sign:ECDSA:message-X962:SHA256`.
    public var rawValue: CFString { NSString(string: name) }

    /// Creates an algorithm from a name, which may be unknown.
    public init(rawValue: CFString) {
        self.name = rawValue as String
    }

    /// Creates an algorithm from a name, which may be unknown.
    public init(_ rawValue: CFString) {
        self.init(rawValue: rawValue)
    }

    init(name: String) {
        self.name = name
    }
}

/// The meaning of an algorithm's name.
package enum KeyAlgorithm: Hashable, Sendable {
    case signature(SignatureAlgorithm)
    case encryption(EncryptionAlgorithm)
    case keyExchange(KeyExchangeAlgorithm)
    /// An algorithm that Apple supports, but this module doesn't implement.
    case notImplemented(String)
}

extension SecKeyAlgorithm {
    /// The meaning of the name, or `nil` if the name is unknown.
    package var meaning: KeyAlgorithm? { Self.meanings[name] }

    /// All known names.
    package static var all: [SecKeyAlgorithm] {
        meanings.keys.sorted().map { SecKeyAlgorithm(name: $0) }
    }

    private static let meanings: [String: KeyAlgorithm] = {
        var table: [String: KeyAlgorithm] = [
            "algid:sign:RSA:raw": .signature(.rsaRaw),
            "algid:sign:RSA:digest-PKCS1v15": .signature(.rsaPKCS1v15(nil, .digest)),
            // An older name that means the same as "algid:sign:ECDSA:digest-RFC4754".
            "algid:sign:ECDSA:RFC4754": .signature(.ecdsa(nil, .digest, .rfc4754)),
            "algid:sign:ECDSA:digest-X962": .signature(.ecdsa(nil, .digest, .x962)),
            "algid:sign:ECDSA:digest-RFC4754": .signature(.ecdsa(nil, .digest, .rfc4754)),
            "algid:sign:EdDSA:message-Curve25519:SHA512": .signature(.ed25519),
            "algid:encrypt:RSA:raw": .encryption(.rsaRaw),
            "algid:encrypt:RSA:PKCS1": .encryption(.rsaPKCS1),
            "algid:keyexchange:ECDH": .keyExchange(.ecdh),
            "algid:keyexchange:ECDHC": .keyExchange(.ecdh),
            "algid:sign:EdDSA:message-Curve448:SHAKE256": .notImplemented("signatures with Ed448"),
            "algid:kem:kyber": .notImplemented("Kyber"),
            "algid:kem:ML-KEM": .notImplemented("ML-KEM"),
            "algid:sign:ML-DSA:message": .notImplemented("signatures with ML-DSA"),
        ]
        for digest in DigestAlgorithm.allCases {
            table.merge(names(of: digest)) { known, _ in known }
        }
        return table
    }()

    private static func names(of digest: DigestAlgorithm) -> [String: KeyAlgorithm] {
        let hash = digest.rawValue
        var table: [String: KeyAlgorithm] = [
            "algid:encrypt:RSA:OAEP:\(hash)": .encryption(.rsaOAEP(digest)),
            "algid:encrypt:RSA:OAEP:\(hash):AESGCM": .encryption(.rsaOAEPWithAESGCM(digest)),
        ]
        for (prefix, input) in [("digest", SignatureInput.digest), ("message", .message)] {
            table["algid:sign:RSA:\(prefix)-PKCS1v15:\(hash)"] =
                .signature(.rsaPKCS1v15(digest, input))
            table["algid:sign:RSA:\(prefix)-PSS:\(hash):\(hash):\(digest.saltName)"] =
                .signature(.rsaPSS(digest, input))
            table["algid:sign:ECDSA:\(prefix)-X962:\(hash)"] =
                .signature(.ecdsa(digest, input, .x962))
            table["algid:sign:ECDSA:\(prefix)-RFC4754:\(hash)"] =
                .signature(.ecdsa(digest, input, .rfc4754))
        }
        for exchange in ["ECDH", "ECDHC"] {
            table["algid:keyexchange:\(exchange):KDFX963:\(hash)"] =
                .keyExchange(.ecdhX963(digest))
            table["algid:encrypt:ECIES:\(exchange):KDFX963:\(hash):AESGCM"] =
                .encryption(.ecies(digest, derivesInitializationVector: false))
            // Apple has no algorithms with SHA-1 and a derived initialization vector.
            guard digest != .sha1 else { continue }
            table["algid:encrypt:ECIES:\(exchange):KDFX963:\(hash):AESGCM-KDFIV"] =
                .encryption(.ecies(digest, derivesInitializationVector: true))
        }
        return table
    }
}

extension DigestAlgorithm {
    /// The last part of the names for PSS. Apple's names for SHA-224 contain 24, although the salt
    /// has 28 bytes.
    fileprivate var saltName: Int { self == .sha224 ? 24 : byteCount }
}

#endif
