// CertificateAttributesConstants: Attribute keys of certificates. The keychain fills them from a
// certificate that is added by reference.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

/// The subject name in normalized DER form. Data.
@safe public nonisolated(unsafe) let kSecAttrSubject: CFString = "subj"

/// The issuer name in normalized DER form. Data. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrIssuer: CFString = "issr"

/// The serial number, without DER tag and length. Data. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrSerialNumber: CFString = "slnr"

/// The subject key identifier. Data.
@safe public nonisolated(unsafe) let kSecAttrSubjectKeyID: CFString = "skid"

/// SHA-1 of the public key. Data. It joins a certificate to its private key.
@safe public nonisolated(unsafe) let kSecAttrPublicKeyHash: CFString = "pkhh"

/// The certificate type. Number. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrCertificateType: CFString = "ctyp"

/// The encoding of the certificate. Number.
@safe public nonisolated(unsafe) let kSecAttrCertificateEncoding: CFString = "cenc"

#endif
