// TrustEvaluation: finds out whether a certificate is trusted.
//   (1) It does no I/O but reading the system's roots: no certificate is fetched, and no server is
//       asked whether one was revoked.
//   (2) It ends on the thread that began it and waits for no other.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1
internal import X509

/// What an evaluation found out.
struct TrustOutcome: Sendable {
    /// From the leaf as far towards an anchor as it goes. Never empty.
    let chain: [SecCertificate]
    /// nil: the leaf is trusted.
    let failure: TrustFailure?
}

/// A certificate to judge, and what to judge it by.
struct TrustEvaluation: Sendable {
    let leaf: SecCertificate
    /// Certificates that may lie between leaf and anchor.
    var others: [SecCertificate] = []
    var anchors: [SecCertificate] = []
    /// Authorities beside the anchors; nil: none.
    var systemRoots: SystemRoots?
    var policies: [SecPolicy]
    var date: Date

    /// How many candidates a search for chains looks at, and then how many the one for the end of
    /// a chain without an anchor. Real ones need a dozen.
    static let candidateLimit = 1000

    /// Evaluates.
    func outcome() -> TrustOutcome {
        var anchors = systemRoots?.index ?? SubjectIndex()
        for anchor in self.anchors {
            anchors.insert(anchor)
        }
        let policy = ChainPolicy(policies: policies, date: date, refused: RefusedChains())
        if anchors.contains(leaf) {
            return TrustOutcome(chain: [leaf], failure: policy.failure(ofAnchor: leaf))
        }
        if let failure = leaf.criticalExtensionFailure(policy.verifyingCriticalExtensions) {
            return TrustOutcome(chain: partialChain(anchors), failure: failure)
        }
        guard let verifiable = leaf.verifiable else {
            return TrustOutcome(
                chain: [leaf],
                failure: policy.weaknessFailure(of: [leaf])
                    ?? TrustFailure(
                        status: errSecNotTrusted,
                        reason: "\(leaf.nameForPeople) has a key or signature of a kind that "
                            + "can't be verified here."))
        }
        return verified(verifiable, anchors) ?? unanchored(anchors)
    }

    /// What X509 says; nil if there is no chain to judge.
    private func verified(_ leaf: Certificate, _ anchors: SubjectIndex) -> TrustOutcome? {
        runOnCallingThread { [policies, date, others] in
            let budget = SearchBudget(candidateCount: Self.candidateLimit)
            let refused = RefusedChains()
            var verifier = Verifier(
                rootCertificates: CertificateStore(custom: IndexedStore(anchors, budget))
            ) {
                ChainPolicy(policies: policies, date: date, refused: refused)
            }
            let result = await verifier.validate(
                leaf: leaf,
                intermediates: CertificateStore(
                    custom: IndexedStore(SubjectIndex(others), budget)))
            switch result {
            case .validCertificate(let chain):
                return TrustOutcome(chain: chain.compactMap { SecCertificate($0) }, failure: nil)
            case .couldNotValidate:
                return refused.refusals.first.map {
                    TrustOutcome(chain: $0.chain, failure: $0.failure)
                }
            }
        }
    }

    private func unanchored(_ anchors: SubjectIndex) -> TrustOutcome {
        let chain = partialChain(anchors)
        let end = chain.last?.nameForPeople ?? leaf.nameForPeople
        return TrustOutcome(
            chain: chain,
            failure: TrustFailure(
                status: errSecNotTrusted,
                reason: anchors.isEmpty
                    ? "There is no trusted authority to lead a chain to."
                    : "The chain ends at \(end), which no trusted authority signed."))
    }

    /// From the leaf to the last certificate that signed the one before it, as far as the bound for
    /// candidates lets it go: an attacker who sends a chain can give all of it one name.
    private func partialChain(_ anchors: SubjectIndex) -> [SecCertificate] {
        let others = SubjectIndex(others)
        let budget = SearchBudget(candidateCount: Self.candidateLimit)
        var chain = [leaf]
        while let last = chain.last, let signed = last.verifiable {
            let issuer = last.structure.issuer
            let candidates =
                others.certificates(named: issuer) + anchors.certificates(named: issuer)
            guard budget.take(candidates.count) else { break }
            let signer = candidates.first { candidate in
                !chain.contains(candidate)
                    && candidate.verifiable?.publicKey
                        .isValidSignature(signed.signature, for: signed) == true
            }
            guard let signer else { break }
            chain.append(signer)
        }
        return chain
    }
}

#endif
