// Certificates: the functions on certificates, identities, policies and trust.

import Dispatch
import Foundation
import Security

func certificateFunctions() {
    _ = SecCertificate.self as AnyClass
    _ = SecCertificateGetTypeID as () -> CFTypeID
    _ = SecCertificateCreateWithData as (CFAllocator?, CFData) -> SecCertificate?
    _ = SecCertificateCopyData as (SecCertificate) -> CFData
    _ = SecCertificateCopySubjectSummary as (SecCertificate) -> CFString?
    _ =
        SecCertificateCopyCommonName
        as (SecCertificate, UnsafeMutablePointer<CFString?>) -> OSStatus
    _ =
        SecCertificateCopyEmailAddresses
        as (SecCertificate, UnsafeMutablePointer<CFArray?>) -> OSStatus
    _ = SecCertificateCopyNormalizedIssuerSequence as (SecCertificate) -> CFData?
    _ = SecCertificateCopyNormalizedSubjectSequence as (SecCertificate) -> CFData?
    _ = SecCertificateCopyKey as (SecCertificate) -> SecKey?
    _ =
        SecCertificateCopySerialNumberData
        as (SecCertificate, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> CFData?
    _ = SecCertificateCopyNotValidBeforeDate as (SecCertificate) -> CFDate?
    _ = SecCertificateCopyNotValidAfterDate as (SecCertificate) -> CFDate?
}

func identityFunctions() {
    _ = SecIdentity.self as AnyClass
    _ = SecIdentityGetTypeID as () -> CFTypeID
    _ =
        SecIdentityCopyCertificate
        as (SecIdentity, UnsafeMutablePointer<SecCertificate?>) -> OSStatus
    _ = SecIdentityCopyPrivateKey as (SecIdentity, UnsafeMutablePointer<SecKey?>) -> OSStatus
    _ = SecIdentityCreate as (CFAllocator?, SecCertificate, SecKey) -> SecIdentity?
    _ =
        SecIdentityCreateWithCertificate
        as (CFTypeRef?, SecCertificate, UnsafeMutablePointer<SecIdentity?>) -> OSStatus
}

func trustFunctions() {
    _ = SecPolicyCreateBasicX509 as () -> SecPolicy
    _ = SecPolicyCreateSSL as (Bool, CFString?) -> SecPolicy
    _ = SecPolicyCopyProperties as (SecPolicy) -> CFDictionary?
    _ = SecTrust.self as AnyClass
    _ =
        SecTrustCreateWithCertificates
        as (CFTypeRef, CFTypeRef?, UnsafeMutablePointer<SecTrust?>) -> OSStatus
    _ = SecTrustEvaluateWithError as (SecTrust, UnsafeMutablePointer<CFError?>?) -> Bool
    _ =
        SecTrustEvaluateAsyncWithError
        as (SecTrust, DispatchQueue, @escaping (SecTrust, Bool, CFError?) -> Void) -> OSStatus
    _ = SecTrustCopyCertificateChain as (SecTrust) -> CFArray?
    _ = SecTrustCopyKey as (SecTrust) -> SecKey?
    _ =
        SecTrustGetTrustResult
        as (SecTrust, UnsafeMutablePointer<SecTrustResultType>) -> OSStatus
    _ = SecTrustSetAnchorCertificates as (SecTrust, CFArray?) -> OSStatus
    _ = SecTrustSetAnchorCertificatesOnly as (SecTrust, Bool) -> OSStatus
    _ = SecTrustSetPolicies as (SecTrust, CFTypeRef) -> OSStatus
    _ = SecTrustSetVerifyDate as (SecTrust, CFDate) -> OSStatus
    _ =
        [
            .invalid, .proceed, .deny, .unspecified, .recoverableTrustFailure,
            .fatalTrustFailure, .otherError,
        ] as [SecTrustResultType]
}
