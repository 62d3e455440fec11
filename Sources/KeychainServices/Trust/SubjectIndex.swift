// SubjectIndex: certificates found by their subject, as those who search for issuers need it.
//   (1) X509 reads a certificate when it is asked for, and not the whole of a system's bundle.
//   (2) A search is given so many candidates and no more. Authorities that certified each other
//       have more chains than can be tried, and an attacker who sends a chain can make such ones.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1
internal import Synchronization
internal import X509

/// Certificates by the normal form of their subject.
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

    /// The certificates with this subject, in the order in which they came.
    func certificates(named subject: CertificateName) -> [SecCertificate] {
        bySubject[subject.normalizedContent] ?? []
    }
}

/// How many more candidates a search may look at.
final class SearchBudget: Sendable {
    private let left: Mutex<Int>

    init(candidateCount: Int) {
        left = Mutex(candidateCount)
    }

    func take(_ count: Int) -> Bool {
        left.withLock { left in
            guard count <= left else { return false }
            left -= count
            return true
        }
    }
}

/// An index as X509 asks it, within a budget.
struct IndexedStore: CustomCertificateStore {
    private var index: SubjectIndex
    private let budget: SearchBudget

    init(_ index: SubjectIndex, _ budget: SearchBudget) {
        self.index = index
        self.budget = budget
    }

    /// The certificates that X509 can verify with. None when the budget is spent.
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
    /// The certificate as X509 reads it; nil if X509 can't verify its kind.
    var verifiable: Certificate? {
        try? Certificate(derEncoded: Array(der))
    }
}

#endif
