// EllipticKeys: keys on the curves P-256, P-384 and P-521. The crypto library has a separate type
// for each curve and each use. The protocols here declare the members that these types share.

import Crypto
import FoundationEssentials

// MARK: - Common interface of the library's types

protocol ECDSASignatureBytes {
    init<Bytes: DataProtocol>(rawRepresentation: Bytes) throws
    init<Bytes: DataProtocol>(derRepresentation: Bytes) throws
    var rawRepresentation: Data { get }
    var derRepresentation: Data { get }
}

protocol ECVerifyingKey: Sendable {
    associatedtype Signature: ECDSASignatureBytes
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws
    init<Bytes: RandomAccessCollection>(derRepresentation: Bytes) throws
    where Bytes.Element == UInt8
    var x963Representation: Data { get }
    var derRepresentation: Data { get }
    func isValidSignature<D: Digest>(_ signature: Signature, for digest: D) -> Bool
}

protocol ECSigningKey: Sendable {
    associatedtype PublicKey: ECVerifyingKey
    init(compactRepresentable: Bool)
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws
    init<Bytes: RandomAccessCollection>(derRepresentation: Bytes) throws
    where Bytes.Element == UInt8
    var x963Representation: Data { get }
    var derRepresentation: Data { get }
    var publicKey: PublicKey { get }
    func signature<D: Digest>(for digest: D) throws -> PublicKey.Signature
}

protocol ECAgreementPublicKey: Sendable {
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws
    var x963Representation: Data { get }
}

protocol ECAgreementKey: Sendable {
    associatedtype PublicKey: ECAgreementPublicKey
    init(compactRepresentable: Bool)
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws
    var publicKey: PublicKey { get }
    func sharedSecretFromKeyAgreement(with publicKeyShare: PublicKey) throws -> SharedSecret
}

extension P256.Signing.ECDSASignature: ECDSASignatureBytes {}
extension P256.Signing.PublicKey: ECVerifyingKey {}
extension P256.Signing.PrivateKey: ECSigningKey {}
extension P256.KeyAgreement.PublicKey: ECAgreementPublicKey {}
extension P256.KeyAgreement.PrivateKey: ECAgreementKey {}
extension P384.Signing.ECDSASignature: ECDSASignatureBytes {}
extension P384.Signing.PublicKey: ECVerifyingKey {}
extension P384.Signing.PrivateKey: ECSigningKey {}
extension P384.KeyAgreement.PublicKey: ECAgreementPublicKey {}
extension P384.KeyAgreement.PrivateKey: ECAgreementKey {}
extension P521.Signing.ECDSASignature: ECDSASignatureBytes {}
extension P521.Signing.PublicKey: ECVerifyingKey {}
extension P521.Signing.PrivateKey: ECSigningKey {}
extension P521.KeyAgreement.PublicKey: ECAgreementPublicKey {}
extension P521.KeyAgreement.PrivateKey: ECAgreementKey {}

// MARK: - Keys of any curve

/// A public key on a curve.
protocol EllipticPublicKey: Sendable {
    var curve: EllipticCurve { get }
    /// 04 ‖ X ‖ Y.
    var point: Data { get }
    var subjectPublicKeyInfo: Data { get }

    /// - Returns: `false` also for bytes that are not a signature.
    func verify(_ signature: Data, of digest: PrecomputedDigest, as form: ECDSAForm) -> Bool

    /// Generates an ephemeral key pair and computes the secret it shares with this key.
    func agreeEphemerally() throws -> (ephemeralPoint: Data, secret: [UInt8])
}

/// A private key on a curve.
protocol EllipticPrivateKey: Sendable {
    var publicKey: any EllipticPublicKey { get }
    /// 04 ‖ X ‖ Y ‖ K.
    var x963: Data { get }
    var pkcs8: Data { get }

    func sign(_ digest: PrecomputedDigest, as form: ECDSAForm) throws -> Data

    /// The x coordinate of the shared point.
    func agree(with point: Data) throws -> [UInt8]
}

struct EllipticPublicKeyOf<Verifier: ECVerifyingKey, Agreement: ECAgreementKey>:
    EllipticPublicKey
{
    let curve: EllipticCurve
    let key: Verifier

    var point: Data { key.x963Representation }
    var subjectPublicKeyInfo: Data { key.derRepresentation }

    func verify(_ signature: Data, of digest: PrecomputedDigest, as form: ECDSAForm) -> Bool {
        let parsed =
            switch form {
            case .x962: try? Verifier.Signature(derRepresentation: signature)
            case .rfc4754: try? Verifier.Signature(rawRepresentation: signature)
            }
        guard let parsed else { return false }
        return key.isValidSignature(parsed, for: digest)
    }

    func agreeEphemerally() throws -> (ephemeralPoint: Data, secret: [UInt8]) {
        let ephemeral = Agreement(compactRepresentable: false)
        let peer = try Agreement.PublicKey(x963Representation: point)
        let secret = try ephemeral.sharedSecretFromKeyAgreement(with: peer)
        return (ephemeral.publicKey.x963Representation, secret.bytes)
    }
}

