// SecKeyAlgorithm+Encryption: the names of the algorithms that encrypt and decrypt, and of those
// that agree on a secret.

#if !canImport(Darwin)

extension SecKeyAlgorithm {
    /// RSA of a number below the modulus, which the caller has padded.
    public static let rsaEncryptionRaw = SecKeyAlgorithm(name: "algid:encrypt:RSA:raw")

    /// RSA with the padding of PKCS #1 v1.5, for at most 11 bytes less than the block. What
    /// decrypts and tells others whether that failed, lets them decrypt.
    public static let rsaEncryptionPKCS1 = SecKeyAlgorithm(name: "algid:encrypt:RSA:PKCS1")

    /// RSA with the padding OAEP over SHA-1, for at most 42 bytes less than the block.
    public static let rsaEncryptionOAEPSHA1 = SecKeyAlgorithm(name: "algid:encrypt:RSA:OAEP:SHA1")

    /// RSA with the padding OAEP over SHA-224, for at most 58 bytes less than the block.
    public static let rsaEncryptionOAEPSHA224 = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA224")

    /// RSA with the padding OAEP over SHA-256, for at most 66 bytes less than the block.
    public static let rsaEncryptionOAEPSHA256 = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA256")

    /// RSA with the padding OAEP over SHA-384, for at most 98 bytes less than the block.
    public static let rsaEncryptionOAEPSHA384 = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA384")

    /// RSA with the padding OAEP over SHA-512, for at most 130 bytes less than the block.
    public static let rsaEncryptionOAEPSHA512 = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA512")

    /// A message of any size by AES-GCM, under a random key that RSA encrypts with OAEP over
    /// SHA-1.
    public static let rsaEncryptionOAEPSHA1AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA1:AESGCM")

    /// A message of any size by AES-GCM, under a random key that RSA encrypts with OAEP over
    /// SHA-224.
    public static let rsaEncryptionOAEPSHA224AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA224:AESGCM")

    /// A message of any size by AES-GCM, under a random key that RSA encrypts with OAEP over
    /// SHA-256.
    public static let rsaEncryptionOAEPSHA256AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA256:AESGCM")

    /// A message of any size by AES-GCM, under a random key that RSA encrypts with OAEP over
    /// SHA-384.
    public static let rsaEncryptionOAEPSHA384AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA384:AESGCM")

    /// A message of any size by AES-GCM, under a random key that RSA encrypts with OAEP over
    /// SHA-512.
    public static let rsaEncryptionOAEPSHA512AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:RSA:OAEP:SHA512:AESGCM")

    /// A message of any size by AES-GCM, under a key that is agreed upon with an ephemeral key
    /// and derived over SHA-1. The initialization vector is zero.
    public static let eciesEncryptionStandardX963SHA1AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM")

    /// A message of any size by AES-GCM, under a key that is agreed upon with an ephemeral key
    /// and derived over SHA-224. The initialization vector is zero.
    public static let eciesEncryptionStandardX963SHA224AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM")

    /// A message of any size by AES-GCM, under a key that is agreed upon with an ephemeral key
    /// and derived over SHA-256. The initialization vector is zero.
    public static let eciesEncryptionStandardX963SHA256AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM")

    /// A message of any size by AES-GCM, under a key that is agreed upon with an ephemeral key
    /// and derived over SHA-384. The initialization vector is zero.
    public static let eciesEncryptionStandardX963SHA384AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM")

    /// A message of any size by AES-GCM, under a key that is agreed upon with an ephemeral key
    /// and derived over SHA-512. The initialization vector is zero.
    public static let eciesEncryptionStandardX963SHA512AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM")

    /// A message of any size by AES-GCM, under a key that is agreed upon with an ephemeral key
    /// and derived over SHA-1. The initialization vector is zero.
    public static let eciesEncryptionCofactorX963SHA1AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA1:AESGCM")

    /// A message of any size by AES-GCM, under a key that is agreed upon with an ephemeral key
    /// and derived over SHA-224. The initialization vector is zero.
    public static let eciesEncryptionCofactorX963SHA224AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM")

    /// A message of any size by AES-GCM, under a key that is agreed upon with an ephemeral key
    /// and derived over SHA-256. The initialization vector is zero.
    public static let eciesEncryptionCofactorX963SHA256AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM")

    /// A message of any size by AES-GCM, under a key that is agreed upon with an ephemeral key
    /// and derived over SHA-384. The initialization vector is zero.
    public static let eciesEncryptionCofactorX963SHA384AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM")

