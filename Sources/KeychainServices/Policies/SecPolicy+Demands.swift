// SecPolicy+Demands: the requirements of a policy for a certificate itself, whatever its issuer is,
// and for the certificate authorities between it and the anchor. A search by policy checks only the
// former and the validity period; a trust evaluation also checks the chain.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1

/// The reason why a certificate is not trusted or doesn't satisfy a policy.
struct TrustFailure: Error, Hashable, Sendable {
    let status: OSStatus
    /// A text that explains the failure. It may contain a certificate's subject or the policy's
    /// host name.
    let reason: String
    /// Whether the user must not be given the choice to ignore the failure.
    var isFatal = false
}

extension SecPolicy {
    /// The requirement of the policy that the certificate doesn't meet, or `nil` if it meets all.
    ///
    /// The signature is not checked, nor whether the certificate has expired or is not valid yet.
    func failure(of certificate: SecCertificate) -> TrustFailure? {
        switch purpose {
        case .basic:
            return nil
        case .server(let name):
            return certificate.serverUsageFailure
                ?? name.flatMap { certificate.nameFailure(host: $0) }
        case .client(let name):
            return certificate.usageFailure(.clientAuthentication, errSecSSLBadExtendedKeyUsage)
                ?? name.flatMap { certificate.nameFailure(host: $0) }
        case .mail(let address):
            return certificate.mailUsageFailure
                ?? address.flatMap { certificate.nameFailure(mailAddress: $0) }
        }
    }

    /// The requirement of the policy that an intermediate certificate authority doesn't meet, or
    /// `nil`. If its certificate has an extended key usage, this usage must allow the policy's
    /// purpose.
    ///
    /// Apple checks only the certificate itself. But some intermediates of the system's certificate
    /// authorities are, for example, only for email. They are not audited like those for servers,
    /// so they must not be able to issue a server's certificate.
    func failure(ofIntermediate certificate: SecCertificate) -> TrustFailure? {
        let usage: ASN1ObjectIdentifier
        switch purpose {
        case .basic: return nil
        case .server: usage = .serverAuthentication
        case .client: usage = .clientAuthentication
        case .mail: usage = .emailProtection
        }
        return certificate.usageFailure(usage, errSecInvalidExtendedKeyUsage)
    }
}

// MARK: - Usage

extension SecCertificate {
    /// The purposes in the extended key usage extension, or `nil` if it is absent or can't be read.
    private var extendedKeyUsage: [ASN1ObjectIdentifier]? {
        structure.value(of: .extendedKeyUsage).flatMap { value in
            try? DER.parse(value).children(.sequence).map {
                try ASN1ObjectIdentifier(derEncoded: $0)
            }
        }
    }

    /// The first byte of the key usage extension, with the first bit as the most significant, or
    /// `nil` if it is absent. An extension that can't be read allows nothing.
    var keyUsage: UInt8? {
        structure.value(of: .keyUsage).map { value in
            let bits = try? DER.parse(value)
            return bits.flatMap { try? ASN1BitString(derEncoded: $0).bytes.first } ?? 0
        }
    }

    /// The failure if the extended key usage doesn't allow a purpose. Without the extension, a
    /// certificate may be used for all purposes (RFC 5280).
    fileprivate func usageFailure(
        _ usage: ASN1ObjectIdentifier, _ status: OSStatus
    ) -> TrustFailure? {
        guard structure.value(of: .extendedKeyUsage) != nil else { return nil }
        let usages = extendedKeyUsage ?? []
        guard !usages.contains(usage), !usages.contains(.anyExtendedKeyUsage) else { return nil }
        return TrustFailure(
            status: status,
            reason: "\(nameForPeople) has an extended key usage that doesn't allow this purpose.")
    }

    fileprivate var serverUsageFailure: TrustFailure? {
        // Apple's rule for certificates issued since July 2019: the extended key usage must be
        // present and name server authentication, and the validity is at most 825 days.
        guard structure.notBefore >= Self.july2019 else {
            return usageFailure(.serverAuthentication, errSecSSLBadExtendedKeyUsage)
        }
        guard let usages = extendedKeyUsage, usages.contains(.serverAuthentication) else {
            return TrustFailure(
                status: errSecSSLBadExtendedKeyUsage,
                reason: "\(nameForPeople) lacks the extended key usage of a server.")
        }
        let validity = structure.notAfter.timeIntervalSince(structure.notBefore)
        guard validity <= 825 * 86_400 else {
            return TrustFailure(
                status: errSecCertificateValidityPeriodTooLong,
                reason: "\(nameForPeople) is valid for more than 825 days, too long for a server.")
        }
        return nil
    }

    fileprivate var mailUsageFailure: TrustFailure? {
        if let failure = usageFailure(.emailProtection, errSecSMIMEBadExtendedKeyUsage) {
            return failure
        }
        // The mask contains digitalSignature, nonRepudiation, keyEncipherment, dataEncipherment and
        // keyAgreement.
        guard let keyUsage, keyUsage & 0b1111_1000 == 0 else { return nil }
        return TrustFailure(
            status: errSecSMIMEBadKeyUsage,
            reason: "\(nameForPeople) has a key usage that allows neither signing nor encryption.")
    }

    /// Whether subject and issuer are the same.
    var isSelfIssued: Bool {
        structure.subject.normalizedContent == structure.issuer.normalizedContent
    }

    /// The certificate's name for error messages, in the form that begins a sentence.
    var nameForPeople: String {
        subjectSummary.map { "The certificate \"\($0)\"" } ?? "The certificate without a name"
    }

    /// 2019-07-01 00:00 UTC.
    private static let july2019 = Date(timeIntervalSince1970: 1_561_939_200)
}

// MARK: - Names

extension SecCertificate {
    fileprivate func nameFailure(host: String) -> TrustFailure? {
        guard !HostName(host).isAmong(alternativeNames) else { return nil }
        return TrustFailure(
            status: errSecHostNameMismatch,
            reason: "\(nameForPeople) is not for the host name \"\(host)\".")
    }

    /// Whether the certificate contains the email address, compared without regard to case.
    func has(emailAddress: String) -> Bool {
        let wanted = emailAddress.lowercased()
        return emailAddresses.contains { $0.lowercased() == wanted }
    }

    fileprivate func nameFailure(mailAddress: String) -> TrustFailure? {
        guard !has(emailAddress: mailAddress) else { return nil }
        return TrustFailure(
            status: errSecSMIMEEmailAddressesNotFound,
            reason: "\(nameForPeople) is not for the mail address of the policy.")
    }
}

// MARK: - Identifiers

extension ASN1ObjectIdentifier {
    static let keyUsage: ASN1ObjectIdentifier = [2, 5, 29, 15]
    static let extendedKeyUsage: ASN1ObjectIdentifier = [2, 5, 29, 37]
    static let anyExtendedKeyUsage: ASN1ObjectIdentifier = [2, 5, 29, 37, 0]
    static let serverAuthentication: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 3, 1]
    static let clientAuthentication: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 3, 2]
    static let emailProtection: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 3, 4]
}

#endif
