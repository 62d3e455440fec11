// TrustEvaluation: evaluates whether a certificate is trusted.
//   (1) The only I/O is reading the system's roots. No certificate is fetched, and no server is
//       contacted to check revocation.
//   (2) An evaluation runs on the thread that started it: `runOnCallingThread` runs asynchronous
//       code to completion on the calling thread. The evaluation waits for another thread only
//       while that thread reads the system's roots. So it finishes even if the caller occupies the
//       last thread of Swift's pool. Waiting on a semaphore for a task in the pool would deadlock.
//   (3) The asynchronous code must not wait for another executor, such as an actor.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1
internal import Synchronization
internal import X509

/// The result of an evaluation.
struct TrustOutcome: Sendable {
    /// The certificates from the leaf towards an anchor, as far as the chain was found. Never
    /// empty.
    let chain: [SecCertificate]
    /// The reason why the leaf is not trusted, or `nil` if it is trusted.
    let failure: TrustFailure?
}

/// A certificate to evaluate, and the settings for the evaluation.
struct TrustEvaluation: Sendable {
    let leaf: SecCertificate
    /// Certificates that may be between the leaf and an anchor.
    var others: [SecCertificate] = []
    var anchors: [SecCertificate] = []
    /// The system's certificate authorities, which are anchors too, or `nil` to exclude them.
    var systemRoots: SystemRoots?
    var policies: [SecPolicy]
    var date: Date

    /// The maximum number of candidate issuers that a search examines. It applies to the search for
    /// a chain to an anchor and, separately, to the search that follows the chain from the leaf as
    /// far as possible. The second search is made if the first one finds no chain, or isn't made
    /// because the leaf has a critical extension that the policy doesn't handle. Real chains
    /// require about a dozen.
    static let candidateLimit = 1000

    /// Runs the evaluation.
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
                        reason: "\(leaf.nameForPeople) has a key or signature of an unsupported "
                            + "kind."))
        }
        let budget = SearchBudget(candidateCount: Self.candidateLimit)
        return verified(verifiable, anchors, budget)
            ?? unanchored(anchors, budget, policy.verifyingCriticalExtensions)
    }

    /// The result of the search by the module X509, or `nil` if the search found no chain to an
    /// anchor.
    private func verified(
        _ leaf: Certificate, _ anchors: SubjectIndex, _ budget: SearchBudget
    ) -> TrustOutcome? {
        runOnCallingThread { [policies, date, others] in
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

    /// The outcome if the search by the module X509, which had the given budget, found no chain to
    /// an anchor.
    private func unanchored(
        _ anchors: SubjectIndex, _ budget: SearchBudget,
        _ handledExtensions: [ASN1ObjectIdentifier]
    ) -> TrustOutcome {
        let ownBudget = SearchBudget(candidateCount: Self.candidateLimit)
        let chain = partialChain(anchors, ownBudget)
        // The search by X509 passes over an issuer with a critical extension that the policy
        // doesn't handle.
        for issuer in chain.dropFirst() {
            if let failure = issuer.criticalExtensionFailure(handledExtensions) {
                return TrustOutcome(chain: chain, failure: failure)
            }
        }
        let end = chain.last?.nameForPeople ?? leaf.nameForPeople
        let reason =
            if anchors.isEmpty {
                "There are no trusted certificate authorities."
            } else if budget.wasTooSmall || ownBudget.wasTooSmall {
                "There are too many possible issuers, so the search for a trusted certificate "
                    + "authority was ended."
            } else if let anchor = chain.dropFirst().first(where: { anchors.contains($0) }) {
                "\(anchor.nameForPeople) is trusted, but no valid chain leads to it."
            } else {
                "\(end) is the last certificate of the chain, and is not signed by a trusted "
                    + "certificate authority."
            }
        return TrustOutcome(
            chain: chain, failure: TrustFailure(status: errSecNotTrusted, reason: reason))
    }

    /// The chain from the leaf, continued as long as the signer of the last certificate is found.
    /// The number of candidates is limited, because an attacker can send a chain in which all
    /// certificates have the same name.
    private func partialChain(
        _ anchors: SubjectIndex,
        _ budget: SearchBudget = SearchBudget(candidateCount: candidateLimit)
    ) -> [SecCertificate] {
        let others = SubjectIndex(others)
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

// MARK: - Running on the calling thread

/// The executor of one call of `runOnCallingThread`.
private final class CallingThread: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    /// Counts the waiting jobs.
    private let signals = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        signals.signal()
    }

    /// Runs jobs until there is a result. The last job sets the result before it ends.
    func run<Value: Sendable>(until answer: Answer<Value>) -> Value {
        while true {
            if let value = answer.value { return value }
            signals.wait()
            let job = jobs.withLock { $0.removeFirst() }
            // SAFETY: a job is removed from the list and run once, and this executor lives until
            // the job ends.
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// The result of the operation.
private final class Answer<Value: Sendable>: Sendable {
    private let slot = Mutex<Value?>(nil)

    var value: Value? {
        get { slot.withLock { $0 } }
        set { slot.withLock { $0 = newValue } }
    }
}

/// Runs asynchronous code on the calling thread and returns its result.
///
/// - Parameter operation: The code. It must not wait for another executor.
/// - Returns: The result of the code.
func runOnCallingThread<Value: Sendable>(
    _ operation: @escaping @Sendable () async -> Value
) -> Value {
    let thread = CallingThread()
    let answer = Answer<Value>()
    Task(executorPreference: thread) { answer.value = await operation() }
    return thread.run(until: answer)
}

#endif
