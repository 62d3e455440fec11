// AccessibilityConstants: Values of `kSecAttrAccessible`: the protection classes.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

/// Readable while unlocked. The default.
@safe public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlocked: CFString = "ak"

/// Readable at any time after the first unlock since start.
@safe public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"

/// Readable always, even while locked.
@available(*, deprecated, message: "Protect items at least by kSecAttrAccessibleAfterFirstUnlock")
@safe public nonisolated(unsafe) let kSecAttrAccessibleAlways: CFString = "dk"

/// Readable while unlocked, on this device only.
@safe public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"

/// Readable at any time after the first unlock since start, on this device only.
@safe
public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"

/// Readable always, even while locked, on this device only.
@available(
    *, deprecated,
    message: "Protect items at least by kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly"
)
@safe public nonisolated(unsafe) let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"

/// Readable while unlocked, and only while a passcode is set, on this device only. Removing
/// the passcode destroys the item.
@safe
public nonisolated(unsafe) let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"

#endif
