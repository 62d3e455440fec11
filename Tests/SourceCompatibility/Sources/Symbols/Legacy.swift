// Legacy: names of file-based keychains, shared web credentials, code signatures and tasks.

import Foundation
import Security

@available(*, deprecated)
func fileBasedKeychains() {
    _ = [SecKeychain.self, SecKeychainItem.self, SecKeychainItemRef.self] as [AnyClass]
    _ =
        SecKeychainCreate
        as (
            UnsafePointer<CChar>, UInt32, UnsafeRawPointer?, Bool, SecAccess?,
            UnsafeMutablePointer<SecKeychain?>
        ) -> OSStatus
    _ =
        SecKeychainOpen
        as (UnsafePointer<CChar>, UnsafeMutablePointer<SecKeychain?>) -> OSStatus
    _ = SecKeychainDelete as (SecKeychain?) -> OSStatus
    _ =
        SecKeychainCopyDomainSearchList
        as (SecPreferencesDomain, UnsafeMutablePointer<CFArray?>) -> OSStatus
    _ =
        SecKeychainGetPath
        as (SecKeychain?, UnsafeMutablePointer<UInt32>, UnsafeMutablePointer<CChar>) -> OSStatus
    _ =
        SecKeychainGetStatus
        as (SecKeychain?, UnsafeMutablePointer<SecKeychainStatus>) -> OSStatus
    _ = SecKeychainLock as (SecKeychain?) -> OSStatus
    _ = SecKeychainUnlock as (SecKeychain?, UInt32, UnsafeRawPointer?, Bool) -> OSStatus
    _ = SecKeychainItemDelete as (SecKeychainItem) -> OSStatus
    _ = [.user, .system, .common, .dynamic] as [SecPreferencesDomain]
}

@available(*, deprecated)
func accessObjects() {
    _ = [SecAccess.self, SecTrustedApplication.self] as [AnyClass]
    _ =
        SecAccessCreate
        as (CFString, CFArray?, UnsafeMutablePointer<SecAccess?>) -> OSStatus
    _ =
        SecTrustedApplicationCreateFromPath
        as (UnsafePointer<CChar>?, UnsafeMutablePointer<SecTrustedApplication?>) -> OSStatus
}

@available(*, deprecated)
func sharedWebCredentials() {
    _ =
        SecAddSharedWebCredential
        as (CFString, CFString, CFString?, @escaping (CFError?) -> Void) -> Void
    _ =
        SecRequestSharedWebCredential
        as (CFString?, CFString?, @escaping (CFArray?, CFError?) -> Void) -> Void
    _ = SecCreateSharedWebCredentialPassword as () -> CFString?
}

@available(*, deprecated)
func codeSignatures() {
    _ = SecCode.self as AnyClass
    _ = SecCodeCheckValidity as (SecCode, SecCSFlags, SecRequirement?) -> OSStatus
}

func tasks() {
    _ = SecTaskCreateFromSelf as (CFAllocator?) -> SecTask?
    _ =
        SecTaskCopyValueForEntitlement
        as (SecTask, CFString, UnsafeMutablePointer<Unmanaged<CFError>?>?) -> CFTypeRef?
}
