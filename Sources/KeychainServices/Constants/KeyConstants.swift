// KeyConstants: the attribute keys of cryptographic keys and of the parameters that create them,
// the values of `kSecAttrKeyClass` and `kSecAttrKeyType` (those for Ed25519 and X25519 are in
// KeyParameters.swift), and the parameters of password-derived keys.
//   (1) The attributes for a key's permitted uses and extractability are stored and returned but
//       not enforced, as for Apple's software keys: a program that can use such a key also has its
//       bytes.
//   (2) The parameters of password-derived keys exist so that existing code compiles. No function
//       of this module uses them.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. With `@safe`, callers need no `unsafe`.

#if !canImport(Darwin)

public import Foundation

// MARK: - Attributes

/// Public, private or symmetric. One of the `kSecAttrKeyClass…` values. Part of the item's
/// primary key.
@safe public nonisolated(unsafe) let kSecAttrKeyClass: CFString = "kcls"

/// The label by which a program finds a key: the SHA-1 of the public key, unless another value was
/// set. Data or String. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrApplicationLabel: CFString = "klbl"

/// An application-defined tag. Data. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrApplicationTag: CFString = "atag"

/// The algorithm of the key. One of the `kSecAttrKeyType…` values. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrKeyType: CFString = "type"

/// The size of the key in bits. Number. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrKeySizeInBits: CFString = "bsiz"

/// The effective key size in bits. Number. Part of the item's primary key.
@safe public nonisolated(unsafe) let kSecAttrEffectiveKeySize: CFString = "esiz"

/// Whether a new key is also stored in the keychain. Boolean.
@safe public nonisolated(unsafe) let kSecAttrIsPermanent: CFString = "perm"

/// Whether the key may leave the keychain only in wrapped form. Boolean; stored, not enforced.
@safe public nonisolated(unsafe) let kSecAttrIsSensitive: CFString = "sens"

/// Whether the key may be exported. Boolean; stored, not enforced.
@safe public nonisolated(unsafe) let kSecAttrIsExtractable: CFString = "extr"

/// Whether the key may encrypt. Boolean; stored, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanEncrypt: CFString = "encr"

/// Whether the key may decrypt. Boolean; stored, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanDecrypt: CFString = "decr"

/// Whether other keys may be derived from the key. Boolean; stored, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanDerive: CFString = "drve"

/// Whether the key may sign. Boolean; stored, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanSign: CFString = "sign"

/// Whether the key may verify signatures. Boolean; stored, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanVerify: CFString = "vrfy"

/// Whether the key may wrap other keys. Boolean; stored, not enforced.
@safe public nonisolated(unsafe) let kSecAttrCanWrap: CFString = "wrap"

/// Whether the key may unwrap other keys. Boolean; stored, not enforced.
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

/// Elliptic curve. Same value as ``kSecAttrKeyTypeECSECPrimeRandom``, the name that newer code
/// uses.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeEC: CFString = "73"

/// Elliptic curve over a prime field: P-256, P-384 or P-521, depending on the size in bits.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"

/// Elliptic curve. The original name on macOS, with the same value as ``kSecAttrKeyTypeEC``.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeECDSA: CFString = "73"

/// DSA. Items may have this type, but such keys can't be generated.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeDSA: CFString = "43"

/// AES. Items may have this type, but such keys can't be generated.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeAES: CFString = "2147483649"

/// DES. Items may have this type, but such keys can't be generated.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeDES: CFString = "14"

/// Triple DES. Items may have this type, but such keys can't be generated.
@safe public nonisolated(unsafe) let kSecAttrKeyType3DES: CFString = "17"

/// RC2. Items may have this type, but such keys can't be generated.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeRC2: CFString = "23"

/// RC4. Items may have this type, but such keys can't be generated.
@safe public nonisolated(unsafe) let kSecAttrKeyTypeRC4: CFString = "25"

/// CAST. Items may have this type, but such keys can't be generated.
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
