// SecTrustSettings: by what a certificate is judged. Each change makes the next evaluation a new one.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// Sets the authorities that are trusted, instead of the system's.
///
/// - Parameters:
///   - trust: The evaluation.
///   - anchorCertificates: The certificates. A certificate that is among them is trusted without a
///     chain. Empty: nothing is trusted. Nil: the system's authorities again.
/// - Returns: ``errSecSuccess``, or ``errSecParam`` if something in the array is no certificate;
///   nothing was changed then.
///
/// ``SecTrustSetAnchorCertificatesOnly(_:_:)`` trusts the system's authorities beside them. It
/// corresponds to the function of the same name.
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

/// Sets whether the system's authorities are trusted beside the anchors that were set.
///
/// - Parameters:
///   - trust: The evaluation.
///   - anchorCertificatesOnly: Whether they are not.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(
    _ trust: SecTrust, _ anchorCertificatesOnly: Bool
) -> OSStatus {
    trust.change { $0.usesSystemRoots = !anchorCertificatesOnly }
    return errSecSuccess
}

/// Reads the authorities that were set.
///
/// - Parameters:
///   - trust: The evaluation.
///   - anchors: Receives an array of certificates, nil if none were set.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    // SAFETY: the pointer is the caller's, valid as Apple's function asks for.
    unsafe anchors.pointee = trust.settings.anchors.map { $0 as NSArray }
    return errSecSuccess
}

/// Sets what the certificate is to be good for.
///
/// - Parameters:
///   - trust: The evaluation.
///   - policies: A ``SecPolicy``, or an array of them, which must all hold.
/// - Returns: ``errSecSuccess``, or ``errSecParam`` if there is none, or something else among them;
///   nothing was changed then.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    guard let policies = objects(policies, as: SecPolicy.self), !policies.isEmpty else {
        return errSecParam
    }
    trust.change { $0.policies = policies }
    return errSecSuccess
}

/// Reads what the certificate is to be good for.
///
/// - Parameters:
///   - trust: The evaluation.
///   - policies: Receives an array of ``SecPolicy``.
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecTrustCopyPolicies(
    _ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    // SAFETY: the pointer is the caller's, valid as Apple's function asks for.
    unsafe policies.pointee = trust.settings.policies as NSArray
    return errSecSuccess
}

/// Sets the moment at which the chain must be valid. Without one it is that of the evaluation.
///
/// - Returns: ``errSecSuccess``.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    let date = verifyDate as Date
    trust.change { $0.date = date }
    return errSecSuccess
}

/// Returns the moment at which the chain must be valid.
///
/// - Returns: Seconds since 2001-01-01 00:00:00 UTC: the moment that was set, or this one.
///
/// It corresponds to the function of the same name.
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    (trust.settings.date ?? Date()).timeIntervalSinceReferenceDate
}

#endif
