// RequestConstants: what the dictionary of a request says beside the attributes of an item: its
// class, how the request is carried out, what is searched for, what is given and what comes back.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

// MARK: - The key that names an item's class, and the five classes

/// The item class. String: one of the `kSecClass…` values. Every request needs it unless a
/// reference stands for it.
@safe public nonisolated(unsafe) let kSecClass: CFString = "class"

/// Generic password: a secret found by account and service.
@safe public nonisolated(unsafe) let kSecClassGenericPassword: CFString = "genp"

/// Internet password: a secret found by account, server, protocol, port and path.
@safe public nonisolated(unsafe) let kSecClassInternetPassword: CFString = "inet"

/// Certificate, found by issuer and serial number.
@safe public nonisolated(unsafe) let kSecClassCertificate: CFString = "cert"

/// Cryptographic key.
@safe public nonisolated(unsafe) let kSecClassKey: CFString = "keys"

/// Identity: a private key together with its certificate. It is a view of the two and is never
/// stored itself.
@safe public nonisolated(unsafe) let kSecClassIdentity: CFString = "idnt"

// MARK: - Keys that carry a value: in an add the item itself, in a result what was asked for

/// The secret, or the encoded key or certificate. Data. In a query it is accepted and filters
/// nothing.
@safe public nonisolated(unsafe) let kSecValueData: CFString = "v_Data"

/// A key, certificate or identity object. In an add its attributes are taken from it.
@safe public nonisolated(unsafe) let kSecValueRef: CFString = "v_Ref"

/// A persistent reference. Data. A query may consist of it alone.
@safe public nonisolated(unsafe) let kSecValuePersistentRef: CFString = "v_PersistentRef"

// MARK: - Keys that say what is returned. More than one makes the result a dictionary

/// Return the secret. Boolean.
@safe public nonisolated(unsafe) let kSecReturnData: CFString = "r_Data"

/// Return the attributes, without the secret. Boolean.
@safe public nonisolated(unsafe) let kSecReturnAttributes: CFString = "r_Attributes"

/// Return the key, certificate or identity as an object. Boolean. A password has none.
@safe public nonisolated(unsafe) let kSecReturnRef: CFString = "r_Ref"

/// Return a persistent reference. Boolean. The reference is Data and survives changes of the item.
@safe public nonisolated(unsafe) let kSecReturnPersistentRef: CFString = "r_PersistentRef"

// MARK: - Search keys, for `SecItemCopyMatching`. Elsewhere most are an error

/// How many items to return. ``kSecMatchLimitOne``, ``kSecMatchLimitAll`` or a Number. The default
/// is one. Any other limit gives an array, even of one item.
@safe public nonisolated(unsafe) let kSecMatchLimit: CFString = "m_Limit"

/// As ``kSecMatchLimit``: one item, not in an array.
@safe public nonisolated(unsafe) let kSecMatchLimitOne: CFString = "m_LimitOne"

/// As ``kSecMatchLimit``: every item that matches.
@safe public nonisolated(unsafe) let kSecMatchLimitAll: CFString = "m_LimitAll"

/// The trust policy that a certificate or identity must satisfy. `SecPolicy`.
@safe public nonisolated(unsafe) let kSecMatchPolicy: CFString = "m_Policy"

/// The items to search in. Array. Ignored: only file-based keychains know it.
@safe public nonisolated(unsafe) let kSecMatchItemList: CFString = "m_ItemList"

/// The keychains to search in. Array. Ignored: only file-based keychains know it.
@safe public nonisolated(unsafe) let kSecMatchSearchList: CFString = "m_SearchList"

/// Issuers that must stand in the chain of a certificate or identity. Array of DER names as Data.
@safe public nonisolated(unsafe) let kSecMatchIssuers: CFString = "m_Issuers"

/// The mail address that a certificate must name. String. A certificate that names none does not
/// match.
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

/// The host that an internet password's server must equal or be a subdomain of. String, case
/// sensitive.
@safe
public nonisolated(unsafe) let kSecMatchHostOrSubdomainOfHost: CFString = "m_HostOrSubdomainOfHost"

/// Whether text matches without regard to case. Boolean. Ignored, as on iOS.
@safe public nonisolated(unsafe) let kSecMatchCaseInsensitive: CFString = "m_CaseInsensitive"

/// Whether text matches without regard to diacritics. Boolean. Ignored, as on iOS.
@safe
public nonisolated(unsafe) let kSecMatchDiacriticInsensitive: CFString = "m_DiacriticInsensitive"

/// Whether text matches without regard to character width. Boolean. Ignored, as on iOS.
@safe public nonisolated(unsafe) let kSecMatchWidthInsensitive: CFString = "m_WidthInsensitive"

/// Whether only certificates with a trusted anchor match. Boolean.
@safe public nonisolated(unsafe) let kSecMatchTrustedOnly: CFString = "m_TrustedOnly"

/// The date on which a certificate must be valid. Date, or Null for now.
@safe public nonisolated(unsafe) let kSecMatchValidOnDate: CFString = "m_ValidOnDate"

// MARK: - Keys that say how a request is carried out

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
