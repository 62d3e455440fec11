// SecTrustSettings: the settings of a trust evaluation. Each change discards the last result.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// Sets the certificates that are trusted, instead of the system's anchors.
///
/// - Parameters:
///   - trust: The evaluation.
///   - anchorCertificates: The anchor certificates. Each is trusted without a chain. If the array
///     is empty, nothing is trusted. `nil` restores the system's anchors.
/// - Returns: ``errSecSuccess``, or ``errSecParam`` if an object in the array is not a certificate;
///   in that case nothing is changed.
///
/// To trust the system's anchors too, call ``SecTrustSetAnchorCertificatesOnly(_:_:)`` with `false`
/// afterwards.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecTrustSetAnchorCertificates(
    _ trust: SecTrust, _ anchorCertificates: CFArray?
) -> OSStatus {
    guard let array = anchorCertificates else {
        trust.change { settings in
            settings.anchors = nil
            settings.usesSystemRoots = true
        }
        return errSecSuccess
    }
    guard let anchors = objects(array, as: SecCertificate.self) else { return errSecParam }
    trust.change { settings in
        settings.anchors = anchors
        settings.usesSystemRoots = false
    }
    return errSecSuccess
}

/// Sets whether the system's anchors are trusted in addition to the anchors that were set.
///
/// - Parameters:
///   - trust: The evaluation.
///   - anchorCertificatesOnly: Pass `true` to exclude the system's anchors.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(
    _ trust: SecTrust, _ anchorCertificatesOnly: Bool
) -> OSStatus {
    trust.change { $0.usesSystemRoots = !anchorCertificatesOnly }
    return errSecSuccess
}

/// Reads the anchors that were set.
///
/// - Parameters:
///   - trust: The evaluation.
///   - anchors: Receives an array of certificates, or `nil` if none were set.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    // SAFETY: the caller guarantees a valid pointer, as Apple's function requires.
    unsafe anchors.pointee = trust.settings.anchors.map { $0 as NSArray }
    return errSecSuccess
}

/// Sets the policies that the certificate must satisfy.
///
/// - Parameters:
///   - trust: The evaluation.
///   - policies: A ``SecPolicy``, or an array of policies that must all be satisfied.
/// - Returns: ``errSecSuccess``, or ``errSecParam`` if there is no policy, or an object is not a
///   policy; in that case nothing is changed.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    guard let policies = objects(policies, as: SecPolicy.self), !policies.isEmpty else {
        return errSecParam
    }
    trust.change { $0.policies = policies }
    return errSecSuccess
}

/// Reads the policies that the certificate must satisfy.
///
/// - Parameters:
///   - trust: The evaluation.
///   - policies: Receives an array of ``SecPolicy``.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecTrustCopyPolicies(
    _ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    // SAFETY: the caller guarantees a valid pointer, as Apple's function requires.
    unsafe policies.pointee = trust.settings.policies as NSArray
    return errSecSuccess
}

/// Sets the date at which the chain must be valid. The default is the time of the evaluation.
///
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    let date = verifyDate as Date
    trust.change { $0.date = date }
    return errSecSuccess
}

/// Returns the date at which the chain must be valid.
///
/// - Returns: Seconds since 2001-01-01 00:00:00 UTC: the date that was set, or the current time.
///
/// It corresponds to Apple's function of the same name.
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    (trust.settings.date ?? Date()).timeIntervalSinceReferenceDate
}

#endif
