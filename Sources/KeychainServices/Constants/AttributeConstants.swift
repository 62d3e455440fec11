// AttributeConstants: the attribute keys of items, those of keys excepted, and the values of
// `kSecAttrAccessible`.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

// MARK: - Items of every class

/// When the item can be read. String: one of the `kSecAttrAccessible…` values. The default is
/// ``kSecAttrAccessibleWhenUnlocked``.
@safe public nonisolated(unsafe) let kSecAttrAccessible: CFString = "pdmn"

/// What must be satisfied before the secret is opened. ``SecAccessControl``. It holds a protection
/// class too, so it excludes a different ``kSecAttrAccessible``.
@safe public nonisolated(unsafe) let kSecAttrAccessControl: CFString = "accc"

/// The access group that owns the item. String, one of the caller's groups. The default is the
/// first of them.
@safe public nonisolated(unsafe) let kSecAttrAccessGroup: CFString = "agrp"

/// The access group of items that live on a token. It can be read but not written.
@safe public nonisolated(unsafe) let kSecAttrAccessGroupToken: CFString = "com.apple.token"

/// Whether the item may leave this device by synchronization. Boolean, or
/// ``kSecAttrSynchronizableAny`` in a query. Absent means false, in searches too. An item of a class of
/// this device only may be marked as well, and stays on the device.
@safe public nonisolated(unsafe) let kSecAttrSynchronizable: CFString = "sync"

/// As ``kSecAttrSynchronizable`` in a query: items of both kinds match.
@safe public nonisolated(unsafe) let kSecAttrSynchronizableAny: CFString = "syna"

/// The synchronization view that the item belongs to. String, part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrSyncViewHint: CFString = "vwht"

/// When the item was added. Date. The keychain sets it; a value in an add is overwritten.
@safe public nonisolated(unsafe) let kSecAttrCreationDate: CFString = "cdat"

/// When the item was last changed. Date. The keychain sets it.
@safe public nonisolated(unsafe) let kSecAttrModificationDate: CFString = "mdat"

/// The name that people see. String. It takes no part in uniqueness.
@safe public nonisolated(unsafe) let kSecAttrLabel: CFString = "labl"

/// The token that holds the key of the item. String, part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrTokenID: CFString = "tkid"

/// As ``kSecAttrTokenID``: the key is made in secure hardware and never leaves it.
@safe public nonisolated(unsafe) let kSecAttrTokenIDSecureEnclave: CFString = "com.apple.setoken"

/// The stored half of a persistent reference. Data. The keychain sets it and never returns it among
/// attributes.
@safe public nonisolated(unsafe) let kSecAttrPersistentReference: CFString = "persistref"

/// ``kSecAttrPersistentReference`` in its older spelling.
@safe public nonisolated(unsafe) let kSecAttrPersistantReference: CFString = "persistref"

// MARK: - Values of `kSecAttrAccessible`: the protection classes

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

// MARK: - Generic and internet passwords

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

// MARK: - Certificates. The keychain fills them from one that is added by reference

/// The subject name in normalized DER form. Data.
@safe public nonisolated(unsafe) let kSecAttrSubject: CFString = "subj"

/// The issuer name in normalized DER form. Data. Part of the item's identity. What is inside the
/// name's sequence; the whole name, normalized or not, is taken for it.
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
