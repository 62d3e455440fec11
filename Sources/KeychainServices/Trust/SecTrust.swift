// SecTrust: a certificate to judge, and the verdict.
//   (1) All state is behind one lock. An evaluation works on a copy and holds no lock.
//   (2) A verdict is that of the settings: with a change of them it is forgotten.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import Synchronization

/// An evaluation of a certificate's trust: the certificate, those that may lead to an authority,
/// policies and anchors, and what came out.
///
/// Make one with ``SecTrustCreateWithCertificates(_:_:_:)`` and judge it with
/// ``SecTrustEvaluateWithError(_:_:)``. It corresponds to `SecTrustRef`; two are equal if they are
/// one object. It may be used by several threads at once.
public final class SecTrust: NSObject, Sendable {
    struct Settings: Sendable {
        let leaf: SecCertificate
        let others: [SecCertificate]
        var policies: [SecPolicy]
        /// nil: none were set.
        var anchors: [SecCertificate]?
        var usesSystemRoots = true
        /// nil: whenever the evaluation is.
        var date: Date?
    }

    private struct State {
        var settings: Settings
        /// Counts changes of the settings.
        var generation = 0
        var outcome: TrustOutcome?
    }

    private let state: Mutex<State>

    init(_ settings: Settings) {
        state = Mutex(State(settings: settings))
    }

    var settings: Settings { state.withLock { $0.settings } }

    /// What the last evaluation found; nil before the first, and after a change of the settings.
    var lastOutcome: TrustOutcome? { state.withLock { $0.outcome } }

    func change(_ body: (inout Settings) -> Void) {
        state.withLock { state in
            body(&state.settings)
            state.generation += 1
            state.outcome = nil
        }
    }

    /// Evaluates anew.
    func evaluate() -> TrustOutcome {
        let (settings, generation) = state.withLock { ($0.settings, $0.generation) }
        let outcome = TrustEvaluation(
            leaf: settings.leaf, others: settings.others, anchors: settings.anchors ?? [],
            systemRoots: settings.usesSystemRoots ? .shared : nil, policies: settings.policies,
            date: settings.date ?? Date()
        ).outcome()
        state.withLock { state in
            if state.generation == generation { state.outcome = outcome }
        }
        return outcome
    }

    /// The last outcome, or that of an evaluation where there is none.
    var outcome: TrustOutcome { lastOutcome ?? evaluate() }
}

extension SecTrust: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.trust
}

/// What came out of an evaluation.
public enum SecTrustResultType: UInt32, Sendable {
    /// Nothing yet: there was no evaluation since the settings were made or changed.
    case invalid = 0
    /// The user said that the certificate is trusted. Nothing here gives it.
    case proceed = 1
    /// The user wants to be asked. Nothing here gives it.
    @available(*, deprecated, message: "Nothing gives it")
    case confirm = 2
    /// The user said that the certificate is not trusted. Nothing here gives it.
    case deny = 3
    /// The certificate is trusted, and the user said nothing about it.
    case unspecified = 4
    /// The certificate is not trusted, for a reason that a user may choose to pass over.
    case recoverableTrustFailure = 5
    /// The certificate is not trusted, and there is nothing to be done about it.
    case fatalTrustFailure = 6
    /// The evaluation itself failed. Nothing here gives it.
    case otherError = 7
}

extension TrustOutcome {
    var result: SecTrustResultType {
        guard let failure else { return .unspecified }
        return failure.isFatal ? .fatalTrustFailure : .recoverableTrustFailure
    }
}

/// Makes an evaluation.
///
/// - Parameters:
///   - certificates: The certificate to judge, or an array with it first and, in any order, those
///     that may lead from it to an authority.
///   - policies: A ``SecPolicy``, or an array of them, which must all hold. Nil:
///     ``SecPolicyCreateBasicX509()``.
///   - trust: Receives the evaluation. Left alone after a failure.
/// - Returns: ``errSecSuccess``, or ``errSecParam`` if there is no certificate, or something is
///   neither a certificate nor a policy where one should be.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecTrustCreateWithCertificates(
    _ certificates: CFTypeRef, _ policies: CFTypeRef?, _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus {
    guard let certificates = objects(certificates, as: SecCertificate.self),
        let leaf = certificates.first,
        let policies = policies.map({ objects($0, as: SecPolicy.self) })
            ?? [SecPolicyCreateBasicX509()]
    else { return errSecParam }
    let settings = SecTrust.Settings(
        leaf: leaf, others: Array(certificates.dropFirst()),
        policies: policies.isEmpty ? [SecPolicyCreateBasicX509()] : policies)
    // SAFETY: the pointer is the caller's, valid as Apple's function asks for.
    unsafe trust.pointee = SecTrust(settings)
    return errSecSuccess
}

/// Returns the identifier of trust evaluations, for comparison with ``CFGetTypeID(_:)``.
public func SecTrustGetTypeID() -> CFTypeID {
    CoreFoundationType.trust.rawValue
}

/// One object of a class or an array of them.
///
/// - Returns: nil if anything is of another class.
func objects<Object: AnyObject>(_ value: AnyObject, as type: Object.Type) -> [Object]? {
    if let object = value as? Object { return [object] }
    guard let array = value as? NSArray else { return nil }
    let objects = array.compactMap { $0 as? Object }
    return objects.count == array.count ? objects : nil
}

#endif
