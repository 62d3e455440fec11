// SecKeyAlgorithm+Encryption: the names of the algorithms for encryption and key exchange.
//   (1) `Standard` and `Cofactor` algorithms are the same: the cofactor of the supported NIST
//       curves is 1, and X25519 includes its cofactor in the scalar.

#if !canImport(Darwin)

extension SecKeyAlgorithm {
    /// RSA encryption without padding. The input is a number that the caller has already padded. It
    /// must be below the modulus.
    public static let rsaEncryptionRaw = SecKeyAlgorithm(name: "algid:encrypt:RSA:raw")

    /// RSA with PKCS #1 v1.5 padding. The message must be at least 11 bytes shorter than the block.
    /// A program that reveals whether decryption failed lets an attacker decrypt messages.
    public static let rsaEncryptionPKCS1 = SecKeyAlgorithm(name: "algid:encrypt:RSA:PKCS1")

    /// RSA with OAEP padding and SHA-1. The message must be at least 42 bytes shorter than the
    /// block.
    public static let rsaEncryptionOAEPSHA1 = SecKeyAlgorithm(name: "algid:encrypt:RSA:OAEP:SHA1")

    /// RSA with OAEP padding and SHA-224. The message must be at least 58 bytes shorter than the
    /// block.
    public static let rsaEncryptionOAEPSHA224 = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA224")

    /// RSA with OAEP padding and SHA-256. The message must be at least 66 bytes shorter than the
    /// block.
    public static let rsaEncryptionOAEPSHA256 = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA256")

    /// RSA with OAEP padding and SHA-384. The message must be at least 98 bytes shorter than the
    /// block.
    public static let rsaEncryptionOAEPSHA384 = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA384")

    /// RSA with OAEP padding and SHA-512. The message must be at least 130 bytes shorter than the
    /// block.
    public static let rsaEncryptionOAEPSHA512 = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA512")

    /// AES-GCM with a random key, which is encrypted with RSA, OAEP and SHA-1. The message may have
    /// any size.
    public static let rsaEncryptionOAEPSHA1AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA1:AESGCM")

    /// AES-GCM with a random key, which is encrypted with RSA, OAEP and SHA-224. The message may
    /// have any size.
    public static let rsaEncryptionOAEPSHA224AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA224:AESGCM")

    /// AES-GCM with a random key, which is encrypted with RSA, OAEP and SHA-256. The message may
    /// have any size.
    public static let rsaEncryptionOAEPSHA256AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA256:AESGCM")

    /// AES-GCM with a random key, which is encrypted with RSA, OAEP and SHA-384. The message may
    /// have any size.
    public static let rsaEncryptionOAEPSHA384AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA384:AESGCM")

    /// AES-GCM with a random key, which is encrypted with RSA, OAEP and SHA-512. The message may
    /// have any size.
    public static let rsaEncryptionOAEPSHA512AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA512:AESGCM")

    /// ECIES: AES-GCM with a key derived with X9.63 and SHA-1 from an ephemeral ECDH secret. The
    /// initialization vector is zero. The message may have any size.
    public static let eciesEncryptionStandardX963SHA1AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM")

    /// ECIES: AES-GCM with a key derived with X9.63 and SHA-224 from an ephemeral ECDH secret. The
    /// initialization vector is zero. The message may have any size.
    public static let eciesEncryptionStandardX963SHA224AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM")

    /// ECIES: AES-GCM with a key derived with X9.63 and SHA-256 from an ephemeral ECDH secret. The
    /// initialization vector is zero. The message may have any size.
    public static let eciesEncryptionStandardX963SHA256AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM")

    /// ECIES: AES-GCM with a key derived with X9.63 and SHA-384 from an ephemeral ECDH secret. The
    /// initialization vector is zero. The message may have any size.
    public static let eciesEncryptionStandardX963SHA384AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM")

    /// ECIES: AES-GCM with a key derived with X9.63 and SHA-512 from an ephemeral ECDH secret. The
    /// initialization vector is zero. The message may have any size.
    public static let eciesEncryptionStandardX963SHA512AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM")

    /// ECIES: AES-GCM with a key derived with X9.63 and SHA-1 from an ephemeral ECDH secret. The
    /// initialization vector is zero. The message may have any size. For all supported curves, this
    /// algorithm is the same as ``eciesEncryptionStandardX963SHA1AESGCM``.
    public static let eciesEncryptionCofactorX963SHA1AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA1:AESGCM")

    /// ECIES: AES-GCM with a key derived with X9.63 and SHA-224 from an ephemeral ECDH secret. The
    /// initialization vector is zero. The message may have any size. For all supported curves, this
    /// algorithm is the same as ``eciesEncryptionStandardX963SHA224AESGCM``.
    public static let eciesEncryptionCofactorX963SHA224AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM")

    /// ECIES: AES-GCM with a key derived with X9.63 and SHA-256 from an ephemeral ECDH secret. The
    /// initialization vector is zero. The message may have any size. For all supported curves, this
    /// algorithm is the same as ``eciesEncryptionStandardX963SHA256AESGCM``.
    public static let eciesEncryptionCofactorX963SHA256AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM")

    /// ECIES: AES-GCM with a key derived with X9.63 and SHA-384 from an ephemeral ECDH secret. The
    /// initialization vector is zero. The message may have any size. For all supported curves, this
    /// algorithm is the same as ``eciesEncryptionStandardX963SHA384AESGCM``.
    public static let eciesEncryptionCofactorX963SHA384AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM")