struct EllipticPrivateKeyOf<Signer: ECSigningKey, Agreement: ECAgreementKey>:
    EllipticPrivateKey
{
    let curve: EllipticCurve
    let signer: Signer
    let agreement: Agreement

    init(curve: EllipticCurve, signer: Signer) throws {
        self.curve = curve
        self.signer = signer
        // The library has separate types for signing and for key agreement.
        var bytes = signer.x963Representation
        defer { bytes.resetBytes(in: bytes.startIndex..<bytes.endIndex) }
        agreement = try Agreement(x963Representation: bytes)
    }

    var publicKey: any EllipticPublicKey {
        EllipticPublicKeyOf<Signer.PublicKey, Agreement>(curve: curve, key: signer.publicKey)
    }
    var x963: Data { signer.x963Representation }
    var pkcs8: Data { signer.derRepresentation }

    func sign(_ digest: PrecomputedDigest, as form: ECDSAForm) throws -> Data {
        let signature = try signer.signature(for: digest)
        return switch form {
        case .x962: signature.derRepresentation
        case .rfc4754: signature.rawRepresentation
        }
    }

    func agree(with point: Data) throws -> [UInt8] {
        let peer = try Agreement.PublicKey(x963Representation: point)
        return try agreement.sharedSecretFromKeyAgreement(with: peer).bytes
    }
}

// MARK: - Creation

extension EllipticCurve {
    typealias Private256 = EllipticPrivateKeyOf<
        P256.Signing.PrivateKey, P256.KeyAgreement.PrivateKey
    >
    typealias Private384 = EllipticPrivateKeyOf<
        P384.Signing.PrivateKey, P384.KeyAgreement.PrivateKey
    >
    typealias Private521 = EllipticPrivateKeyOf<
        P521.Signing.PrivateKey, P521.KeyAgreement.PrivateKey
    >
    typealias Public256 = EllipticPublicKeyOf<P256.Signing.PublicKey, P256.KeyAgreement.PrivateKey>
    typealias Public384 = EllipticPublicKeyOf<P384.Signing.PublicKey, P384.KeyAgreement.PrivateKey>
    typealias Public521 = EllipticPublicKeyOf<P521.Signing.PublicKey, P521.KeyAgreement.PrivateKey>

    func randomKey() throws -> any EllipticPrivateKey {
        switch self {
        case .p256: try Private256(curve: self, signer: .init(compactRepresentable: false))
        case .p384: try Private384(curve: self, signer: .init(compactRepresentable: false))
        case .p521: try Private521(curve: self, signer: .init(compactRepresentable: false))
        }
    }

    /// Reads a key from 04 ‖ X ‖ Y ‖ K.
    func privateKey(x963: Data) throws -> any EllipticPrivateKey {
        let key: any EllipticPrivateKey =
            switch self {
            case .p256: try Private256(curve: self, signer: .init(x963Representation: x963))
            case .p384: try Private384(curve: self, signer: .init(x963Representation: x963))
            case .p521: try Private521(curve: self, signer: .init(x963Representation: x963))
            }
        // Reject an encoding that differs from the library's own encoding of the same key.
        guard key.x963 == x963 else {
            throw KeyOperationFailure.parameter(
                "The private key and its public point don't match.")
        }
        return key
    }

    /// Reads a key from PKCS #8 or from the ECPrivateKey of SEC 1.
    func privateKey(der: Data) throws -> any EllipticPrivateKey {
        switch self {
        case .p256: try Private256(curve: self, signer: .init(derRepresentation: der))
        case .p384: try Private384(curve: self, signer: .init(derRepresentation: der))
        case .p521: try Private521(curve: self, signer: .init(derRepresentation: der))
        }
    }

    /// Reads a key from 04 ‖ X ‖ Y.
    func publicKey(point: Data) throws -> any EllipticPublicKey {
        switch self {
        case .p256: Public256(curve: self, key: try .init(x963Representation: point))
        case .p384: Public384(curve: self, key: try .init(x963Representation: point))
        case .p521: Public521(curve: self, key: try .init(x963Representation: point))
        }
    }

    func publicKey(der: Data) throws -> any EllipticPublicKey {
        switch self {
        case .p256: Public256(curve: self, key: try .init(derRepresentation: der))
        case .p384: Public384(curve: self, key: try .init(derRepresentation: der))
        case .p521: Public521(curve: self, key: try .init(derRepresentation: der))
        }
    }
}
