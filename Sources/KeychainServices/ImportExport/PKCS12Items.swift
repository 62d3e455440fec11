// PKCS12Items: the contents of a PKCS #12 container as keys, certificates and identities.
//   (1) A key and a certificate belong together if they have the same public key. Containers also
//       link them by identifiers, but some programs omit these or set arbitrary ones.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore

/// The contents of a container.
struct PKCS12Items {
    /// An identity, and the container's information about it.
    struct Entry {
        let identity: SecIdentity
        /// The friendly name in the container.
        let name: String?
        /// The certificate, followed by its issuers as far as the container has them, at most 100
        /// certificates.
        let chain: [SecCertificate]
    }

    private(set) var identities: [Entry] = []
    /// Keys without a matching certificate.
    private(set) var keys: [SecKey] = []
    /// All certificates, in the container's order.
    let certificates: [SecCertificate]

    /// Opens a container. The work is deducted from the budget.
    ///
    /// - Throws: As `PKCS12.open` does, and `decode` if a key or certificate is damaged or of an
    ///   unsupported kind.
    init(
        _ bytes: [UInt8], passphrase: String, within budget: inout WorkBudget
    ) throws(KeychainFailure) {
        let contents = try PKCS12.open(bytes, password: passphrase, within: &budget)
        var certificates: [SecCertificate] = []
        for entry in contents.certificates {
            guard let certificate = SecCertificate(der: Data(entry.der)) else {
                throw KeychainFailure(
                    .decode, "A certificate of the PKCS #12 container is damaged.")
            }
            certificates.append(certificate)
        }
        self.certificates = certificates
        let index = CertificateIndex(certificates)
        for entry in contents.keys {
            let key = try SecKey(privateKey: entry.privateKeyInfo, within: &budget)
            guard let position = index.position(of: key) else {
                keys.append(key)
                continue
            }
            identities.append(
                Entry(
                    identity: SecIdentity(certificate: certificates[position], privateKey: key),
                    name: contents.certificates[position].name ?? entry.name,
                    chain: index.chain(from: position)))
        }
    }

    /// The certificates that are in none of the chains.
    var loneCertificates: [SecCertificate] {
        let inChains = Set(identities.flatMap(\.chain))
        return certificates.filter { !inChains.contains($0) }
    }

    /// All contents: identities, then keys without a certificate, then certificates that are in no
    /// identity.
    var all: [ValueReference] {
        let own = Set(identities.map(\.identity.certificate))
        return identities.map { .identity($0.identity) } + keys.map { .key($0) }
            + certificates.filter { !own.contains($0) }.map { .certificate($0) }
    }
}

/// Finds certificates by public key and by subject. The index is needed because a container may
/// hold thousands.
private struct CertificateIndex {
    private let certificates: [SecCertificate]
    private let attributes: [Attributes]
    private let byKey: [AttributeValue: Int]
    private let bySubject: [AttributeValue: [Int]]

    init(_ certificates: [SecCertificate]) {
        self.certificates = certificates
        let attributes = certificates.map(\.itemAttributes)
        self.attributes = attributes
        var byKey: [AttributeValue: Int] = [:]
        var bySubject: [AttributeValue: [Int]] = [:]
        for position in certificates.indices {
            if let key = attributes[position][.publicKeyHash], byKey[key] == nil {
                byKey[key] = position
            }
            if let subject = attributes[position][.subject] {
                bySubject[subject, default: []].append(position)
            }
        }
        self.byKey = byKey
        self.bySubject = bySubject
    }

    /// The maximum length of a chain. Real chains have only a few certificates, but a hostile
    /// container could hold thousands of certificates that issue each other, and thousands of keys
    /// that each have such a chain.
    private static let chainLimit = 100

    /// The first certificate with the public key of a private key.
    func position(of key: SecKey) -> Int? {
        byKey[.data(key.publicKeyHash)]
    }

    /// A certificate, followed by its issuers. They are found by the names in the certificates;
    /// signatures are verified only when trust is evaluated.
    func chain(from position: Int) -> [SecCertificate] {
        var positions = [position]
        var seen: Set = [position]
        while positions.count < Self.chainLimit, let last = positions.last,
            let issuer = attributes[last][.issuer],
            issuer != attributes[last][.subject],
            let next = bySubject[issuer]?.first(where: { !seen.contains($0) })
        {
            positions.append(next)
            seen.insert(next)
        }
        return positions.map { certificates[$0] }
    }
}

#endif
