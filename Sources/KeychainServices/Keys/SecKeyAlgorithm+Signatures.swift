// SecKeyAlgorithm+Signatures: the names of the algorithms for signatures.

#if !canImport(Darwin)

extension SecKeyAlgorithm {
    /// RSA signature without padding. The input is a number that the caller has already padded. It
    /// must be below the modulus.
    public static let rsaSignatureRaw = SecKeyAlgorithm(name: "algid:sign:RSA:raw")

    /// RSA signature with PKCS #1 v1.5 padding. The caller passes the DigestInfo.
    public static let rsaSignatureDigestPKCS1v15Raw = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15")

    /// RSA signature of a SHA-1 digest (20 bytes), with PKCS #1 v1.5 padding.
    public static let rsaSignatureDigestPKCS1v15SHA1 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15:SHA1")

    /// RSA signature of a SHA-224 digest (28 bytes), with PKCS #1 v1.5 padding.
    public static let rsaSignatureDigestPKCS1v15SHA224 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15:SHA224")

    /// RSA signature of a SHA-256 digest (32 bytes), with PKCS #1 v1.5 padding.
    public static let rsaSignatureDigestPKCS1v15SHA256 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15:SHA256")

    /// RSA signature of a SHA-384 digest (48 bytes), with PKCS #1 v1.5 padding.
    public static let rsaSignatureDigestPKCS1v15SHA384 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15:SHA384")

    /// RSA signature of a SHA-512 digest (64 bytes), with PKCS #1 v1.5 padding.
    public static let rsaSignatureDigestPKCS1v15SHA512 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PKCS1v15:SHA512")

    /// RSA signature of a message hashed with SHA-1, with PKCS #1 v1.5 padding.
    public static let rsaSignatureMessagePKCS1v15SHA1 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PKCS1v15:SHA1")

    /// RSA signature of a message hashed with SHA-224, with PKCS #1 v1.5 padding.
    public static let rsaSignatureMessagePKCS1v15SHA224 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PKCS1v15:SHA224")

    /// RSA signature of a message hashed with SHA-256, with PKCS #1 v1.5 padding.
    public static let rsaSignatureMessagePKCS1v15SHA256 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PKCS1v15:SHA256")

    /// RSA signature of a message hashed with SHA-384, with PKCS #1 v1.5 padding.
    public static let rsaSignatureMessagePKCS1v15SHA384 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PKCS1v15:SHA384")

    /// RSA signature of a message hashed with SHA-512, with PKCS #1 v1.5 padding.
    public static let rsaSignatureMessagePKCS1v15SHA512 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PKCS1v15:SHA512")

    /// RSA signature of a SHA-1 digest (20 bytes), with PSS padding and a salt of 20 bytes.
    public static let rsaSignatureDigestPSSSHA1 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PSS:SHA1:SHA1:20")

    /// RSA signature of a SHA-224 digest (28 bytes), with PSS padding and a salt of 28 bytes. The
    /// number 24 is part of Apple's name.
    public static let rsaSignatureDigestPSSSHA224 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PSS:SHA224:SHA224:24")

    /// RSA signature of a SHA-256 digest (32 bytes), with PSS padding and a salt of 32 bytes.
    public static let rsaSignatureDigestPSSSHA256 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PSS:SHA256:SHA256:32")

    /// RSA signature of a SHA-384 digest (48 bytes), with PSS padding and a salt of 48 bytes.
    public static let rsaSignatureDigestPSSSHA384 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PSS:SHA384:SHA384:48")

    /// RSA signature of a SHA-512 digest (64 bytes), with PSS padding and a salt of 64 bytes.
    public static let rsaSignatureDigestPSSSHA512 = SecKeyAlgorithm(
        name: "algid:sign:RSA:digest-PSS:SHA512:SHA512:64")

    /// RSA signature of a message hashed with SHA-1, with PSS padding and a salt of 20 bytes.
    public static let rsaSignatureMessagePSSSHA1 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PSS:SHA1:SHA1:20")

    /// RSA signature of a message hashed with SHA-224, with PSS padding and a salt of 28 bytes. The
    /// number 24 is part of Apple's name.
    public static let rsaSignatureMessagePSSSHA224 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PSS:SHA224:SHA224:24")

    /// RSA signature of a message hashed with SHA-256, with PSS padding and a salt of 32 bytes.
    public static let rsaSignatureMessagePSSSHA256 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PSS:SHA256:SHA256:32")

    /// RSA signature of a message hashed with SHA-384, with PSS padding and a salt of 48 bytes.
    public static let rsaSignatureMessagePSSSHA384 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PSS:SHA384:SHA384:48")

    /// RSA signature of a message hashed with SHA-512, with PSS padding and a salt of 64 bytes.
    public static let rsaSignatureMessagePSSSHA512 = SecKeyAlgorithm(
        name: "algid:sign:RSA:message-PSS:SHA512:SHA512:64")

