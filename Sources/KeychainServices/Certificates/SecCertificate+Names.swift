// SecCertificate+Names: the names and addresses in a certificate, and its display name.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1

extension SecCertificate {
    /// The email addresses, host names and IP addresses in the subject alternative name extension.
    struct AlternativeNames: Sendable {
        var emailAddresses: [String] = []
        var hostNames: [String] = []
        /// IP addresses: 4 bytes for IPv4, 16 bytes for IPv6. The sizes are not verified.
        var addresses: [Data] = []
    }

    /// The alternative names of the certificate. They are empty if the extension is absent or can't
    /// be read.
    var alternativeNames: AlternativeNames {
        guard let value = structure.value(of: .subjectAlternativeName),
            let nodes = try? DER.parse(value).children(.sequence)
        else { return AlternativeNames() }
        var names = AlternativeNames()
        for node in nodes {
            guard case .primitive(let bytes) = node.content else { continue }
            switch node.identifier {
            case .contextSpecific(1):
                names.emailAddresses += [String(validating: bytes, as: Unicode.ASCII.self)]
                    .compactMap { $0 }
            case .contextSpecific(2):
                names.hostNames += [String(validating: bytes, as: Unicode.ASCII.self)]
                    .compactMap { $0 }
            case .contextSpecific(7):
                names.addresses.append(Data(bytes))
            default:
                continue
            }
        }
        return names
    }

    /// The email addresses: first those among the alternative names, then those of the subject.
    var emailAddresses: [String] {
        alternativeNames.emailAddresses + structure.subject.texts(of: .emailAddress)
    }

    /// The display name, or `nil` if the certificate has none.
    ///
    /// Apple's rule, in order of preference:
    /// 1. the common names, followed by the descriptions in parentheses;
    /// 2. the first email address among the alternative names or in the subject;
    /// 3. the first host name among the alternative names;
    /// 4. the organizational units;
    /// 5. the organizations;
    /// 6. all other texts of the subject.
    ///
    /// Several values of one kind are joined by commas, the most specific first.
    package var subjectSummary: String? {
        var summary = NameSummary()
        for attribute in structure.subject.attributes {
            summary.add(attribute)
        }
        if summary.rank == .commonName { return summary.textWithDescription }
        return emailAddresses.first ?? alternativeNames.hostNames.first ?? summary.text
    }
}

/// Builds the summary of a name from its attributes, one at a time.
private struct NameSummary {
    enum Rank: Int {
        case none, anyText, organization, organizationalUnit, commonName
    }

    private(set) var rank = Rank.none
    private(set) var text: String?
    private var description: String?

    var textWithDescription: String? {
        guard let text, let description else { return text }
        return "\(text) (\(description))"
    }

    mutating func add(_ attribute: CertificateName.Attribute) {
        guard let value = attribute.text else { return }
        let rank: Rank =
            switch attribute.type {
            case .commonName: .commonName
            case .organizationalUnit: .organizationalUnit
            case .organization: .organization
            default: .anyText
            }
        if attribute.type == .nameDescription {
            description = description.map { "\(value), \($0)" } ?? value
        }
        guard rank.rawValue >= self.rank.rawValue else { return }
        text = rank == self.rank ? "\(value), \(text ?? "")" : value
        self.rank = rank
    }
}

extension ASN1ObjectIdentifier {
    static let subjectAlternativeName: ASN1ObjectIdentifier = [2, 5, 29, 17]
}

#endif
