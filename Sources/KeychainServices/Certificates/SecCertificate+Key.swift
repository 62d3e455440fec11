// SecCertificate+Key: the public key of a certificate, as a key of its own.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAsymmetricKeys

/// Returns the public key of a certificate.
///
/// - Returns: The key, or nil if it is none of RSA, P-256, P-384, P-521, Ed25519 and X25519, or is
///   no key at all.
///
/// It corresponds to the function of the same name.
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    AsymmetricPublicKey(subjectPublicKeyInfo: certificate.structure.publicKeyInfo).map {
        SecKey(.publicKey($0))
    }
}

/// Returns the public key of the certificate that is judged.
///
/// - Returns: As ``SecCertificateCopyKey(_:)``, whether or not the certificate is trusted.
///
/// It corresponds to the function of the same name.
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? {
    SecCertificateCopyKey(trust.settings.leaf)
}

#endif
