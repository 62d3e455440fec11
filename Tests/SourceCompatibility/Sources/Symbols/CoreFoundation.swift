// CoreFoundation: the Core Foundation names that keychain code uses, and the functions for secrets
// in Apple's C library. This file doesn't use CFRetain and CFRelease, because they are declared as
// unavailable, in this package as on Apple's platforms.

import Foundation
import Security

func coreFoundationTypes() {
    _ = "text" as NSString as CFString
    _ = ["key": 1] as NSDictionary as CFDictionary
    _ = [1] as NSArray as CFArray
    _ = Data([1]) as NSData as CFData
    _ = Date() as NSDate as CFDate
    _ = NSSet() as CFSet
    _ = 1 as NSNumber as CFNumber
    _ = kCFBooleanTrue as CFBoolean?
    _ = kCFBooleanFalse as CFBoolean?
    _ = "text" as NSString as CFTypeRef
    _ = kCFErrorDomainOSStatus as CFErrorDomain?
    _ = kCFBundleIdentifierKey as CFString?
    _ = [kCFAllocatorDefault, kCFAllocatorNull] as [CFAllocator?]
    _ = 1 as CFIndex as Int
    _ = 1 as CFTypeID as UInt
    _ = 1 as CFOptionFlags as UInt
    _ = 0x6B79_6368 as FourCharCode as UInt32
}

func coreFoundationFunctions() {
    _ = CFGetTypeID as (CFTypeRef?) -> CFTypeID
    _ =
        [
            CFStringGetTypeID, CFDataGetTypeID, CFDictionaryGetTypeID, CFArrayGetTypeID,
            CFSetGetTypeID, CFDateGetTypeID, CFNumberGetTypeID, CFBooleanGetTypeID,
        ] as [() -> CFTypeID]
    _ = CFErrorGetCode as (CFError?) -> CFIndex
    _ = CFErrorGetDomain as (CFError?) -> CFErrorDomain?
    _ = CFErrorCopyUserInfo as (CFError?) -> CFDictionary?
    _ =
        CFErrorCreate as (CFAllocator?, CFErrorDomain?, CFIndex, CFDictionary?) -> CFError?
    _ = CFDataGetLength as (CFData?) -> CFIndex
    _ = CFDataGetBytePtr as (CFData?) -> UnsafePointer<UInt8>?
    _ =
        CFDataCreateWithBytesNoCopy
        as (CFAllocator?, UnsafePointer<UInt8>?, CFIndex, CFAllocator?) -> CFData?
}

func libraryFunctions() {
    _ = memset_s as (UnsafeMutableRawPointer?, rsize_t, Int32, rsize_t) -> errno_t
    _ = timingsafe_bcmp as (UnsafeRawPointer?, UnsafeRawPointer?, Int) -> Int32
}
