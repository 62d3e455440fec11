// RequestConstants: the keys and values of a request dictionary for the class, the options, the
// search conditions, the passed values and the requested results, but not for item attributes.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. With `@safe`, callers need no `unsafe`.

#if !canImport(Darwin)

public import Foundation

// MARK: - The item class

/// The item class. String: one of the `kSecClass…` values. Every request must contain it, except a
/// request with ``kSecValueRef`` or ``kSecValuePersistentRef``, or an addition with
/// ``kSecUseItemList``.
@safe public nonisolated(unsafe) let kSecClass: CFString = "class"

/// Generic password: a secret identified by account and service.
@safe public nonisolated(unsafe) let kSecClassGenericPassword: CFString = "genp"

/// Internet password: a secret identified by account, server, security domain, protocol,
/// authentication type, port and path.
@safe public nonisolated(unsafe) let kSecClassInternetPassword: CFString = "inet"

/// Certificate, identified by certificate type, issuer and serial number.
@safe public nonisolated(unsafe) let kSecClassCertificate: CFString = "cert"

/// Cryptographic key.
@safe public nonisolated(unsafe) let kSecClassKey: CFString = "keys"

/// Identity: a private key together with its certificate. It is found by a search and never stored
/// as an item.
@safe public nonisolated(unsafe) let kSecClassIdentity: CFString = "idnt"

// MARK: - Values: passed in a request, and returned if requested

/// The secret, or the encoded key or certificate. Data. A query may contain it, but it has no
/// effect.
@safe public nonisolated(unsafe) let kSecValueData: CFString = "v_Data"

/// A key, certificate or identity object. In an addition, the object provides the data and the
/// attributes that the dictionary doesn't contain.
@safe public nonisolated(unsafe) let kSecValueRef: CFString = "v_Ref"

/// A persistent reference. Data. A query may consist of it alone.
@safe public nonisolated(unsafe) let kSecValuePersistentRef: CFString = "v_PersistentRef"

// MARK: - Requested results
//
// If two or more of these are true, the result for each item is a dictionary.

/// Return the secret. Boolean.
@safe public nonisolated(unsafe) let kSecReturnData: CFString = "r_Data"

/// Return the attributes, without the secret. Boolean.
@safe public nonisolated(unsafe) let kSecReturnAttributes: CFString = "r_Attributes"

/// Return the key, certificate or identity as an object. Boolean. Passwords have none.
@safe public nonisolated(unsafe) let kSecReturnRef: CFString = "r_Ref"

/// Return a persistent reference. Boolean. The reference is Data and stays valid when the item
/// changes.
@safe public nonisolated(unsafe) let kSecReturnPersistentRef: CFString = "r_PersistentRef"

// MARK: - Search keys for `SecItemCopyMatching`
//
// In other calls they are an error, except the limit “all” in a deletion.

/// The maximum number of items to return. ``kSecMatchLimitOne``, ``kSecMatchLimitAll`` or a Number.
/// The default is one item, not in an array. With a limit other than one, the result is an array,
/// even if it contains only one item.
@safe public nonisolated(unsafe) let kSecMatchLimit: CFString = "m_Limit"

/// A value of ``kSecMatchLimit``: one item, not in an array.
@safe public nonisolated(unsafe) let kSecMatchLimitOne: CFString = "m_LimitOne"

/// A value of ``kSecMatchLimit``: all matching items.
@safe public nonisolated(unsafe) let kSecMatchLimitAll: CFString = "m_LimitAll"

/// The policy that a certificate or identity must satisfy. `SecPolicy`. Only its requirements for
/// the certificate itself are checked, not those for the chain. The certificate must also be valid
/// on the date in ``kSecMatchValidOnDate`` or, without it, at the time of the search.
@safe public nonisolated(unsafe) let kSecMatchPolicy: CFString = "m_Policy"

/// The items to search in. Array. Ignored: it applies only to file-based keychains.
@safe public nonisolated(unsafe) let kSecMatchItemList: CFString = "m_ItemList"

/// The keychains to search in. Array. Ignored: it applies only to file-based keychains.
@safe public nonisolated(unsafe) let kSecMatchSearchList: CFString = "m_SearchList"

/// Issuers, one of which must occur in the chain of a certificate or identity. Array of DER names
/// as Data.
@safe public nonisolated(unsafe) let kSecMatchIssuers: CFString = "m_Issuers"

/// The email address that a certificate must contain. String. A certificate without email addresses
/// doesn't match.
@safe
public nonisolated(unsafe) let kSecMatchEmailAddressIfPresent: CFString = "m_EmailAddressIfPresent"

