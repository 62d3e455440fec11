// SecAccess: declarations of the access objects of macOS's file-based keychains.
//   (1) These types have no values.
//   (2) Every function except those that return a type identifier returns `errSecUnimplemented` and
//       doesn't write its results. An access object without any effect would give a false sense of
//       security.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// The programs that may use an item of a file-based keychain. This type has no values; see
/// ``SecAccessControl``.
public final class SecAccess: NSObject, Sendable {
    private init(_ impossible: Never) {}
}

extension SecAccess: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.access
}

/// A program in an access object. This type has no values; access groups and entitlements determine
/// which programs share items.
public final class SecTrustedApplication: NSObject, Sendable {
    private init(_ impossible: Never) {}
}

extension SecTrustedApplication: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.trustedApplication
}

/// Returns the type identifier of access objects. No object has this type.
public func SecAccessGetTypeID() -> CFTypeID { CoreFoundationType.access.rawValue }

/// Returns the type identifier of trusted applications. No object has this type.
public func SecTrustedApplicationGetTypeID() -> CFTypeID {
    CoreFoundationType.trustedApplication.rawValue
}

/// Not implemented: creates an access object.
///
/// - Parameters:
///   - descriptor: The item's name in dialogs.
///   - trustedlist: The programs that may access the item without a prompt.
///   - accessRef: Unchanged.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(
    *, deprecated,
    message: "Use SecAccessControlCreateWithFlags, and kSecAttrAccessGroup to share items."
)
@discardableResult
public func SecAccessCreate(
    _ descriptor: CFString, _ trustedlist: CFArray?,
    _ accessRef: UnsafeMutablePointer<SecAccess?>
) -> OSStatus {
    errSecUnimplemented
}

/// Not implemented: creates the entry for a program in an access object.
///
/// - Parameters:
///   - path: The path of the program, or `nil` for the calling program.
///   - app: Unchanged.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
@available(
    *, deprecated,
    message: "Entitlements and kSecAttrAccessGroup determine which programs share items."
)
@discardableResult
public func SecTrustedApplicationCreateFromPath(
    _ path: UnsafePointer<CChar>?, _ app: UnsafeMutablePointer<SecTrustedApplication?>
) -> OSStatus {
    errSecUnimplemented
}

#endif
