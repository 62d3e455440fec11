// SecCertificate: an X.509 certificate, what the keychain stores about it, and its public key as a
// key of its own.
//   (1) A value that exists is one certificate in DER: bytes that are not give none.
//   (2) It never changes, and two with the same bytes are equal.
//   (3) What the keychain stores about it is derived from its bytes.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
package import KeychainCore
internal import KeychainCrypto
internal import SwiftASN1

/// An X.509 certificate.
///
/// Make one with ``SecCertificateCreateWithData(_:_:)``, or find one in the keychain. It holds
/// whatever the bytes say: whether to believe them is for ``SecTrust`` to find out. It corresponds
/// to `SecCertificateRef`; equality is by content.
public final class SecCertificate: NSObject, Sendable {
    /// The certificate as it was read.
    package let der: Data

    let structure: CertificateStructure

    /// - Returns: nil unless the bytes are one certificate in DER and nothing more.
    package init?(der: Data) {
        // A slice of a larger buffer would keep the whole of it in memory.
        let der = Data(Array(der))
        guard let structure = CertificateStructure(der: der) else { return nil }
        self.der = der
        self.structure = structure
    }

    /// Equality by content.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecCertificate else { return false }
        return der == other.der
    }

    /// A hash of the content.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(der)
        return hasher.finalize()
    }

    /// The summary of the subject.
    public override var description: String {
        "<SecCertificate: \(subjectSummary ?? "without a name")>"
    }
}

extension SecCertificate: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.certificate
}

/// Makes a certificate.
///
/// - Parameters:
///   - allocator: Ignored.
///   - data: The certificate in DER, and nothing else.
/// - Returns: The certificate, or nil if the bytes are not exactly one certificate. Text in PEM is
///   none: `SecItemImport` reads it. Unknown algorithms and extensions are
///   accepted.
///
/// It corresponds to the function of the same name.
public func SecCertificateCreateWithData(
    _ allocator: CFAllocator?, _ data: CFData
) -> SecCertificate? {
    SecCertificate(der: data.contents)
}

/// Returns a certificate's bytes.
///
/// - Returns: The DER that the certificate was made from.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData {
    certificate.der as NSData
}

/// Returns the identifier of certificates, for comparison with ``CFGetTypeID(_:)``.
public func SecCertificateGetTypeID() -> CFTypeID {
    CoreFoundationType.certificate.rawValue
}

// MARK: - Attributes

extension SecCertificate {
    /// The attributes of the certificate as an item, as Apple derives them. The label is not among
    /// them.
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

    /// SHA-1 of the public key's bits: the application label of the keys that belong to it.
    var publicKeyHash: Data {
        Data(Fingerprint.sha1(of: Array(structure.publicKeyBits)))
    }

    /// The content of the extension of that name; nil if it is absent or can't be read.
    var subjectKeyIdentifier: Data? {
        guard let value = structure.value(of: .subjectKeyIdentifier),
            let bytes = try? DER.parse(value).primitive(.octetString)
        else { return nil }
        return Data(bytes)
    }

    /// The number of DER among the encodings of certificates.
    private static let encodedAsDER: Int64 = 3
}

extension ASN1ObjectIdentifier {
    static let subjectKeyIdentifier: ASN1ObjectIdentifier = [2, 5, 29, 14]
}

// MARK: - The public key

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
