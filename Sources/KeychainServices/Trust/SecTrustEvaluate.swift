// SecTrustEvaluate: asking for the verdict, and what it is about.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// Finds out whether a certificate is trusted.
///
/// A chain of valid signatures must lead from the certificate to an anchor; all of it must be valid
/// at the time in question and keep the rules of RFC 5280, and the certificate must be what the
/// policies ask for. No authority between it and the anchor may have an extended key usage for other
/// purposes alone. The system's anchors are those of its bundle of authorities, such as
/// `/etc/ssl/certs/ca-certificates.crt`.
///
/// **Revocation is not looked at**: no list is fetched and no server is asked. Neither are missing
/// certificates fetched, nor time stamps of transparency logs required. Signatures with RSA-PSS, and
/// curves beyond P-256, P-384, P-521 and Ed25519, can't be verified: such a chain is not trusted.
///
/// It works on the calling thread, for some milliseconds; the first call reads the bundle. It may be
/// called from asynchronous code.
///
/// - Parameters:
///   - trust: The evaluation. It keeps what came out.
///   - error: Receives the reason if the result is false; it is left alone otherwise. Domain
///     ``kCFErrorDomainOSStatus``, code ``errSecNotTrusted`` without a chain to an anchor,
///     ``errSecCertificateExpired``, ``errSecCertificateNotValidYet``, ``errSecHostNameMismatch`` or
///     another that says what was wrong.
/// - Returns: Whether the certificate is trusted.
///
/// It corresponds to the function of the same name, which also looks at revocation and fetches
/// certificates. As there, a result that isn't looked at is a warning.
public func SecTrustEvaluateWithError(
    _ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?
) -> Bool {
    guard let failure = trust.evaluate().failure else { return true }
    // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
    unsafe error?.pointee = CFError(status: failure.status, reason: failure.reason)
    return false
}

/// What ``SecTrustEvaluateAsyncWithError(_:_:_:)`` tells: the evaluation, whether the certificate is
/// trusted, and the reason if it isn't.
public typealias SecTrustWithErrorCallback = (SecTrust, Bool, CFError?) -> Void

/// Finds out whether a certificate is trusted, without making the caller wait.
///
/// - Parameters:
///   - trust: The evaluation. It keeps what came out.
///   - queue: Where `result` is called. Apple asks that this function be called there too; here it
///     need not be.
///   - result: Is called once, with the same as ``SecTrustEvaluateWithError(_:_:)`` would give.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecTrustEvaluateAsyncWithError(
    _ trust: SecTrust, _ queue: DispatchQueue, _ result: @escaping SecTrustWithErrorCallback
) -> OSStatus {
    // SAFETY: it is only handed on to the queue that the caller named for it, and called there
    // once.
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

/// Reads what the last evaluation came to.
///
/// - Parameters:
///   - trust: The evaluation.
///   - result: Receives ``SecTrustResultType/invalid`` if there was no evaluation since the settings
///     were made or changed.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecTrustGetTrustResult(
    _ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>
) -> OSStatus {
    // SAFETY: the pointer is the caller's, valid as Apple's function asks for.
    unsafe result.pointee = trust.lastOutcome?.result ?? .invalid
    return errSecSuccess
}

/// Returns the chain that was judged, and evaluates first if that is still to be done.
///
/// - Returns: ``SecCertificate`` objects, from the certificate in question to the anchor or, if none
///   was reached, as far as the chain goes. Never nil.
///
/// It corresponds to the function of the same name.
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? {
    trust.outcome.chain as NSArray
}

/// Returns the length of the chain, and evaluates first if that is still to be done.
///
/// - Returns: 1 and up.
///
/// It corresponds to the function of the same name.
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex {
    trust.outcome.chain.count
}

/// Returns a certificate of the chain, and evaluates first if that is still to be done.
///
/// - Parameters:
///   - trust: The evaluation.
///   - ix: The place in the chain; 0 is the certificate in question.
/// - Returns: nil if the chain has no such place.
///
/// It corresponds to the function of the same name.
@available(*, deprecated, message: "Use SecTrustCopyCertificateChain")
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    let chain = trust.outcome.chain
    return chain.indices.contains(ix) ? chain[ix] : nil
}

#endif
