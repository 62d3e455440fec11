// SecKeychain: declarations of macOS's file-based keychains, and the dictionary keys of these
// keychains and of shared web credentials. They exist so that existing code compiles.
//   (1) There are no such keychains here, so `SecKeychain` and `SecKeychainItem` have no values.
//   (2) Every function except those that return a type identifier returns `errSecUnimplemented`,
//       changes nothing and doesn't write its results.
//   (3) These functions are deprecated, as on Apple platforms, and name the replacement if there is
//       one. The classes are not deprecated: a current function, `SecItemImport`, has a parameter
//       of type `SecKeychain`.
//
// SAFETY: every string constant here is immutable and never replaced, so any thread may read it.
// With `@safe`, callers need no `unsafe`.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// A file-based keychain of macOS. This type has no values.
public final class SecKeychain: NSObject, Sendable {
    private init(_ impossible: Never) {}
}

extension SecKeychain: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.keychain
}

/// An item of a file-based keychain. This type has no values: items are found by `kSecClass` and
/// have persistent references.
public final class SecKeychainItem: NSObject, Sendable {
    private init(_ impossible: Never) {}
}

extension SecKeychainItem: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.keychainItem
}

/// The C name of ``SecKeychainItem``.
@available(*, deprecated, renamed: "SecKeychainItem")
public typealias SecKeychainItemRef = SecKeychainItem

/// A domain, which has a list of file-based keychains.
public enum SecPreferencesDomain: Int32, Sendable {
    /// The user's list.
    case user = 0
    /// The list of the system's services.
    case system = 1
    /// The list that every program sees.
    case common = 2
    /// Keychains that appear and disappear with hardware.
    case dynamic = 3
}

/// Returns the type identifier of file-based keychains. No object has this type.
public func SecKeychainGetTypeID() -> CFTypeID { CoreFoundationType.keychain.rawValue }

/// Returns the type identifier of items of file-based keychains. No object has this type.
public func SecKeychainItemGetTypeID() -> CFTypeID { CoreFoundationType.keychainItem.rawValue }

/// Not implemented: creates a file-based keychain.
///
/// - Parameters:
///   - pathName: The path of the file.
///   - passwordLength: The length of the password in bytes.
///   - password: The password.
///   - promptUser: Whether to prompt the user for the password.
///   - initialAccess: The access object of the keychain.
///   - keychain: Unchanged.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(
    *, deprecated,
    message: "There is one keychain, made by the first change. KEYCHAIN_DIRECTORY sets its folder."
)
@discardableResult
public func SecKeychainCreate(
    _ pathName: UnsafePointer<CChar>, _ passwordLength: UInt32,
    _ password: UnsafeRawPointer?, _ promptUser: Bool, _ initialAccess: SecAccess?,
    _ keychain: UnsafeMutablePointer<SecKeychain?>
) -> OSStatus {
    errSecUnimplemented
}

/// Not implemented: opens a file-based keychain.
///
/// - Parameters:
///   - pathName: The path of the file.
///   - keychain: Unchanged.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(
    *, deprecated,
    message: "There is one keychain, opened at its first use. KEYCHAIN_DIRECTORY sets its folder."
)
@discardableResult
public func SecKeychainOpen(
    _ pathName: UnsafePointer<CChar>, _ keychain: UnsafeMutablePointer<SecKeychain?>
) -> OSStatus {
    errSecUnimplemented
}

/// Not implemented: deletes file-based keychains.
///
/// - Parameter keychainOrArray: The keychain.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "Use SecItemDelete to delete items.")
@discardableResult
public func SecKeychainDelete(_ keychainOrArray: SecKeychain?) -> OSStatus {
    errSecUnimplemented
}

/// Not implemented: returns the list of file-based keychains of a domain.
///
/// - Parameters:
///   - domain: The domain.
///   - searchList: Unchanged.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(
    *, deprecated, message: "There is one keychain. Use kSecAttrAccessGroup to separate items."
)
@discardableResult
public func SecKeychainCopyDomainSearchList(
    _ domain: SecPreferencesDomain, _ searchList: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    errSecUnimplemented
}

/// Not implemented: returns the path of a file-based keychain.
///
/// - Parameters:
///   - keychain: The keychain, or `nil` for the default one.
///   - ioPathLength: Unchanged.
///   - pathName: Unchanged.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "`keychainctl status` shows the path of the keychain.")
@discardableResult
public func SecKeychainGetPath(
    _ keychain: SecKeychain?, _ ioPathLength: UnsafeMutablePointer<UInt32>,
    _ pathName: UnsafeMutablePointer<CChar>
) -> OSStatus {
    errSecUnimplemented
}

/// Not implemented: returns whether a file-based keychain is unlocked, readable and writable.
///
/// - Parameters:
///   - keychain: The keychain, or `nil` for the default one.
///   - keychainStatus: Unchanged.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(
    *, deprecated,
    message: "A search for a locked item returns errSecInteractionNotAllowed."
)
@discardableResult
public func SecKeychainGetStatus(
    _ keychain: SecKeychain?, _ keychainStatus: UnsafeMutablePointer<SecKeychainStatus>
) -> OSStatus {
    errSecUnimplemented
}

/// Not implemented: locks a file-based keychain.
///
/// - Parameter keychain: The keychain, or `nil` for the default one.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "Use KeychainDatabase of the Swift API, or `keychainctl lock`.")
@discardableResult
public func SecKeychainLock(_ keychain: SecKeychain?) -> OSStatus {
    errSecUnimplemented
}

/// Not implemented: unlocks a file-based keychain.
///
/// - Parameters:
///   - keychain: The keychain, or `nil` for the default one.
///   - passwordLength: The length of the password in bytes.
///   - password: The password.
///   - usePassword: Whether to use the password instead of prompting the user.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(
    *, deprecated, message: "Use KeychainDatabase of the Swift API, or `keychainctl unlock`."
)
@discardableResult
public func SecKeychainUnlock(
    _ keychain: SecKeychain?, _ passwordLength: UInt32, _ password: UnsafeRawPointer?,
    _ usePassword: Bool
) -> OSStatus {
    errSecUnimplemented
}

/// Not implemented: deletes an item of a file-based keychain.
///
/// - Parameter itemRef: The item.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "Use SecItemDelete.")
@discardableResult
public func SecKeychainItemDelete(_ itemRef: SecKeychainItem) -> OSStatus {
    errSecUnimplemented
}

// MARK: - Constants

/// The access object of an item in a file-based keychain. `SecAccess`. A query or addition with
/// this key fails with ``errSecNoSuchAttr``. Use ``kSecAttrAccessControl`` instead.
@safe public nonisolated(unsafe) let kSecAttrAccess: CFString = "acls"

/// The file-based keychain to use. `SecKeychain`. A query or addition with this key fails with
/// ``errSecParam``.
@safe public nonisolated(unsafe) let kSecUseKeychain: CFString = "u_Keychain"

/// In a shared web credential: the password. String.
@safe public nonisolated(unsafe) let kSecSharedPassword: CFString = "spwd"

/// The state of a file-based keychain: a combination of the `kSec…Status` bits.
public typealias SecKeychainStatus = UInt32

/// The keychain is unlocked.
public let kSecUnlockStateStatus: SecKeychainStatus = 1

/// The keychain can be read.
public let kSecReadPermStatus: SecKeychainStatus = 2

/// The keychain can be written.
public let kSecWritePermStatus: SecKeychainStatus = 4

#endif
