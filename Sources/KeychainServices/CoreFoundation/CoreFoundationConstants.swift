// CoreFoundationConstants: the Core Foundation constants that keychain code names.
//
// SAFETY: every constant here is an immutable object that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals

#if !canImport(Darwin)

public import Foundation

// Implicitly unwrapped, as Apple's headers import: existing code writes `kCFBooleanTrue`,
// `kCFBooleanTrue!` and `kCFBooleanTrue as Any`, and all three must compile.

/// The boolean true.
public let kCFBooleanTrue: CFBoolean! = NSNumber(value: true)

/// The boolean false.
public let kCFBooleanFalse: CFBoolean! = NSNumber(value: false)

/// The key of a bundle's identifier in its information dictionary.
@safe public nonisolated(unsafe) let kCFBundleIdentifierKey: CFString! = "CFBundleIdentifier"

/// The domain of errors whose code is an ``OSStatus``.
@safe
public nonisolated(unsafe) let kCFErrorDomainOSStatus: CFErrorDomain! = "NSOSStatusErrorDomain"

#endif
