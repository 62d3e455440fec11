// ItemClassConstants: The key that names an item's class, and the five classes.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

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

#endif
