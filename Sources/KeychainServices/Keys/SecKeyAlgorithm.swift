// SecKeyAlgorithm: the names of what keys can do, and what each name stands for.
//   (1) A name is Apple's text. Any text makes a value; what it stands for is looked up here.

#if !canImport(Darwin)

public import Foundation
package import KeychainAsymmetricKeys

/// The name of an operation with a key: what is put in, how it is padded or hashed, what comes out.
///
/// ``SecKeyIsAlgorithmSupported(_:_:_:)`` tells whether a key can do it. It corresponds to the type of
/// the same name.
public struct SecKeyAlgorithm: RawRepresentable, Hashable, Sendable {
    let name: String

    /// Apple's text, such as `algid:sign:ECDSA:message-X962:SHA256`.
    public var rawValue: CFString { NSString(string: name) }

    /// An algorithm of this name, known or not.
    public init(rawValue: CFString) {
        self.name = rawValue as String
    }

    /// An algorithm of this name, known or not.
    public init(_ rawValue: CFString) {
        self.init(rawValue: rawValue)
    }

    init(name: String) {
        self.name = name
    }
}

/// What an algorithm's name stands for.
package enum KeyAlgorithm: Hashable, Sendable {
    case signature(SignatureAlgorithm)
    case encryption(EncryptionAlgorithm)
    case keyExchange(KeyExchangeAlgorithm)
    /// Apple has it, and the crypto library doesn't.
    case notBuilt(String)
}

extension SecKeyAlgorithm {
    /// What the name stands for; nil for a name that Apple doesn't have.
    package var meaning: KeyAlgorithm? { Self.meanings[name] }

    /// Every name that stands for something.
    package static var all: [SecKeyAlgorithm] {
        meanings.keys.sorted().map { SecKeyAlgorithm(name: $0) }
    }

    private static let meanings: [String: KeyAlgorithm] = {
        var table: [String: KeyAlgorithm] = [
            "algid:sign:RSA:raw": .signature(.rsaRaw),
            "algid:sign:RSA:digest-PKCS1v15": .signature(.rsaPKCS1v15(nil, .digest)),
            // The oldest of the names; the same as the digest form below.
            "algid:sign:ECDSA:RFC4754": .signature(.ecdsa(nil, .digest, .rfc4754)),
            "algid:sign:ECDSA:digest-X962": .signature(.ecdsa(nil, .digest, .x962)),
            "algid:sign:ECDSA:digest-RFC4754": .signature(.ecdsa(nil, .digest, .rfc4754)),
            "algid:sign:EdDSA:message-Curve25519:SHA512": .signature(.ed25519),
            "algid:encrypt:RSA:raw": .encryption(.rsaRaw),
            "algid:encrypt:RSA:PKCS1": .encryption(.rsaPKCS1),
            "algid:keyexchange:ECDH": .keyExchange(.ecdh),
            "algid:keyexchange:ECDHC": .keyExchange(.ecdh),
            "algid:sign:EdDSA:message-Curve448:SHAKE256": .notBuilt("signatures with Ed448"),
            "algid:kem:kyber": .notBuilt("Kyber"),
            "algid:kem:ML-KEM": .notBuilt("ML-KEM"),
            "algid:sign:ML-DSA:message": .notBuilt("signatures with ML-DSA"),
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
            // Apple has no form with SHA-1 of these.
            guard digest != .sha1 else { continue }
            table["algid:encrypt:ECIES:\(exchange):KDFX963:\(hash):AESGCM-KDFIV"] =
                .encryption(.ecies(digest, derivesInitializationVector: true))
        }
        return table
    }
}

extension DigestAlgorithm {
    /// The last part of the names of PSS. Apple's names with SHA-224 say 24; the salt has 28 bytes.
    fileprivate var saltName: Int { self == .sha224 ? 24 : byteCount }
}

#endif
