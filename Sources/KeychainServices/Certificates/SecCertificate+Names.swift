// SecCertificate+Names: the names and addresses in a certificate, and the one to show to people.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1

extension SecCertificate {
    /// The names of the extension for alternative names that are texts or addresses.
    struct AlternativeNames: Sendable {
        var emailAddresses: [String] = []
        var hostNames: [String] = []
        /// 4 or 16 bytes each.
        var addresses: [Data] = []
    }

    /// What the certificate has of alternative names; nothing if the extension is absent or can't
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

    /// The mail addresses: those among the alternative names, then those of the subject.
    var emailAddresses: [String] {
        alternativeNames.emailAddresses + structure.subject.texts(of: .emailAddress)
    }

    /// The name to show to people; nil if the certificate has none.
    ///
    /// Apple's rule: the common name, else the organizational units, else the organization, else
    /// what texts there are, several of a kind from the most specific on; a description follows the
    /// common name in brackets. Without a common name, the first mail address or host name among
    /// the alternative names, or the mail address of the subject, goes before all of them.
    package var subjectSummary: String? {
        var summary = NameSummary()
        for attribute in structure.subject.attributes {
            summary.add(attribute)
        }
        if summary.rank == .commonName { return summary.textWithDescription }
        return emailAddresses.first ?? alternativeNames.hostNames.first ?? summary.text
    }
}

/// Collects the summary of a name, attribute by attribute.
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
