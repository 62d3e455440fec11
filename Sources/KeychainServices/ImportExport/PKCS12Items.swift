// PKCS12Items: what a PKCS #12 container holds, in the keychain's terms.
//   (1) A key and a certificate belong together when the public keys are the same. Containers say
//       it by identifiers too, which programs leave out or make up.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore

/// The contents of a container.
struct PKCS12Items {
    /// An identity, and what the container says of it.
    struct Entry {
        let identity: SecIdentity
        /// The name that the container gives it.
        let name: String?
        /// The certificate and those that issued it, as far as the container has them.
        let chain: [SecCertificate]
    }

    private(set) var identities: [Entry] = []
    /// Keys without a certificate.
    private(set) var keys: [SecKey] = []
    /// All certificates, in the container's order.
    let certificates: [SecCertificate]

    /// Opens a container. The work is taken off the budget.
    ///
    /// - Throws: As `PKCS12.open`; `decode` if a key or certificate is damaged or of a kind that is
    ///   not supported.
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

    /// The certificates that stand in none of the chains.
    var loneCertificates: [SecCertificate] {
        let inChains = Set(identities.flatMap(\.chain))
        return certificates.filter { !inChains.contains($0) }
    }

    /// Everything: identities, keys without a certificate, then certificates of no identity.
    var all: [ValueReference] {
        let own = Set(identities.map(\.identity.certificate))
        return identities.map { .identity($0.identity) } + keys.map { .key($0) }
            + certificates.filter { !own.contains($0) }.map { .certificate($0) }
    }
}

/// Finds certificates by key and by name. A container may hold thousands.
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

    /// The longest chain. Real ones have a handful of certificates; a container can be made whose
    /// thousands all lead to each other, for each of thousands of keys.
    private static let chainLimit = 100

    /// The first certificate of a private key.
    func position(of key: SecKey) -> Int? {
        byKey[.data(key.publicKeyHash)]
    }

    /// A certificate and those that issued it, by the names in them. The signatures are for an
    /// evaluation of trust to look at.
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
