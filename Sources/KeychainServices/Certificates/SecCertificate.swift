// SecCertificate: an X.509 certificate, the attributes that the keychain stores for it, and its
// public key as a `SecKey`.
//   (1) An instance always contains exactly one certificate in DER. Other bytes are rejected at
//       creation.
//   (2) An instance is immutable, and two instances with the same bytes are equal.
//   (3) The attributes that the keychain stores for a certificate object are derived from these
//       bytes, unless the request contains other values.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
package import KeychainCore
internal import KeychainCrypto
internal import SwiftASN1

/// An X.509 certificate.
///
/// Create one with ``SecCertificateCreateWithData(_:_:)``, or find one in the keychain. A
/// certificate is not verified when it is created; evaluate it with ``SecTrust``. The type
/// corresponds to Apple's `SecCertificateRef`; equality is by content.
public final class SecCertificate: NSObject, Sendable {
    /// The certificate in DER, as it was read.
    package let der: Data

    let structure: CertificateStructure

    /// - Returns: `nil` unless the bytes are exactly one certificate in DER.
    package init?(der: Data) {
        // Copy the bytes, because a slice would keep the whole of a larger buffer in memory.
        let der = Data(Array(der))
        guard let structure = CertificateStructure(der: der) else { return nil }
        self.der = der
        self.structure = structure
    }

    /// Whether the other object is a certificate with the same bytes.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecCertificate else { return false }
        return der == other.der
    }

    /// A hash of the certificate's bytes.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(der)
        return hasher.finalize()
    }

    /// A text that contains the summary of the certificate's subject.
    public override var description: String {
        "<SecCertificate: \(subjectSummary ?? "without a name")>"
    }
}

extension SecCertificate: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.certificate
}

/// Creates a certificate.
///
/// - Parameters:
///   - allocator: Ignored.
///   - data: Exactly one certificate in DER.
/// - Returns: The certificate, or `nil` if the bytes are not exactly one certificate. Unknown
///   algorithms and extensions are accepted. PEM is not accepted; use `SecItemImport` for it.
///
/// It corresponds to Apple's function of the same name.
public func SecCertificateCreateWithData(
    _ allocator: CFAllocator?, _ data: CFData
) -> SecCertificate? {
    SecCertificate(der: data.contents)
}

/// Returns a certificate's bytes.
///
/// - Returns: The DER that the certificate was created from.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData {
    certificate.der as NSData
}

/// Returns the type identifier of certificates, for comparison with ``CFGetTypeID(_:)``.
public func SecCertificateGetTypeID() -> CFTypeID {
    CoreFoundationType.certificate.rawValue
}

// MARK: - Attributes

extension SecCertificate {
    /// The attributes that the keychain stores for the certificate, except the label. They are
    /// derived as on Apple platforms.
    package var itemAttributes: Attributes {
        var attributes: Attributes = [
            .certificateType: .number(Int64(structure.version)),
            .certificateEncoding: .number(Self.encodedAsDER),
            .subject: .data(structure.subject.normalizedContent),
            .issuer: .data(structure.issuer.normalizedContent),
            .serialNumber: .data(structure.serialNumber),
            .publicKeyHash: .data(publicKeyHash),
        ]
        if let identifier = subjectKeyIdentifier {
            attributes[.subjectKeyID] = .data(identifier)
        }
        return attributes
    }

    /// The SHA-1 of the public key's bits. It equals the default application label of the
    /// corresponding keys.
    var publicKeyHash: Data {
        Data(Fingerprint.sha1(of: Array(structure.publicKeyBits)))
    }

    /// The content of the subject key identifier extension, or `nil` if it is absent or can't be
    /// read.
    var subjectKeyIdentifier: Data? {
        guard let value = structure.value(of: .subjectKeyIdentifier),
            let bytes = try? DER.parse(value).primitive(.octetString)
        else { return nil }
        return Data(bytes)
    }

    /// The value of `kSecAttrCertificateEncoding` for DER.
    private static let encodedAsDER: Int64 = 3
}

extension ASN1ObjectIdentifier {
    static let subjectKeyIdentifier: ASN1ObjectIdentifier = [2, 5, 29, 14]
}

// MARK: - The public key

/// Returns the public key of a certificate.
///
/// - Returns: The key, or `nil` if it is neither a valid P-256, P-384, P-521, Ed25519 or X25519 key
///   nor a valid RSA key of at least 1024 bits.
///
/// It corresponds to Apple's function of the same name.
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    AsymmetricPublicKey(subjectPublicKeyInfo: certificate.structure.publicKeyInfo).map {
        SecKey(.publicKey($0))
    }
}

/// Returns the public key of the certificate that a trust object evaluates.
///
/// - Returns: The same as ``SecCertificateCopyKey(_:)``, whether or not the certificate is trusted.
///
/// It corresponds to Apple's function of the same name.
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? {
    SecCertificateCopyKey(trust.settings.leaf)
}

#endif
