// KeyConstants: the attribute keys of cryptographic keys and of the parameters that create them,
// the values of `kSecAttrKeyClass` and `kSecAttrKeyType`, and the parameters of password-derived
// keys.
//   (1) What a key may be used for, and whether it may leave, is kept and given back. Nothing holds
//       to it, as for Apple's keys in software: a program that has such a key has its bytes.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

// MARK: - Attributes

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

// MARK: - Classes and types

/// Public key of a pair.
@safe public nonisolated(unsafe) let kSecAttrKeyClassPublic: CFString = "0"

/// Private key of a pair.
@safe public nonisolated(unsafe) let kSecAttrKeyClassPrivate: CFString = "1"

/// Symmetric key.
@safe public nonisolated(unsafe) let kSecAttrKeyClassSymmetric: CFString = "2"

/// RSA.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeRSA: CFString = "42"

/// Elliptic curve. The same value as ``kSecAttrKeyTypeECSECPrimeRandom``, which newer code names.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeEC: CFString = "73"

/// Elliptic curve over a prime field: P-256, P-384 or P-521, by the size in bits.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"

/// Elliptic curve. The name that macOS had first, with the value of ``kSecAttrKeyTypeEC``.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeECDSA: CFString = "73"

/// DSA. Items may carry the value; no key of this type is created.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeDSA: CFString = "43"

/// AES. Items may carry the value.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeAES: CFString = "2147483649"

/// DES. Items may carry the value; no key of this type is created.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeDES: CFString = "14"

/// Triple DES. Items may carry the value; no key of this type is created.
@safe public nonisolated(unsafe) let kSecAttrKeyType3DES: CFString = "17"

/// RC2. Items may carry the value; no key of this type is created.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeRC2: CFString = "23"

/// RC4. Items may carry the value; no key of this type is created.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeRC4: CFString = "25"

/// CAST. Items may carry the value; no key of this type is created.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeCAST: CFString = "56"

/// The pseudorandom function for deriving a key from a password. One of the `kSecAttrPRFHmacAlg…`
/// values.
@safe public nonisolated(unsafe) let kSecAttrPRF: CFString = "prf"

/// The salt for deriving a key from a password. Data.
@safe public nonisolated(unsafe) let kSecAttrSalt: CFString = "salt"

/// The number of rounds for deriving a key from a password. Number.
@safe public nonisolated(unsafe) let kSecAttrRounds: CFString = "rounds"

/// HMAC with SHA-1 as pseudorandom function.
@safe public nonisolated(unsafe) let kSecAttrPRFHmacAlgSHA1: CFString = "hsha1"

/// HMAC with SHA-224 as pseudorandom function.
@safe public nonisolated(unsafe) let kSecAttrPRFHmacAlgSHA224: CFString = "hsha224"

/// HMAC with SHA-256 as pseudorandom function.
@safe public nonisolated(unsafe) let kSecAttrPRFHmacAlgSHA256: CFString = "hsha256"

/// HMAC with SHA-384 as pseudorandom function.
@safe public nonisolated(unsafe) let kSecAttrPRFHmacAlgSHA384: CFString = "hsha384"

/// HMAC with SHA-512 as pseudorandom function.
@safe public nonisolated(unsafe) let kSecAttrPRFHmacAlgSHA512: CFString = "hsha512"

#endif
