// SecAccess: the access objects of macOS's file-based keychains, as declarations.
//   (1) No value of these types exists.
//   (2) Every function answers `errSecUnimplemented` and leaves its results alone. An access object
//       that protected nothing would be worse than none.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// Which programs may use an item of a file-based keychain. No value of this type exists: see
/// ``SecAccessControl``.
public final class SecAccess: NSObject, Sendable {
    private init(_ impossible: Never) {}
}

extension SecAccess: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.access
}

/// A program that an access object names. No value of this type exists: access groups and
/// entitlements say which programs share items.
public final class SecTrustedApplication: NSObject, Sendable {
    private init(_ impossible: Never) {}
}

extension SecTrustedApplication: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.trustedApplication
}

/// Returns the identifier of access objects, which no object has.
public func SecAccessGetTypeID() -> CFTypeID { CoreFoundationType.access.rawValue }

/// Returns the identifier of trusted applications, which no object has.
public func SecTrustedApplicationGetTypeID() -> CFTypeID {
    CoreFoundationType.trustedApplication.rawValue
}

/// Not implemented: makes an access object.
///
/// - Parameters:
///   - descriptor: The item's name in dialogs.
///   - trustedlist: The programs that need not ask.
///   - accessRef: Left alone.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to the function of the same name.
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

/// Not implemented: names a program for an access object.
///
/// - Parameters:
///   - path: The program, or nil for the one that calls.
///   - app: Left alone.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to the function of the same name.
@available(
    *, deprecated, message: "Entitlements and kSecAttrAccessGroup say which programs share items."
)
@discardableResult
public func SecTrustedApplicationCreateFromPath(
    _ path: UnsafePointer<CChar>?, _ app: UnsafeMutablePointer<SecTrustedApplication?>
) -> OSStatus {
    errSecUnimplemented
}

#endif