    /// A message of any size by AES-GCM, under a key that is agreed upon with an ephemeral key
    /// and derived over SHA-512. The initialization vector is zero.
    public static let eciesEncryptionCofactorX963SHA512AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM")

    /// A message of any size by AES-GCM, under a key and an initialization vector that are
    /// agreed upon with an ephemeral key and derived over SHA-224.
    public static let eciesEncryptionStandardVariableIVX963SHA224AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM-KDFIV")

    /// A message of any size by AES-GCM, under a key and an initialization vector that are
    /// agreed upon with an ephemeral key and derived over SHA-256.
    public static let eciesEncryptionStandardVariableIVX963SHA256AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV")

    /// A message of any size by AES-GCM, under a key and an initialization vector that are
    /// agreed upon with an ephemeral key and derived over SHA-384.
    public static let eciesEncryptionStandardVariableIVX963SHA384AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM-KDFIV")

    /// A message of any size by AES-GCM, under a key and an initialization vector that are
    /// agreed upon with an ephemeral key and derived over SHA-512.
    public static let eciesEncryptionStandardVariableIVX963SHA512AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM-KDFIV")

    /// A message of any size by AES-GCM, under a key and an initialization vector that are
    /// agreed upon with an ephemeral key and derived over SHA-224.
    public static let eciesEncryptionCofactorVariableIVX963SHA224AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM-KDFIV")

    /// A message of any size by AES-GCM, under a key and an initialization vector that are
    /// agreed upon with an ephemeral key and derived over SHA-256.
    public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV")

    /// A message of any size by AES-GCM, under a key and an initialization vector that are
    /// agreed upon with an ephemeral key and derived over SHA-384.
    public static let eciesEncryptionCofactorVariableIVX963SHA384AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV")

    /// A message of any size by AES-GCM, under a key and an initialization vector that are
    /// agreed upon with an ephemeral key and derived over SHA-512.
    public static let eciesEncryptionCofactorVariableIVX963SHA512AESGCM = SecKeyAlgorithm(
        name: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM-KDFIV")
}

// MARK: - Key exchange. The cofactor of every curve here is 1, so both rows do the same

extension SecKeyAlgorithm {
    /// The x coordinate of the point that both sides compute.
    public static let ecdhKeyExchangeStandard = SecKeyAlgorithm(name: "algid:keyexchange:ECDH")

    /// Bytes derived by ANSI X9.63 over SHA-1 from what both sides compute.
    public static let ecdhKeyExchangeStandardX963SHA1 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDH:KDFX963:SHA1")

    /// Bytes derived by ANSI X9.63 over SHA-224 from what both sides compute.
    public static let ecdhKeyExchangeStandardX963SHA224 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDH:KDFX963:SHA224")

    /// Bytes derived by ANSI X9.63 over SHA-256 from what both sides compute.
    public static let ecdhKeyExchangeStandardX963SHA256 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDH:KDFX963:SHA256")

    /// Bytes derived by ANSI X9.63 over SHA-384 from what both sides compute.
    public static let ecdhKeyExchangeStandardX963SHA384 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDH:KDFX963:SHA384")

    /// Bytes derived by ANSI X9.63 over SHA-512 from what both sides compute.
    public static let ecdhKeyExchangeStandardX963SHA512 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDH:KDFX963:SHA512")

    /// The x coordinate of the point that both sides compute.
    public static let ecdhKeyExchangeCofactor = SecKeyAlgorithm(name: "algid:keyexchange:ECDHC")

    /// Bytes derived by ANSI X9.63 over SHA-1 from what both sides compute.
    public static let ecdhKeyExchangeCofactorX963SHA1 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDHC:KDFX963:SHA1")

    /// Bytes derived by ANSI X9.63 over SHA-224 from what both sides compute.
    public static let ecdhKeyExchangeCofactorX963SHA224 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDHC:KDFX963:SHA224")

    /// Bytes derived by ANSI X9.63 over SHA-256 from what both sides compute.
    public static let ecdhKeyExchangeCofactorX963SHA256 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDHC:KDFX963:SHA256")

    /// Bytes derived by ANSI X9.63 over SHA-384 from what both sides compute.
    public static let ecdhKeyExchangeCofactorX963SHA384 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDHC:KDFX963:SHA384")

    /// Bytes derived by ANSI X9.63 over SHA-512 from what both sides compute.
    public static let ecdhKeyExchangeCofactorX963SHA512 = SecKeyAlgorithm(
        name: "algid:keyexchange:ECDHC:KDFX963:SHA512")
}

#endif
