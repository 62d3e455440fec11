// SecCertificateFields: the functions that read one field of a certificate.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// Returns a display name for a certificate's subject.
///
/// - Returns: The common name, with the description in parentheses if there is one; otherwise the
///   first email address or host name; otherwise the organizational units, the organization or the
///   other texts of the subject; `nil` if there are none.
///
/// It corresponds to Apple's function of the same name.
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    certificate.subjectSummary.map { $0 as NSString }
}

/// Reads the common name of a certificate's subject.
///
/// - Parameters:
///   - certificate: The certificate.
///   - commonName: Receives the name. If there are several, the last one, which is the most
///     specific. Unchanged after a failure.
/// - Returns: ``errSecSuccess``, or `errSecInternal` if the subject has no common name.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    guard let name = certificate.structure.subject.texts(of: .commonName).last else {
        return errSecInternal
    }
    // SAFETY: the caller guarantees a valid pointer, as Apple's function requires.
    unsafe commonName.pointee = name as NSString
    return errSecSuccess
}

/// Reads the email addresses in a certificate.
///
/// - Parameters:
///   - certificate: The certificate.
///   - emailAddresses: Receives the addresses as strings: first those among the alternative names,
///     then those of the subject. The array is empty if there are none.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    // SAFETY: the caller guarantees a valid pointer, as Apple's function requires.
    unsafe emailAddresses.pointee = certificate.emailAddresses as NSArray
    return errSecSuccess
}

/// Returns a certificate's serial number.
///
/// - Parameters:
///   - certificate: The certificate.
///   - error: Never set, because every certificate has a serial number.
/// - Returns: The bytes of the integer in two's complement, big-endian, without DER's tag and
///   length: 1 to 37 bytes. Never `nil`.
///
/// It corresponds to Apple's function of the same name.
public func SecCertificateCopySerialNumberData(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    certificate.structure.serialNumber as NSData
}

/// Returns a certificate's serial number. This is the older name of
/// ``SecCertificateCopySerialNumberData(_:_:)`` on macOS.
@available(*, deprecated, renamed: "SecCertificateCopySerialNumberData")
public func SecCertificateCopySerialNumber(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the pointer is passed on unchanged.
    unsafe SecCertificateCopySerialNumberData(certificate, error)
}

/// Returns a certificate's serial number. This is the older name of
/// ``SecCertificateCopySerialNumberData(_:_:)`` on iOS.
@available(*, deprecated, message: "Use SecCertificateCopySerialNumberData")
public func SecCertificateCopySerialNumber(_ certificate: SecCertificate) -> CFData? {
    SecCertificateCopySerialNumberData(certificate, nil)
}

/// Returns the name of a certificate's issuer in normalized form, in which names can be compared.
///
/// - Returns: The name in DER, with the letters of printable strings in upper case and
///   insignificant white space removed. It can be one of the names in ``kSecMatchIssuers``. Never
///   `nil`.
///
/// It corresponds to Apple's function of the same name.
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.structure.issuer.normalizedSequence as NSData
}

/// Returns the name of a certificate's subject in normalized form, in which names can be compared.
///
/// - Returns: The same form as ``SecCertificateCopyNormalizedIssuerSequence(_:)``. Never `nil`.
///
/// It corresponds to Apple's function of the same name.
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.structure.subject.normalizedSequence as NSData
}

/// Returns the start of a certificate's validity period. Never `nil`.
///
/// It corresponds to Apple's function of the same name.
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.structure.notBefore as NSDate
}

/// Returns the last moment of a certificate's validity period. Never `nil`.
///
/// It corresponds to Apple's function of the same name.
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.structure.notAfter as NSDate
}

#endif
