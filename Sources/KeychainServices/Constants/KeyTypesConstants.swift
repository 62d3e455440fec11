// KeyTypesConstants: Values of `kSecAttrKeyClass` and `kSecAttrKeyType`, and the parameters of
// password-derived keys.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

#if !canImport(Darwin)

public import Foundation

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
