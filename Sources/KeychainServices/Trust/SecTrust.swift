// SecTrust: a certificate to evaluate, and the result.
//   (1) One lock protects all state. It is not held during an evaluation, which uses a copy of the
//       settings.
//   (2) A result is valid only for the settings of its evaluation. Changing the settings discards
//       it.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import Synchronization

/// An evaluation of a certificate's trust: the certificate, further certificates for the chain,
/// policies, anchors, and the result.
///
/// Create one with ``SecTrustCreateWithCertificates(_:_:_:)`` and evaluate it with
/// ``SecTrustEvaluateWithError(_:_:)``. It corresponds to `SecTrustRef`; equality is by identity.
/// It may be used by several threads at once.
public final class SecTrust: NSObject, Sendable {
    struct Settings: Sendable {
        let leaf: SecCertificate
        let others: [SecCertificate]
        var policies: [SecPolicy]
        /// The anchor certificates that were set, or `nil` if none were set.
        var anchors: [SecCertificate]?
        var usesSystemRoots = true
        /// The date that was set, or `nil` for the time of the evaluation.
        var date: Date?
    }

    private struct State {
        var settings: Settings
        /// The number of changes of the settings.
        var generation = 0
        var outcome: TrustOutcome?
    }

    private let state: Mutex<State>

    init(_ settings: Settings) {
        state = Mutex(State(settings: settings))
    }

    var settings: Settings { state.withLock { $0.settings } }

    /// The result of the last evaluation, or `nil` before the first one and after a change of the
    /// settings.
    var lastOutcome: TrustOutcome? { state.withLock { $0.outcome } }

    func change(_ body: (inout Settings) -> Void) {
        state.withLock { state in
            body(&state.settings)
            state.generation += 1
            state.outcome = nil
        }
    }

    /// Evaluates, even if there is already a result.
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

    /// The last result. If there is none, evaluates first.
    var outcome: TrustOutcome { lastOutcome ?? evaluate() }
}

extension SecTrust: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.trust
}

/// The result of an evaluation.
public enum SecTrustResultType: UInt32, Sendable {
    /// No result: there was no evaluation since the settings were created or changed.
    case invalid = 0
    /// The user trusts the certificate. Never returned here.
    case proceed = 1
    /// The user wants to be asked. Never returned here.
    @available(*, deprecated, message: "It is never returned")
    case confirm = 2
    /// The user doesn't trust the certificate. Never returned here.
    case deny = 3
    /// The certificate is trusted, without a decision of the user.
    case unspecified = 4
    /// The certificate is not trusted, but the user may choose to ignore the reason.
    case recoverableTrustFailure = 5
    /// The certificate is not trusted, and the user can't change that.
    case fatalTrustFailure = 6
    /// The evaluation itself failed. Never returned here.
    case otherError = 7
}

extension TrustOutcome {
    var result: SecTrustResultType {
        guard let failure else { return .unspecified }
        return failure.isFatal ? .fatalTrustFailure : .recoverableTrustFailure
    }
}

/// Creates a trust evaluation.
///
/// - Parameters:
///   - certificates: The certificate to evaluate, or an array that contains it first and then, in
///     any order, certificates that may be part of the chain to an anchor.
///   - policies: A ``SecPolicy``, or an array of policies that must all be satisfied. `nil` or an
///     empty array stands for ``SecPolicyCreateBasicX509()``.
///   - trust: Receives the evaluation. Unchanged after a failure.
/// - Returns: ``errSecSuccess``, or ``errSecParam`` if there is no certificate, or an object is not
///   a certificate or policy as required.
///
/// It corresponds to Apple's function of the same name.
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
    // SAFETY: the caller guarantees a valid pointer, as Apple's function requires.
    unsafe trust.pointee = SecTrust(settings)
    return errSecSuccess
}

/// Returns the type identifier of trust evaluations, for comparison with ``CFGetTypeID(_:)``.
public func SecTrustGetTypeID() -> CFTypeID {
    CoreFoundationType.trust.rawValue
}

/// The objects in an array, or a single object as an array.
///
/// - Returns: `nil` if any object has another class.
func objects<Object: AnyObject>(_ value: AnyObject, as type: Object.Type) -> [Object]? {
    if let object = value as? Object { return [object] }
    guard let array = value as? NSArray else { return nil }
    let objects = array.compactMap { $0 as? Object }
    return objects.count == array.count ? objects : nil
}

#endif
