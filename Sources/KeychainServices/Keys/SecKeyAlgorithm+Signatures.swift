// SecKeyAlgorithm+Signatures: the names of the algorithms that sign and verify.

#if !canImport(Darwin)

extension SecKeyAlgorithm {
    /// RSA of a number below the modulus, which the caller has padded.
    public static let rsaSignatureRaw = SecKeyAlgorithm(name: "algid:sign:RSA:raw")

    /// RSA of bytes with the padding of PKCS #1 v1.5; the caller has made the DigestInfo.
    public static let rsaSignatureDigestPKCS1v15Raw = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15")

    /// RSA of a digest of SHA-1, 20 bytes, padded as PKCS #1 v1.5 says.
    public static let rsaSignatureDigestPKCS1v15SHA1 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15:SHA1")

    /// RSA of a digest of SHA-224, 28 bytes, padded as PKCS #1 v1.5 says.
    public static let rsaSignatureDigestPKCS1v15SHA224 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15:SHA224")

    /// RSA of a digest of SHA-256, 32 bytes, padded as PKCS #1 v1.5 says.
    public static let rsaSignatureDigestPKCS1v15SHA256 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15:SHA256")

    /// RSA of a digest of SHA-384, 48 bytes, padded as PKCS #1 v1.5 says.
    public static let rsaSignatureDigestPKCS1v15SHA384 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15:SHA384")

    /// RSA of a digest of SHA-512, 64 bytes, padded as PKCS #1 v1.5 says.
    public static let rsaSignatureDigestPKCS1v15SHA512 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15:SHA512")

    /// RSA of a message, hashed with SHA-1, padded as PKCS #1 v1.5 says.
    public static let rsaSignatureMessagePKCS1v15SHA1 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PKCS1v15:SHA1")

    /// RSA of a message, hashed with SHA-224, padded as PKCS #1 v1.5 says.
    public static let rsaSignatureMessagePKCS1v15SHA224 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PKCS1v15:SHA224")

    /// RSA of a message, hashed with SHA-256, padded as PKCS #1 v1.5 says.
    public static let rsaSignatureMessagePKCS1v15SHA256 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PKCS1v15:SHA256")

    /// RSA of a message, hashed with SHA-384, padded as PKCS #1 v1.5 says.
    public static let rsaSignatureMessagePKCS1v15SHA384 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PKCS1v15:SHA384")

    /// RSA of a message, hashed with SHA-512, padded as PKCS #1 v1.5 says.
    public static let rsaSignatureMessagePKCS1v15SHA512 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PKCS1v15:SHA512")

    /// RSA of a digest of SHA-1, 20 bytes, padded by PSS with 20 bytes of salt.
    public static let rsaSignatureDigestPSSSHA1 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PSS:SHA1:SHA1:20")

    /// RSA of a digest of SHA-224, 28 bytes, padded by PSS with 28 bytes of salt.
    public static let rsaSignatureDigestPSSSHA224 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PSS:SHA224:SHA224:24")

    /// RSA of a digest of SHA-256, 32 bytes, padded by PSS with 32 bytes of salt.
    public static let rsaSignatureDigestPSSSHA256 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PSS:SHA256:SHA256:32")

    /// RSA of a digest of SHA-384, 48 bytes, padded by PSS with 48 bytes of salt.
    public static let rsaSignatureDigestPSSSHA384 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PSS:SHA384:SHA384:48")

    /// RSA of a digest of SHA-512, 64 bytes, padded by PSS with 64 bytes of salt.
    public static let rsaSignatureDigestPSSSHA512 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PSS:SHA512:SHA512:64")

    /// RSA of a message, hashed with SHA-1, padded by PSS with 20 bytes of salt.
    public static let rsaSignatureMessagePSSSHA1 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PSS:SHA1:SHA1:20")

    /// RSA of a message, hashed with SHA-224, padded by PSS with 28 bytes of salt.
    public static let rsaSignatureMessagePSSSHA224 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PSS:SHA224:SHA224:24")

    /// RSA of a message, hashed with SHA-256, padded by PSS with 32 bytes of salt.
    public static let rsaSignatureMessagePSSSHA256 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PSS:SHA256:SHA256:32")

    /// RSA of a message, hashed with SHA-384, padded by PSS with 48 bytes of salt.
    public static let rsaSignatureMessagePSSSHA384 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PSS:SHA384:SHA384:48")

    /// RSA of a message, hashed with SHA-512, padded by PSS with 64 bytes of salt.
    public static let rsaSignatureMessagePSSSHA512 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PSS:SHA512:SHA512:64")