    /// ECDSA signature of a digest of any size, encoded as r ‖ s, both padded to the curve's size.
    public static let ecdsaSignatureRFC4754 = SecKeyAlgorithm(name: "algid:sign:ECDSA:RFC4754")

    /// ECDSA signature of a digest of any size, encoded as DER.
    public static let ecdsaSignatureDigestX962 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962")

    /// ECDSA signature of a SHA-1 digest (20 bytes), encoded as DER.
    public static let ecdsaSignatureDigestX962SHA1 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962:SHA1")

    /// ECDSA signature of a SHA-224 digest (28 bytes), encoded as DER.
    public static let ecdsaSignatureDigestX962SHA224 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962:SHA224")

    /// ECDSA signature of a SHA-256 digest (32 bytes), encoded as DER.
    public static let ecdsaSignatureDigestX962SHA256 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962:SHA256")

    /// ECDSA signature of a SHA-384 digest (48 bytes), encoded as DER.
    public static let ecdsaSignatureDigestX962SHA384 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962:SHA384")

    /// ECDSA signature of a SHA-512 digest (64 bytes), encoded as DER.
    public static let ecdsaSignatureDigestX962SHA512 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-X962:SHA512")

    /// ECDSA signature of a message hashed with SHA-1, encoded as DER.
    public static let ecdsaSignatureMessageX962SHA1 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-X962:SHA1")

    /// ECDSA signature of a message hashed with SHA-224, encoded as DER.
    public static let ecdsaSignatureMessageX962SHA224 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-X962:SHA224")

    /// ECDSA signature of a message hashed with SHA-256, encoded as DER.
    public static let ecdsaSignatureMessageX962SHA256 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-X962:SHA256")

    /// ECDSA signature of a message hashed with SHA-384, encoded as DER.
    public static let ecdsaSignatureMessageX962SHA384 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-X962:SHA384")

    /// ECDSA signature of a message hashed with SHA-512, encoded as DER.
    public static let ecdsaSignatureMessageX962SHA512 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-X962:SHA512")

    /// ECDSA signature of a digest of any size, encoded as r ‖ s, both padded to the curve's size.
    public static let ecdsaSignatureDigestRFC4754 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754")

    /// ECDSA signature of a SHA-1 digest (20 bytes), encoded as r ‖ s, both padded to the curve's
    /// size.
    public static let ecdsaSignatureDigestRFC4754SHA1 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754:SHA1")

    /// ECDSA signature of a SHA-224 digest (28 bytes), encoded as r ‖ s, both padded to the curve's
    /// size.
    public static let ecdsaSignatureDigestRFC4754SHA224 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754:SHA224")

    /// ECDSA signature of a SHA-256 digest (32 bytes), encoded as r ‖ s, both padded to the curve's
    /// size.
    public static let ecdsaSignatureDigestRFC4754SHA256 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754:SHA256")

    /// ECDSA signature of a SHA-384 digest (48 bytes), encoded as r ‖ s, both padded to the curve's
    /// size.
    public static let ecdsaSignatureDigestRFC4754SHA384 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754:SHA384")

    /// ECDSA signature of a SHA-512 digest (64 bytes), encoded as r ‖ s, both padded to the curve's
    /// size.
    public static let ecdsaSignatureDigestRFC4754SHA512 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:digest-RFC4754:SHA512")

    /// ECDSA signature of a message hashed with SHA-1, encoded as r ‖ s, both padded to the curve's
    /// size.
    public static let ecdsaSignatureMessageRFC4754SHA1 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-RFC4754:SHA1")

    /// ECDSA signature of a message hashed with SHA-224, encoded as r ‖ s, both padded to the
    /// curve's size.
    public static let ecdsaSignatureMessageRFC4754SHA224 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-RFC4754:SHA224")

    /// ECDSA signature of a message hashed with SHA-256, encoded as r ‖ s, both padded to the
    /// curve's size.
    public static let ecdsaSignatureMessageRFC4754SHA256 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-RFC4754:SHA256")

    /// ECDSA signature of a message hashed with SHA-384, encoded as r ‖ s, both padded to the
    /// curve's size.
    public static let ecdsaSignatureMessageRFC4754SHA384 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-RFC4754:SHA384")

    /// ECDSA signature of a message hashed with SHA-512, encoded as r ‖ s, both padded to the
    /// curve's size.
    public static let ecdsaSignatureMessageRFC4754SHA512 = SecKeyAlgorithm(
        name: "algid:sign:ECDSA:message-RFC4754:SHA512")

    /// Ed25519 signature of a message, 64 bytes. Apple exports the constant without declaring it.
    public static let edDSASignatureMessageCurve25519SHA512 = SecKeyAlgorithm(
        name: "algid:sign:EdDSA:message-Curve25519:SHA512")
}

#endif
