// PasswordAttributesConstants: Attribute keys of generic and internet passwords.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

/// The account name. String or Data, returned in the type that was given. Part of the item's
/// identity.
@safe public nonisolated(unsafe) let kSecAttrAccount: CFString = "acct"

/// The service of a generic password. String or Data. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrService: CFString = "svce"

/// Data of the application's own. Searchable, but no part of the item's identity: two items cannot
/// differ in it alone.
@safe public nonisolated(unsafe) let kSecAttrGeneric: CFString = "gena"

/// The kind of the item, for people. String.
@safe public nonisolated(unsafe) let kSecAttrDescription: CFString = "desc"

/// A comment that the user can edit. String.
@safe public nonisolated(unsafe) let kSecAttrComment: CFString = "icmt"

/// The creator code. Number: an unsigned four-character code.
@safe public nonisolated(unsafe) let kSecAttrCreator: CFString = "crtr"

/// The type code. Number: an unsigned four-character code.
@safe public nonisolated(unsafe) let kSecAttrType: CFString = "type"

/// Whether the item should be left out of lists for people. Boolean, returned as a number.
@safe public nonisolated(unsafe) let kSecAttrIsInvisible: CFString = "invi"

/// Whether the item records that there is no valid password and the user is asked each time.
/// Boolean, returned as a number.
@safe public nonisolated(unsafe) let kSecAttrIsNegative: CFString = "nega"

/// The security domain, or realm, of an internet password. String or Data. Part of the item's
/// identity.
@safe public nonisolated(unsafe) let kSecAttrSecurityDomain: CFString = "sdmn"

/// The server name or address of an internet password. String or Data. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrServer: CFString = "srvr"

/// The protocol of an internet password. One of the `kSecAttrProtocol…` values. Part of the item's
/// identity.
@safe public nonisolated(unsafe) let kSecAttrProtocol: CFString = "ptcl"

/// The authentication scheme of an internet password. One of the `kSecAttrAuthenticationType…`
/// values. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrAuthenticationType: CFString = "atyp"

/// The port of an internet password. Number. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrPort: CFString = "port"

/// The path on the server of an internet password. String or Data. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrPath: CFString = "path"

#endif