    /// ECDSA of a digest of any size; the signature is both numbers in a row, of the curve's
    /// size.
    public static let ecdsaSignatureRFC4754 = SecKeyAlgorithm(name: "algid:sign:ECDSA:RFC4754")

    /// ECDSA of a digest of any size; the signature is DER.
    public static let ecdsaSignatureDigestX962 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962")

    /// ECDSA of a digest of SHA-1, 20 bytes; the signature is DER.
    public static let ecdsaSignatureDigestX962SHA1 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962:SHA1")

    /// ECDSA of a digest of SHA-224, 28 bytes; the signature is DER.
    public static let ecdsaSignatureDigestX962SHA224 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962:SHA224")

    /// ECDSA of a digest of SHA-256, 32 bytes; the signature is DER.
    public static let ecdsaSignatureDigestX962SHA256 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962:SHA256")

    /// ECDSA of a digest of SHA-384, 48 bytes; the signature is DER.
    public static let ecdsaSignatureDigestX962SHA384 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962:SHA384")

    /// ECDSA of a digest of SHA-512, 64 bytes; the signature is DER.
    public static let ecdsaSignatureDigestX962SHA512 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962:SHA512")

    /// ECDSA of a message, hashed with SHA-1; the signature is DER.
    public static let ecdsaSignatureMessageX962SHA1 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-X962:SHA1")

    /// ECDSA of a message, hashed with SHA-224; the signature is DER.
    public static let ecdsaSignatureMessageX962SHA224 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-X962:SHA224")

    /// ECDSA of a message, hashed with SHA-256; the signature is DER.
    public static let ecdsaSignatureMessageX962SHA256 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-X962:SHA256")

    /// ECDSA of a message, hashed with SHA-384; the signature is DER.
    public static let ecdsaSignatureMessageX962SHA384 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-X962:SHA384")

    /// ECDSA of a message, hashed with SHA-512; the signature is DER.
    public static let ecdsaSignatureMessageX962SHA512 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-X962:SHA512")

    /// ECDSA of a digest of any size; the signature is both numbers in a row, of the curve's
    /// size.
    public static let ecdsaSignatureDigestRFC4754 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754")

    /// ECDSA of a digest of SHA-1, 20 bytes; the signature is both numbers in a row, of the
    /// curve's size.
    public static let ecdsaSignatureDigestRFC4754SHA1 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754:SHA1")

    /// ECDSA of a digest of SHA-224, 28 bytes; the signature is both numbers in a row, of the
    /// curve's size.
    public static let ecdsaSignatureDigestRFC4754SHA224 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754:SHA224")

    /// ECDSA of a digest of SHA-256, 32 bytes; the signature is both numbers in a row, of the
    /// curve's size.
    public static let ecdsaSignatureDigestRFC4754SHA256 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754:SHA256")

    /// ECDSA of a digest of SHA-384, 48 bytes; the signature is both numbers in a row, of the
    /// curve's size.
    public static let ecdsaSignatureDigestRFC4754SHA384 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754:SHA384")

    /// ECDSA of a digest of SHA-512, 64 bytes; the signature is both numbers in a row, of the
    /// curve's size.
    public static let ecdsaSignatureDigestRFC4754SHA512 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754:SHA512")

    /// ECDSA of a message, hashed with SHA-1; the signature is both numbers in a row, of the
    /// curve's size.
    public static let ecdsaSignatureMessageRFC4754SHA1 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-RFC4754:SHA1")

    /// ECDSA of a message, hashed with SHA-224; the signature is both numbers in a row, of the
    /// curve's size.
    public static let ecdsaSignatureMessageRFC4754SHA224 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-RFC4754:SHA224")

    /// ECDSA of a message, hashed with SHA-256; the signature is both numbers in a row, of the
    /// curve's size.
    public static let ecdsaSignatureMessageRFC4754SHA256 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-RFC4754:SHA256")

    /// ECDSA of a message, hashed with SHA-384; the signature is both numbers in a row, of the
    /// curve's size.
    public static let ecdsaSignatureMessageRFC4754SHA384 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-RFC4754:SHA384")

    /// ECDSA of a message, hashed with SHA-512; the signature is both numbers in a row, of the
    /// curve's size.
    public static let ecdsaSignatureMessageRFC4754SHA512 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-RFC4754:SHA512")

    /// Ed25519 of a message; the signature has 64 bytes. Apple exports the constant without
    /// declaring it.
    public static let edDSASignatureMessageCurve25519SHA512 = SecKeyAlgorithm(
        name: "algid:sign:EdDSA:message-Curve25519:SHA512")
}

#endif
