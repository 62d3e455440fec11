// SecCertificate: an X.509 certificate.
//   (1) A value that exists is one certificate in DER: bytes that are not give none.
//   (2) It never changes, and two with the same bytes are equal.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

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
    SecCertificate(der: data as Data)
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

#endif
