// PolicyConstants: the identifiers of policies and the keys of their properties.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

/// The policy of ``SecPolicyCreateBasicX509()``.
@safe
public nonisolated(unsafe) let kSecPolicyAppleX509Basic: CFString = "1.2.840.113635.100.1.2"

/// The policy of ``SecPolicyCreateSSL(_:_:)``.
@safe public nonisolated(unsafe) let kSecPolicyAppleSSL: CFString = "1.2.840.113635.100.1.3"

/// The policy of certificates that sign and encrypt mail.
@safe public nonisolated(unsafe) let kSecPolicyAppleSMIME: CFString = "1.2.840.113635.100.1.8"

/// The identifier of a policy among its properties. A string.
@safe public nonisolated(unsafe) let kSecPolicyOid: CFString = "SecPolicyOid"

/// The name that the certificate must have: a host name or IP address for a secure connection, a
/// mail address for mail. A string.
@safe public nonisolated(unsafe) let kSecPolicyName: CFString = "SecPolicyName"

/// Whether the certificate is a client's instead of a server's. A boolean.
@safe public nonisolated(unsafe) let kSecPolicyClient: CFString = "SecPolicyClient"

#endif
