// Items: the functions on items, access controls, random bytes, error messages, import and export.

import Foundation
import Security

func itemFunctions() {
    _ = SecItemAdd as (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
    _ = SecItemCopyMatching as (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
    _ = SecItemUpdate as (CFDictionary, CFDictionary) -> OSStatus
    _ = SecItemDelete as (CFDictionary) -> OSStatus
    _ = SecRandomCopyBytes as (SecRandomRef?, Int, UnsafeMutableRawPointer) -> Int32
    _ = SecCopyErrorMessageString as (OSStatus, UnsafeMutableRawPointer?) -> CFString?
    _ =
        SecAccessControlCreateWithFlags
        as (
            CFAllocator?, CFTypeRef, SecAccessControlCreateFlags,
            UnsafeMutablePointer<Unmanaged<CFError>?>?
        ) -> SecAccessControl?
    _ = SecAccessControlGetTypeID as () -> CFTypeID
    _ = SecAccessControl.self as AnyClass
}

func accessControlFlags() -> [(SecAccessControlCreateFlags, CFOptionFlags)] {
    [
        (.userPresence, 1 << 0), (.biometryAny, 1 << 1), (.touchIDAny, 1 << 1),
        (.biometryCurrentSet, 1 << 3), (.touchIDCurrentSet, 1 << 3), (.devicePasscode, 1 << 4),
        (.watch, 1 << 5), (.companion, 1 << 5), (.or, 1 << 14), (.and, 1 << 15),
        (.privateKeyUsage, 1 << 30), (.applicationPassword, 1 << 31),
    ]
}

func importAndExport() {
    _ =
        SecPKCS12Import
        as (CFData, CFDictionary, UnsafeMutablePointer<CFArray?>) -> OSStatus
    _ =
        SecItemImport
        as (
            CFData, CFString?, UnsafeMutablePointer<SecExternalFormat>?,
            UnsafeMutablePointer<SecExternalItemType>?, SecItemImportExportFlags,
            UnsafePointer<SecItemImportExportKeyParameters>?, SecKeychain?,
            UnsafeMutablePointer<CFArray?>?
        ) -> OSStatus
    _ =
        SecItemExport
        as (
            CFTypeRef, SecExternalFormat, SecItemImportExportFlags,
            UnsafePointer<SecItemImportExportKeyParameters>?, UnsafeMutablePointer<CFData?>
        ) -> OSStatus
    var parameters = SecItemImportExportKeyParameters()
    parameters.version = 0 as UInt32
    parameters.flags = [.importOnlyOne, .securePassphrase, .noAccessControl]
    parameters.flags = SecKeyImportExportFlags.noAccessControl
    parameters.passphrase = nil as Unmanaged<CFTypeRef>?
    parameters.alertTitle = nil as Unmanaged<CFString>?
    parameters.alertPrompt = nil as Unmanaged<CFString>?
    parameters.accessRef = nil as Unmanaged<SecAccess>?
    parameters.keyUsage = nil as Unmanaged<CFArray>?
    parameters.keyAttributes = nil as Unmanaged<CFArray>?
    _ = parameters
    _ = SecItemImportExportFlags.pemArmour
    _ =
        [
            .formatUnknown, .formatOpenSSL, .formatSSH, .formatBSAFE, .formatRawKey,
            .formatWrappedPKCS8, .formatWrappedOpenSSL, .formatWrappedSSH, .formatWrappedLSH,
            .formatX509Cert, .formatPEMSequence, .formatPKCS7, .formatPKCS12,
            .formatNetscapeCertSequence, .formatSSHv2,
        ] as [SecExternalFormat]
    _ =
        [
            .itemTypeUnknown, .itemTypePrivateKey, .itemTypePublicKey, .itemTypeSessionKey,
            .itemTypeCertificate, .itemTypeAggregate,
        ] as [SecExternalItemType]
}
