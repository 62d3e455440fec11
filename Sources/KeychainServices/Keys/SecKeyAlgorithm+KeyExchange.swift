// SecKeyAlgorithm+KeyExchange: the names of the algorithms that agree on a secret. The cofactor of
// every curve here is 1, so both rows do the same.

#if !canImport(Darwin)

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