    /// ECIES: AES-GCM with a key derived with X9.63 and SHA-512 from an ephemeral ECDH secret. The
    /// initialization vector is zero. The message may have any size. For all supported curves, this
    /// algorithm is the same as ``eciesEncryptionStandardX963SHA512AESGCM``.
    public static let eciesEncryptionCofactorX963SHA512AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM")

    /// ECIES: AES-GCM with a key and an initialization vector derived with X9.63 and SHA-224 from
    /// an ephemeral ECDH secret. The message may have any size.
    public static let eciesEncryptionStandardVariableIVX963SHA224AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM-KDFIV")

    /// ECIES: AES-GCM with a key and an initialization vector derived with X9.63 and SHA-256 from
    /// an ephemeral ECDH secret. The message may have any size.
    public static let eciesEncryptionStandardVariableIVX963SHA256AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV")

    /// ECIES: AES-GCM with a key and an initialization vector derived with X9.63 and SHA-384 from
    /// an ephemeral ECDH secret. The message may have any size.
    public static let eciesEncryptionStandardVariableIVX963SHA384AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM-KDFIV")

    /// ECIES: AES-GCM with a key and an initialization vector derived with X9.63 and SHA-512 from
    /// an ephemeral ECDH secret. The message may have any size.
    public static let eciesEncryptionStandardVariableIVX963SHA512AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM-KDFIV")

    /// ECIES: AES-GCM with a key and an initialization vector derived with X9.63 and SHA-224 from
    /// an ephemeral ECDH secret. The message may have any size. For all supported curves, this
    /// algorithm is the same as ``eciesEncryptionStandardVariableIVX963SHA224AESGCM``.
    public static let eciesEncryptionCofactorVariableIVX963SHA224AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM-KDFIV")

    /// ECIES: AES-GCM with a key and an initialization vector derived with X9.63 and SHA-256 from
    /// an ephemeral ECDH secret. The message may have any size. For all supported curves, this
    /// algorithm is the same as ``eciesEncryptionStandardVariableIVX963SHA256AESGCM``.
    public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV")

    /// ECIES: AES-GCM with a key and an initialization vector derived with X9.63 and SHA-384 from
    /// an ephemeral ECDH secret. The message may have any size. For all supported curves, this
    /// algorithm is the same as ``eciesEncryptionStandardVariableIVX963SHA384AESGCM``.
    public static let eciesEncryptionCofactorVariableIVX963SHA384AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV")

    /// ECIES: AES-GCM with a key and an initialization vector derived with X9.63 and SHA-512 from
    /// an ephemeral ECDH secret. The message may have any size. For all supported curves, this
    /// algorithm is the same as ``eciesEncryptionStandardVariableIVX963SHA512AESGCM``.
    public static let eciesEncryptionCofactorVariableIVX963SHA512AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM-KDFIV")
}

// MARK: - Key exchange

extension SecKeyAlgorithm {
    /// ECDH without key derivation. The result is the x coordinate of the shared point.
    public static let ecdhKeyExchangeStandard = SecKeyAlgorithm(name: "algid:keyexchange:ECDH")

    /// ECDH, followed by key derivation with ANSI X9.63 and SHA-1.
    public static let ecdhKeyExchangeStandardX963SHA1 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDH:KDFX963:SHA1")

    /// ECDH, followed by key derivation with ANSI X9.63 and SHA-224.
    public static let ecdhKeyExchangeStandardX963SHA224 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDH:KDFX963:SHA224")

    /// ECDH, followed by key derivation with ANSI X9.63 and SHA-256.
    public static let ecdhKeyExchangeStandardX963SHA256 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDH:KDFX963:SHA256")

    /// ECDH, followed by key derivation with ANSI X9.63 and SHA-384.
    public static let ecdhKeyExchangeStandardX963SHA384 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDH:KDFX963:SHA384")

    /// ECDH, followed by key derivation with ANSI X9.63 and SHA-512.
    public static let ecdhKeyExchangeStandardX963SHA512 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDH:KDFX963:SHA512")

    /// ECDH without key derivation. The result is the x coordinate of the shared point. For all
    /// supported curves, this algorithm is the same as ``ecdhKeyExchangeStandard``.
    public static let ecdhKeyExchangeCofactor = SecKeyAlgorithm(name: "algid:keyexchange:ECDHC")

    /// ECDH, followed by key derivation with ANSI X9.63 and SHA-1. For all supported curves, this
    /// algorithm is the same as ``ecdhKeyExchangeStandardX963SHA1``.
    public static let ecdhKeyExchangeCofactorX963SHA1 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDHC:KDFX963:SHA1")

    /// ECDH, followed by key derivation with ANSI X9.63 and SHA-224. For all supported curves, this
    /// algorithm is the same as ``ecdhKeyExchangeStandardX963SHA224``.
    public static let ecdhKeyExchangeCofactorX963SHA224 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDHC:KDFX963:SHA224")

    /// ECDH, followed by key derivation with ANSI X9.63 and SHA-256. For all supported curves, this
    /// algorithm is the same as ``ecdhKeyExchangeStandardX963SHA256``.
    public static let ecdhKeyExchangeCofactorX963SHA256 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDHC:KDFX963:SHA256")

    /// ECDH, followed by key derivation with ANSI X9.63 and SHA-384. For all supported curves, this
    /// algorithm is the same as ``ecdhKeyExchangeStandardX963SHA384``.
    public static let ecdhKeyExchangeCofactorX963SHA384 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDHC:KDFX963:SHA384")

    /// ECDH, followed by key derivation with ANSI X9.63 and SHA-512. For all supported curves, this
    /// algorithm is the same as ``ecdhKeyExchangeStandardX963SHA512``.
    public static let ecdhKeyExchangeCofactorX963SHA512 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDHC:KDFX963:SHA512")
}

#endif
