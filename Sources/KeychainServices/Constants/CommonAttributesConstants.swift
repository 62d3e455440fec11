// CommonAttributesConstants: Attribute keys that items of every class have.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

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
/// ``kSecAttrSynchronizableAny`` in a query. Absent means false, in searches too.
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

#endif
