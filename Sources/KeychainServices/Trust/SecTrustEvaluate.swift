// SecTrustEvaluate: functions that evaluate trust and return the result.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// Evaluates whether a certificate is trusted.
///
/// A chain of valid signatures must lead from the certificate to an anchor. All certificates in the
/// chain must conform to RFC 5280 and be valid at the date that ``SecTrustSetVerifyDate(_:_:)`` has
/// set, or now if none was set. No key may be weak, and no signature except the anchor's own. The
/// certificate must satisfy the policies. A certificate authority between the certificate and the
/// anchor must not have an extended key usage that excludes the policy's purpose. The system's
/// anchors are those in its certificate bundle, such as `/etc/ssl/certs/ca-certificates.crt`.
///
/// **Revocation is not checked**: no revocation list is fetched and no OCSP server is contacted.
/// Missing certificates are not fetched, and timestamps of transparency logs are not required.
/// RSA-PSS signatures, and keys other than RSA, P-256, P-384, P-521 and Ed25519, can't be verified,
/// so such chains are not trusted, unless the certificate is itself an anchor.
///
/// The evaluation runs on the calling thread and takes some milliseconds. If the system's anchors
/// are used, the certificate bundle is read by the first evaluation, and again after it has
/// changed. This function may be called from asynchronous code.
///
/// - Parameters:
///   - trust: The evaluation. It keeps the result.
///   - error: Receives the error if the result is false; otherwise it is unchanged. The domain is
///     ``kCFErrorDomainOSStatus``. The code is ``errSecNotTrusted`` if there is no chain to an
///     anchor or the chain breaks a rule of RFC 5280 that has no code of its own,
///     ``errSecCertificateExpired``, ``errSecCertificateNotValidYet``, ``errSecHostNameMismatch``
///     or another code that identifies the failure.
/// - Returns: Whether the certificate is trusted.
///
/// It corresponds to Apple's function of the same name, which also checks revocation and fetches
/// certificates. As with that function, ignoring the result causes a compiler warning.
public func SecTrustEvaluateWithError(
    _ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?
) -> Bool {
    guard let failure = trust.evaluate().failure else { return true }
    // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function requires.
    unsafe error?.pointee = CFError(status: failure.status, reason: failure.reason)
    return false
}

/// The callback of ``SecTrustEvaluateAsyncWithError(_:_:_:)``. Its arguments are the evaluation,
/// whether the certificate is trusted, and the error if it isn't.
public typealias SecTrustWithErrorCallback = (SecTrust, Bool, CFError?) -> Void

/// Evaluates whether a certificate is trusted, without blocking the caller.
///
/// - Parameters:
///   - trust: The evaluation. It keeps the result.
///   - queue: The queue on which `result` is called. Apple requires that this function is called on
///     the same queue; here it need not be.
///   - result: Called once, with the result of ``SecTrustEvaluateWithError(_:_:)``.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecTrustEvaluateAsyncWithError(
    _ trust: SecTrust, _ queue: DispatchQueue, _ result: @escaping SecTrustWithErrorCallback
) -> OSStatus {
    // SAFETY: the closure is only passed to the queue that the caller chose for it, and called
    // there once.
    nonisolated(unsafe) let result = result
    DispatchQueue.global().async {
        let failure = trust.evaluate().failure
        queue.async {
            let error = failure.map { CFError(status: $0.status, reason: $0.reason) }
            unsafe result(trust, failure == nil, error)
        }
    }
    return errSecSuccess
}

/// Reads the result of the last evaluation.
///
/// - Parameters:
///   - trust: The evaluation.
///   - result: Receives the result, or ``SecTrustResultType/invalid`` if there was no evaluation
///     since the settings were created or changed.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecTrustGetTrustResult(
    _ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>
) -> OSStatus {
    // SAFETY: the caller guarantees a valid pointer, as Apple's function requires.
    unsafe result.pointee = trust.lastOutcome?.result ?? .invalid
    return errSecSuccess
}

/// Returns the evaluated chain. If there is no result yet, evaluates first.
///
/// - Returns: ``SecCertificate`` objects, from the evaluated certificate to the anchor or, if no
///   anchor was reached, to the end of the chain. Never `nil`.
///
/// It corresponds to Apple's function of the same name.
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? {
    trust.outcome.chain as NSArray
}

/// Returns the length of the evaluated chain. If there is no result yet, evaluates first.
///
/// - Returns: The number of certificates, at least 1.
///
/// It corresponds to Apple's function of the same name.
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex {
    trust.outcome.chain.count
}

/// Returns a certificate of the evaluated chain. If there is no result yet, evaluates first.
///
/// - Parameters:
///   - trust: The evaluation.
///   - ix: The index in the chain. 0 is the evaluated certificate.
/// - Returns: The certificate, or `nil` if the index is out of range.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "Use SecTrustCopyCertificateChain")
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    let chain = trust.outcome.chain
    return chain.indices.contains(ix) ? chain[ix] : nil
}

#endif