/// Text that the subject of a certificate must contain. String. Ignored, as on iOS.
@safe public nonisolated(unsafe) let kSecMatchSubjectContains: CFString = "m_SubjectContains"

/// Text that the subject of a certificate must start with. String. Ignored, as on iOS.
@safe public nonisolated(unsafe) let kSecMatchSubjectStartsWith: CFString = "m_SubjectStartsWith"

/// Text that the subject of a certificate must end with. String. Ignored, as on iOS.
@safe public nonisolated(unsafe) let kSecMatchSubjectEndsWith: CFString = "m_SubjectEndsWith"

/// Text that the subject of a certificate must equal. String. Ignored, as on iOS.
@safe public nonisolated(unsafe) let kSecMatchSubjectWholeString: CFString = "m_SubjectWholeString"

/// A host that an internet password's server must equal or be a subdomain of. String,
/// case-sensitive.
@safe
public nonisolated(unsafe) let kSecMatchHostOrSubdomainOfHost: CFString = "m_HostOrSubdomainOfHost"

/// Whether text matches without regard to case. Boolean. Ignored, as on iOS.
@safe public nonisolated(unsafe) let kSecMatchCaseInsensitive: CFString = "m_CaseInsensitive"

/// Whether text matches without regard to diacritics. Boolean. Ignored, as on iOS.
@safe
public nonisolated(unsafe) let kSecMatchDiacriticInsensitive: CFString = "m_DiacriticInsensitive"

/// Whether text matches without regard to character width. Boolean. Ignored, as on iOS.
@safe public nonisolated(unsafe) let kSecMatchWidthInsensitive: CFString = "m_WidthInsensitive"

/// Whether only certificates with a chain to a trusted anchor match. Boolean.
@safe public nonisolated(unsafe) let kSecMatchTrustedOnly: CFString = "m_TrustedOnly"

/// The date on which a certificate must be valid. Date, or Null for the current time.
@safe public nonisolated(unsafe) let kSecMatchValidOnDate: CFString = "m_ValidOnDate"

// MARK: - Options

/// In an addition: the keys, certificates and identities to add, see ``SecItemAdd(_:_:)``. Array. A
/// search or update with this key fails with ``errSecParam``. A deletion ignores it.
@safe public nonisolated(unsafe) let kSecUseItemList: CFString = "u_ItemList"

/// Whether to use the data-protection keychain. Boolean. In a request, any value is accepted and
/// has no effect, because there is no other keychain. ``SecPKCS12Import(_:_:_:)`` adds items only
/// if it is true.
@safe public nonisolated(unsafe) let kSecUseDataProtectionKeychain: CFString = "nleg"

/// Whether to use the keychain that all users of the device share. Boolean. Ignored, because a
/// keychain has only one user.
@safe
public nonisolated(unsafe) let kSecUseUserIndependentKeychain: CFString =
    "u_UserIndependentKeychain"

/// The authentication context with which the user authenticates. `LAContext`.
@safe public nonisolated(unsafe) let kSecUseAuthenticationContext: CFString = "u_AuthCtx"

/// Whether the user may be prompted. One of the `kSecUseAuthenticationUI…` values.
@safe public nonisolated(unsafe) let kSecUseAuthenticationUI: CFString = "u_AuthUI"

/// A value of ``kSecUseAuthenticationUI``: the user may be prompted. The default.
@safe public nonisolated(unsafe) let kSecUseAuthenticationUIAllow: CFString = "u_AuthUIA"

/// A value of ``kSecUseAuthenticationUI``: fail with ``errSecInteractionNotAllowed`` instead of
/// prompting the user.
@safe public nonisolated(unsafe) let kSecUseAuthenticationUIFail: CFString = "u_AuthUIF"

/// A value of ``kSecUseAuthenticationUI``, for searches only: omit the items that would require
/// prompting the user.
@safe public nonisolated(unsafe) let kSecUseAuthenticationUISkip: CFString = "u_AuthUIS"

/// Whether prompting the user is forbidden. Boolean. Deprecated by Apple: use
/// ``kSecUseAuthenticationUIFail`` instead.
@safe public nonisolated(unsafe) let kSecUseNoAuthenticationUI: CFString = "u_NoAuthUI"

/// The text that tells the user why authentication is required. String. Deprecated by Apple: set
/// the reason on the context instead.
@safe public nonisolated(unsafe) let kSecUseOperationPrompt: CFString = "u_OpPrompt"

#endif
