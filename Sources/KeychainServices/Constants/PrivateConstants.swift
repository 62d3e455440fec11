// PrivateConstants: constants that Apple doesn't publish, but that occur in stored rows, in results
// or in the behavior tests. Nothing here is public.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. With `@safe`, callers need no `unsafe`.

#if !canImport(Darwin)

import Foundation

/// Whether the row only records a deletion, for synchronization. Number.
@safe package nonisolated(unsafe) let kSecAttrTombstone: CFString = "tomb"

/// The user or persona that owns the row. Data.
@safe package nonisolated(unsafe) let kSecAttrMultiUser: CFString = "musr"

/// The group of people the item is shared with. String.
@safe package nonisolated(unsafe) let kSecAttrSharingGroup: CFString = "ggrp"

/// Whether the row belongs to an app clip. A request with this key is rejected.
@safe package nonisolated(unsafe) let kSecAttrAppClipItem: CFString = "clip"

/// The SHA-1 of the item's primary key. Data. It is returned only together with the secret.
@safe package nonisolated(unsafe) let kSecAttrSHA1: CFString = "sha1"

/// The identifier of a synchronized row. String.
@safe package nonisolated(unsafe) let kSecAttrUUID: CFString = "UUID"

/// An alias for the item. String or Data.
@safe package nonisolated(unsafe) let kSecAttrAlias: CFString = "alis"

/// Whether the item is bound to this system and stays out of backups. Number.
@safe package nonisolated(unsafe) let kSecAttrSysBound: CFString = "sysb"

/// The script code of text in a password item. Number.
@safe package nonisolated(unsafe) let kSecAttrScriptCode: CFString = "scrp"

/// Whether a password item has a custom icon. Number.
@safe package nonisolated(unsafe) let kSecAttrHasCustomIcon: CFString = "cusi"

/// The date from which a key may be used. Date. Part of the item's primary key.
@safe package nonisolated(unsafe) let kSecAttrStartDate: CFString = "sdat"

/// The date until which a key may be used. Date. Part of the item's primary key.
@safe package nonisolated(unsafe) let kSecAttrEndDate: CFString = "edat"

/// Whether a key is private. Number.
@safe package nonisolated(unsafe) let kSecAttrIsPrivate: CFString = "priv"

/// Whether a key may be modified. Number.
@safe package nonisolated(unsafe) let kSecAttrIsModifiable: CFString = "modi"

/// Whether a key has been sensitive since its creation. Number.
@safe package nonisolated(unsafe) let kSecAttrWasAlwaysSensitive: CFString = "asen"

/// Whether a key was never extractable. Number.
@safe package nonisolated(unsafe) let kSecAttrWasNeverExtractable: CFString = "next"

/// Whether a key may sign with message recovery. Number.
@safe package nonisolated(unsafe) let kSecAttrCanSignRecover: CFString = "snrc"

/// Whether a key may verify with message recovery. Number.
@safe package nonisolated(unsafe) let kSecAttrCanVerifyRecover: CFString = "vyrc"

/// A value of ``kSecAttrTokenID``: AppleKeyStore's name for the secure hardware. Here it means the
/// same as ``kSecAttrTokenIDSecureEnclave``.
@safe
package nonisolated(unsafe) let kSecAttrTokenIDAppleKeyStore: CFString = "com.apple.setoken:aks"

/// Whether a deletion leaves a tombstone. Boolean.
@safe package nonisolated(unsafe) let kSecUseTombstones: CFString = "u_Tomb"

/// An external handle of an authentication context. Data. It has no effect here, but can't be
/// combined with ``kSecUseAuthenticationContext``.
@safe package nonisolated(unsafe) let kSecUseCredentialReference: CFString = "u_CredRef"

#endif
