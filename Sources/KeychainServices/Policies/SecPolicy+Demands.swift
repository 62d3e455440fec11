// SecPolicy+Demands: what a policy demands of a certificate itself, whatever its issuer. Searches
// by policy ask for this alone; evaluations ask for the chain as well.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1

/// Why a certificate is not trusted, or not what a policy demands.
struct TrustFailure: Error, Hashable, Sendable {
    let status: OSStatus
    /// What was wrong, in a sentence. It may name a certificate's subject.
    let reason: String
    /// Whether the user should not be asked if the certificate is to be trusted nevertheless.
    var isFatal = false
}

extension SecPolicy {
    /// What the policy demands and the certificate doesn't have; nil if it has everything.
    ///
    /// Its validity is not looked at, nor is its signature.
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

    /// What the policy demands of an authority between the certificate and the anchor: an extended
    /// key usage, if it has one, that allows the purpose.
    ///
    /// Apple asks this of the certificate alone. But among the intermediates of the system's
    /// authorities are some for mail, say, that are not audited as those for servers are, and they
    /// must not be able to vouch for a server.
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
    /// The purposes in the extension for extended key usage; nil if it is absent or can't be read.
    private var extendedKeyUsage: [ASN1ObjectIdentifier]? {
        structure.value(of: .extendedKeyUsage).flatMap { value in
            try? DER.parse(value).children(.sequence).map {
                try ASN1ObjectIdentifier(derEncoded: $0)
            }
        }
    }

    /// The first bits of the extension for key usage, the highest bit first; nil if it is absent.
    /// An extension that can't be read allows nothing.
    var keyUsage: UInt8? {
        structure.value(of: .keyUsage).map { value in
            let bits = try? DER.parse(value)
            return bits.flatMap { try? ASN1BitString(derEncoded: $0).bytes.first } ?? 0
        }
    }

    /// A certificate without the extension is good for everything, as RFC 5280 says.
    fileprivate func usageFailure(
        _ usage: ASN1ObjectIdentifier, _ status: OSStatus
    ) -> TrustFailure? {
        guard structure.value(of: .extendedKeyUsage) != nil else { return nil }
        let usages = extendedKeyUsage ?? []
        guard !usages.contains(usage), !usages.contains(.anyExtendedKeyUsage) else { return nil }
        return TrustFailure(
            status: status,
            reason: "The extended key usage of \(nameForPeople) doesn't allow this purpose.")
    }

    fileprivate var serverUsageFailure: TrustFailure? {
        // Apple's rule since July 2019: servers have the extension, and are valid for 825 days at
        // most.
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
        // Digital signature, non-repudiation, the two encipherments or key agreement.
        guard let keyUsage, keyUsage & 0b1111_1000 == 0 else { return nil }
        return TrustFailure(
            status: errSecSMIMEBadKeyUsage,
            reason: "The key usage of \(nameForPeople) allows neither signing nor encryption.")
    }

    /// Whether subject and issuer are one.
    var isSelfIssued: Bool {
        structure.subject.normalizedContent == structure.issuer.normalizedContent
    }

    /// What errors call the certificate.
    var nameForPeople: String {
        subjectSummary.map { "The certificate \"\($0)\"" } ?? "The certificate without a name"
    }

    /// 2019-07-01.
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

    /// Whether the certificate has the mail address, whatever the case of its letters.
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
