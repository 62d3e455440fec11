// SubjectIndex: finds certificates by their subject, as needed by the search for issuers.
//   (1) X509 parses a certificate only when the search requests it. So X509 doesn't parse all
//       certificates of the system's bundle.
//   (2) The number of candidate issuers per search is limited. Certificate authorities that certify
//       each other form more chains than can be tried, and an attacker who sends a chain can create
//       such authorities.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1
internal import Synchronization
internal import X509

/// Certificates, indexed by the normalized form of their subject.
struct SubjectIndex: Hashable, Sendable {
    private var bySubject: [Data: [SecCertificate]] = [:]

    init(_ certificates: [SecCertificate] = []) {
        for certificate in certificates {
            insert(certificate)
        }
    }

    mutating func insert(_ certificate: SecCertificate) {
        bySubject[certificate.structure.subject.normalizedContent, default: []].append(certificate)
    }

    var isEmpty: Bool { bySubject.isEmpty }

    func contains(_ certificate: SecCertificate) -> Bool {
        certificates(named: certificate.structure.subject).contains(certificate)
    }

    /// The certificates with this subject, in the order of insertion.
    func certificates(named subject: CertificateName) -> [SecCertificate] {
        bySubject[subject.normalizedContent] ?? []
    }
}

/// The number of candidate issuers that a search may still examine.
final class SearchBudget: Sendable {
    private let state: Mutex<(left: Int, wasTooSmall: Bool)>

    init(candidateCount: Int) {
        state = Mutex((candidateCount, false))
    }

    /// Whether candidates were left out because the budget was too small for them.
    var wasTooSmall: Bool { state.withLock { $0.wasTooSmall } }

    func take(_ count: Int) -> Bool {
        state.withLock { state in
            guard count <= state.left else {
                state.wasTooSmall = true
                return false
            }
            state.left -= count
            return true
        }
    }
}

/// Adapts an index to X509's protocol, within a budget.
struct IndexedStore: CustomCertificateStore {
    private var index: SubjectIndex
    private let budget: SearchBudget

    init(_ index: SubjectIndex, _ budget: SearchBudget) {
        self.index = index
        self.budget = budget
    }

    /// The certificates with this subject that X509 can verify. `nil` if there is no certificate
    /// with this subject, or if the budget is too small for all of them.
    subscript(subject: DistinguishedName) -> [Certificate]? {
        get async {
            var serializer = DER.Serializer()
            guard (try? serializer.serialize(subject)) != nil,
                let name = CertificateName(der: Data(serializer.serializedBytes))
            else { return nil }
            let found = index.certificates(named: name)
            guard !found.isEmpty, budget.take(found.count) else { return nil }
            return found.compactMap(\.verifiable)
        }
    }

    func contains(_ certificate: Certificate) async -> Bool {
        SecCertificate(certificate).map { index.contains($0) } ?? false
    }

    mutating func append(contentsOf certificates: some Sequence<Certificate>) {
        for certificate in certificates.lazy.compactMap({ SecCertificate($0) }) {
            index.insert(certificate)
        }
    }

    static func == (one: IndexedStore, other: IndexedStore) -> Bool {
        one.index == other.index
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(index)
    }
}

extension SecCertificate {
    /// The certificate as parsed by X509, or `nil` if X509 doesn't support its kind.
    var verifiable: Certificate? {
        try? Certificate(derEncoded: Array(der))
    }
}

#endif
