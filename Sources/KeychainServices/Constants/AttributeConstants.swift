// AttributeConstants: the attribute keys of items, except those specific to cryptographic keys, and
// the values of `kSecAttrAccessible` and of some other attributes.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. With `@safe`, callers need no `unsafe`.

#if !canImport(Darwin)

public import Foundation

// MARK: - Items of every class

/// When the item can be read. String: one of the `kSecAttrAccessible…` values. The default is
/// ``kSecAttrAccessibleWhenUnlocked``, for certificates ``kSecAttrAccessibleAlways``.
@safe public nonisolated(unsafe) let kSecAttrAccessible: CFString = "pdmn"

/// The conditions for opening the secret. ``SecAccessControl``. It includes a protection class, so
/// it can't be combined with a different ``kSecAttrAccessible``.
@safe public nonisolated(unsafe) let kSecAttrAccessControl: CFString = "accc"

/// The access group that owns the item. String, one of the caller's groups. The default for a new
/// item is the caller's first group.
@safe public nonisolated(unsafe) let kSecAttrAccessGroup: CFString = "agrp"

/// The access group of items on a token. A caller that has the group can read its items; no caller
/// can add, change or delete them.
@safe public nonisolated(unsafe) let kSecAttrAccessGroupToken: CFString = "com.apple.token"

/// Whether the item may be synchronized to other devices. Boolean, or ``kSecAttrSynchronizableAny``
/// in a query. The default for a new item is false. A query without this key matches only local
/// items, unless it contains a persistent reference. An item with a this-device-only protection
/// class may be marked too, but isn't synchronized.
@safe public nonisolated(unsafe) let kSecAttrSynchronizable: CFString = "sync"

/// A value of ``kSecAttrSynchronizable`` in a query: synchronizable and local items match.
@safe public nonisolated(unsafe) let kSecAttrSynchronizableAny: CFString = "syna"

/// The name of the item's sync view: on Apple's systems, a set of items that are synchronized
/// together. String, part of the item's primary key. It has no other effect here.
@safe public nonisolated(unsafe) let kSecAttrSyncViewHint: CFString = "vwht"

/// When the item was added. Date. The keychain sets it and ignores a value in an addition.
@safe public nonisolated(unsafe) let kSecAttrCreationDate: CFString = "cdat"

/// When the item was last changed. Date. The keychain sets it.
@safe public nonisolated(unsafe) let kSecAttrModificationDate: CFString = "mdat"

/// The display name. String. It is not part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrLabel: CFString = "labl"

/// For a hardware key: the token that holds it. String, part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrTokenID: CFString = "tkid"

/// A value of ``kSecAttrTokenID``: the key is generated in secure hardware, and no program
/// can read it.
@safe public nonisolated(unsafe) let kSecAttrTokenIDSecureEnclave: CFString = "com.apple.setoken"

/// The 16 bytes that identify the item in its persistent reference. Data. The keychain sets them.
/// Results don't contain this key, and a query or addition with it fails with ``errSecParam``.
@safe public nonisolated(unsafe) let kSecAttrPersistentReference: CFString = "persistref"

/// The older spelling of ``kSecAttrPersistentReference``.
@safe public nonisolated(unsafe) let kSecAttrPersistantReference: CFString = "persistref"

// MARK: - Values of `kSecAttrAccessible`: the protection classes

/// Readable while unlocked. The default, except for certificates.
@safe public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlocked: CFString = "ak"

/// Readable from the first unlock until the process that has the keychain open (this one or the
/// keychain service) ends, until another process replaces the keychain's keys, or until
/// `keychainctl lock --all`.
@safe public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"

/// Always readable, even while locked.
@available(*, deprecated, message: "Use kSecAttrAccessibleAfterFirstUnlock or a stricter class")
@safe public nonisolated(unsafe) let kSecAttrAccessibleAlways: CFString = "dk"

/// Readable while unlocked, on this device only.
@safe public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"

