// SecCertificateFields: the functions that read one field of a certificate.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// Returns a name for a certificate's subject that people understand.
///
/// - Returns: The common name, with the description in brackets if there is one; else the first
///   mail address or host name; else the organizational units, the organization or what other texts
///   the subject has; nil if it has none.
///
/// It corresponds to the function of the same name.
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    certificate.subjectSummary.map { $0 as NSString }
}

/// Reads the common name of a certificate's subject.
///
/// - Parameters:
///   - certificate: The certificate.
///   - commonName: Receives the name; the last one of several, which is the most specific. Left
///     alone after a failure.
/// - Returns: ``errSecSuccess``, or `errSecInternal` if the subject has no common name.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    guard let name = certificate.structure.subject.texts(of: .commonName).last else {
        return errSecInternal
    }
    // SAFETY: the pointer is the caller's, valid as Apple's function asks for.
    unsafe commonName.pointee = name as NSString
    return errSecSuccess
}

/// Reads the mail addresses in a certificate.
///
/// - Parameters:
///   - certificate: The certificate.
///   - emailAddresses: Receives the addresses as strings: those among the alternative names, then
///     those of the subject. An empty array if there are none.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    // SAFETY: the pointer is the caller's, valid as Apple's function asks for.
    unsafe emailAddresses.pointee = certificate.emailAddresses as NSArray
    return errSecSuccess
}

/// Returns a certificate's serial number.
///
/// - Parameters:
///   - certificate: The certificate.
///   - error: Left alone: every certificate has a serial number.
/// - Returns: The bytes of the integer in two's complement, most significant first, without DER's
///   tag and length: 1 to 37. Never nil.
///
/// It corresponds to the function of the same name.
public func SecCertificateCopySerialNumberData(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    certificate.structure.serialNumber as NSData
}

/// Returns a certificate's serial number: ``SecCertificateCopySerialNumberData(_:_:)`` under its
/// older name, as macOS has it.
@available(*, deprecated, renamed: "SecCertificateCopySerialNumberData")
public func SecCertificateCopySerialNumber(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the pointer is handed on as the caller gave it.
    unsafe SecCertificateCopySerialNumberData(certificate, error)
}

/// Returns a certificate's serial number: ``SecCertificateCopySerialNumberData(_:_:)`` under its
/// older name, as iOS has it.
@available(*, deprecated, message: "Use SecCertificateCopySerialNumberData")
public func SecCertificateCopySerialNumber(_ certificate: SecCertificate) -> CFData? {
    SecCertificateCopySerialNumberData(certificate, nil)
}

/// Returns the name of a certificate's issuer in the form in which names are compared.
///
/// - Returns: The name in DER, with printable strings in capitals and without superfluous white
///   space. It can be given for ``kSecMatchIssuers``. Never nil.
///
/// It corresponds to the function of the same name.
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.structure.issuer.normalizedSequence as NSData
}

/// Returns the name of a certificate's subject in the form in which names are compared.
///
/// - Returns: As ``SecCertificateCopyNormalizedIssuerSequence(_:)``.
///
/// It corresponds to the function of the same name.
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.structure.subject.normalizedSequence as NSData
}

/// Returns the moment from which on a certificate is valid. Never nil.
///
/// It corresponds to the function of the same name.
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.structure.notBefore as NSDate
}

/// Returns the last moment at which a certificate is valid. Never nil.
///
/// It corresponds to the function of the same name.
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.structure.notAfter as NSDate
}

#endif
