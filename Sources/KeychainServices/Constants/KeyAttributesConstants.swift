// KeyAttributesConstants: Attribute keys of cryptographic keys, and of the parameters that create
// them.
//   (1) What a key may be used for, and whether it may leave, is kept and given back. Nothing holds
//       to it, as for Apple's keys in software: a program that has such a key has its bytes.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

/// Public, private or symmetric. One of the `kSecAttrKeyClass…` values. Part of the item's
/// identity.
@safe public nonisolated(unsafe) let kSecAttrKeyClass: CFString = "kcls"

/// The label by which programs find a key: SHA-1 of the public key unless another was given. Data
/// or String. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrApplicationLabel: CFString = "klbl"

/// A tag of the application's own. Data. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrApplicationTag: CFString = "atag"

/// The algorithm of the key. One of the `kSecAttrKeyType…` values. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrKeyType: CFString = "type"

/// The size of the key in bits. Number. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrKeySizeInBits: CFString = "bsiz"

/// The number of bits that count for the strength of the key. Number. Part of the item's identity.
@safe public nonisolated(unsafe) let kSecAttrEffectiveKeySize: CFString = "esiz"

/// Whether a key that is created is stored in the keychain too. Boolean.
@safe public nonisolated(unsafe) let kSecAttrIsPermanent: CFString = "perm"

/// Whether the key is to leave the keychain only in wrapped form. Boolean; kept, not enforced.
@safe public nonisolated(unsafe) let kSecAttrIsSensitive: CFString = "sens"

/// Whether the key is to be exported at all. Boolean; kept, not enforced.
@safe public nonisolated(unsafe) let kSecAttrIsExtractable: CFString = "extr"

/// Whether the key is for encrypting. Boolean; kept, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanEncrypt: CFString = "encr"

/// Whether the key is for decrypting. Boolean; kept, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanDecrypt: CFString = "decr"

/// Whether other keys are to be derived from the key. Boolean; kept, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanDerive: CFString = "drve"

/// Whether the key is for signing. Boolean; kept, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanSign: CFString = "sign"

/// Whether the key is for verifying signatures. Boolean; kept, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanVerify: CFString = "vrfy"

/// Whether the key is for wrapping other keys. Boolean; kept, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanWrap: CFString = "wrap"

/// Whether the key is for unwrapping other keys. Boolean; kept, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanUnwrap: CFString = "unwp"

/// Settings for the private key of a new pair, in the parameters that create it. Dictionary.
@safe public nonisolated(unsafe) let kSecPrivateKeyAttrs: CFString = "private"

/// Settings for the public key of a new pair, in the parameters that create it. Dictionary.
@safe public nonisolated(unsafe) let kSecPublicKeyAttrs: CFString = "public"

#endif
