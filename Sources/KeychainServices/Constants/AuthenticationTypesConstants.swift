// AuthenticationTypesConstants: Values of `kSecAttrAuthenticationType`.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

/// NTLM.
@safe public nonisolated(unsafe) let kSecAttrAuthenticationTypeNTLM: CFString = "ntlm"

/// Microsoft Network.
@safe public nonisolated(unsafe) let kSecAttrAuthenticationTypeMSN: CFString = "msna"

/// Distributed password authentication.
@safe public nonisolated(unsafe) let kSecAttrAuthenticationTypeDPA: CFString = "dpaa"

/// Remote password authentication.
@safe public nonisolated(unsafe) let kSecAttrAuthenticationTypeRPA: CFString = "rpaa"

/// HTTP Basic.
@safe public nonisolated(unsafe) let kSecAttrAuthenticationTypeHTTPBasic: CFString = "http"

/// HTTP Digest.
@safe public nonisolated(unsafe) let kSecAttrAuthenticationTypeHTTPDigest: CFString = "httd"

/// An HTML form.
@safe public nonisolated(unsafe) let kSecAttrAuthenticationTypeHTMLForm: CFString = "form"

/// The scheme that the protocol has by default.
@safe public nonisolated(unsafe) let kSecAttrAuthenticationTypeDefault: CFString = "dflt"

#endif
