// TrustEvaluation: finds out whether a certificate is trusted.
//   (1) It does no I/O but reading the system's roots: no certificate is fetched, and no server is
//       asked whether one was revoked.
//   (2) It ends on the thread that began it and waits for no other: `runOnCallingThread` runs
//       asynchronous code to its end on the thread that waits for it. Nothing is left to other
//       threads, so a caller that holds the last thread of Swift's pool gets its answer all the
//       same. Waiting on a semaphore for a task of the pool would not do.
//   (3) That code must not wait for anything that another executor does, such as an actor.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1
internal import Synchronization
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

// MARK: - The calling thread

/// The executor of one call.
private final class CallingThread: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    /// Counts the jobs that wait.
    private let signals = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        signals.signal()
    }

    /// Runs jobs until there is an answer. The last job has given it when it ends.
    func run<Value: Sendable>(until answer: Answer<Value>) -> Value {
        while true {
            if let value = answer.value { return value }
            signals.wait()
            let job = jobs.withLock { $0.removeFirst() }
            // SAFETY: a job is taken off the list and run once; this executor lives meanwhile.
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// What the code gave.
private final class Answer<Value: Sendable>: Sendable {
    private let slot = Mutex<Value?>(nil)

    var value: Value? {
        get { slot.withLock { $0 } }
        set { slot.withLock { $0 = newValue } }
    }
}

/// Runs asynchronous code on this thread and returns what it gives.
///
/// - Parameter operation: Code that waits for nothing but itself.
/// - Returns: What the code gives.
func runOnCallingThread<Value: Sendable>(
    _ operation: @escaping @Sendable () async -> Value
) -> Value {
    let thread = CallingThread()
    let answer = Answer<Value>()
    Task(executorPreference: thread) { answer.value = await operation() }
    return thread.run(until: answer)
}

#endif
