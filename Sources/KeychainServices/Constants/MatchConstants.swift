// MatchConstants: Search keys. They stand in the query of `SecItemCopyMatching`; elsewhere most of
// them are an error.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

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

#endif
