// UseConstants: Keys that say how a request is carried out.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

/// The items to work on. Array. Not supported by keychains of this kind.
@safe public nonisolated(unsafe) let kSecUseItemList: CFString = "u_ItemList"

/// Whether to use the data-protection keychain. Boolean. Accepted either way: there is no other.
@safe public nonisolated(unsafe) let kSecUseDataProtectionKeychain: CFString = "nleg"

/// Whether to use the keychain that all users of the device share. Boolean.
@safe
public nonisolated(unsafe) let kSecUseUserIndependentKeychain: CFString =
    "u_UserIndependentKeychain"

/// The authentication context that answers for the user. `LAContext`.
@safe public nonisolated(unsafe) let kSecUseAuthenticationContext: CFString = "u_AuthCtx"

/// Whether the user may be asked. One of the `kSecUseAuthenticationUI…` values.
@safe public nonisolated(unsafe) let kSecUseAuthenticationUI: CFString = "u_AuthUI"

/// As ``kSecUseAuthenticationUI``: the user may be asked. The default.
@safe public nonisolated(unsafe) let kSecUseAuthenticationUIAllow: CFString = "u_AuthUIA"

/// As ``kSecUseAuthenticationUI``: fail with ``errSecInteractionNotAllowed`` where the user would
/// be asked.
@safe public nonisolated(unsafe) let kSecUseAuthenticationUIFail: CFString = "u_AuthUIF"

/// As ``kSecUseAuthenticationUI``: leave items out for which the user would be asked. Only when
/// searching.
@safe public nonisolated(unsafe) let kSecUseAuthenticationUISkip: CFString = "u_AuthUIS"

/// Whether asking the user is forbidden. Boolean. Deprecated at Apple:
/// ``kSecUseAuthenticationUIFail`` says the same.
@safe public nonisolated(unsafe) let kSecUseNoAuthenticationUI: CFString = "u_NoAuthUI"

/// The text that tells the user why authentication is asked for. String. Deprecated at Apple: set
/// the reason on the context.
@safe public nonisolated(unsafe) let kSecUseOperationPrompt: CFString = "u_OpPrompt"

#endif