/// Readable from the first unlock until the process that has the keychain open (this one or the
/// keychain service) ends, until another process replaces the keychain's keys, or until
/// `keychainctl lock --all`. On this device only.
@safe
public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"

/// Always readable, even while locked, on this device only.
@available(
    *, deprecated,
    message: "Use kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly or a stricter class"
)
@safe public nonisolated(unsafe) let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"

/// Readable while unlocked, on this device only, and only while a passcode is set. Removing the
/// passcode destroys the item.
@safe
public nonisolated(unsafe) let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"

// MARK: - Generic and internet passwords

/// The account name. String or Data, returned with the type that was passed. Part of the item's
/// primary key.
@safe public nonisolated(unsafe) let kSecAttrAccount: CFString = "acct"

/// The service of a generic password. String or Data. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrService: CFString = "svce"

/// Application-defined data. Data. It can be searched for but is not part of the item's primary
/// key: two items can't differ in it alone.
@safe public nonisolated(unsafe) let kSecAttrGeneric: CFString = "gena"

/// The kind of the item, for display. String.
@safe public nonisolated(unsafe) let kSecAttrDescription: CFString = "desc"

/// A comment that the user can edit. String.
@safe public nonisolated(unsafe) let kSecAttrComment: CFString = "icmt"

/// The creator code. Number: an unsigned four-character code. For a key, part of the item's
/// primary key.
@safe public nonisolated(unsafe) let kSecAttrCreator: CFString = "crtr"

/// The type code. Number: an unsigned four-character code.
@safe public nonisolated(unsafe) let kSecAttrType: CFString = "type"

/// Whether lists shown to the user should omit the item. Boolean, returned as a number.
@safe public nonisolated(unsafe) let kSecAttrIsInvisible: CFString = "invi"

/// Whether the item records that no password is stored, so that the user is prompted each time.
/// Boolean, returned as a number.
@safe public nonisolated(unsafe) let kSecAttrIsNegative: CFString = "nega"

/// The security domain, or realm, of an internet password. String or Data. Part of the item's
/// primary key.
@safe public nonisolated(unsafe) let kSecAttrSecurityDomain: CFString = "sdmn"

/// The server name or address of an internet password. String or Data. Part of the item's primary
/// key.
@safe public nonisolated(unsafe) let kSecAttrServer: CFString = "srvr"

/// The protocol of an internet password. One of the `kSecAttrProtocol…` values. Part of the item's
/// primary key.
@safe public nonisolated(unsafe) let kSecAttrProtocol: CFString = "ptcl"

/// The authentication scheme of an internet password. One of the `kSecAttrAuthenticationType…`
/// values. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrAuthenticationType: CFString = "atyp"

/// The port of an internet password. Number. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrPort: CFString = "port"

/// The path on the server of an internet password. String or Data. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrPath: CFString = "path"

// MARK: - Certificates
//
// An addition with `kSecValueRef` sets each of these attributes that the dictionary lacks. The
// subject key identifier stays unset if the certificate has none.

/// The subject name in normalized DER form, without the enclosing sequence. Data.
@safe public nonisolated(unsafe) let kSecAttrSubject: CFString = "subj"

/// The issuer name in normalized DER form, without the enclosing sequence. Data. Part of the item's
/// primary key. The name with the enclosing sequence, normalized or not, is accepted too.
@safe public nonisolated(unsafe) let kSecAttrIssuer: CFString = "issr"

/// The serial number, without DER tag and length. Data. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrSerialNumber: CFString = "slnr"

/// The subject key identifier. Data.
@safe public nonisolated(unsafe) let kSecAttrSubjectKeyID: CFString = "skid"

/// The SHA-1 of the public key. Data. It links a certificate to its private key.
@safe public nonisolated(unsafe) let kSecAttrPublicKeyHash: CFString = "pkhh"

/// The certificate type. Number. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrCertificateType: CFString = "ctyp"

/// The encoding of the certificate. Number.
@safe public nonisolated(unsafe) let kSecAttrCertificateEncoding: CFString = "cenc"

#endif
