// KeyAttributes: the attributes of a key's item that state its type and size, and what it can be
// used for.

extension Attributes {
    /// Returns the attributes of an asymmetric key.
    ///
    /// - Parameters:
    ///   - type: The value of a `kSecAttrKeyType…` constant.
    ///   - sizeInBits: The size of the key in bits.
    ///   - isPrivate: Whether the key is a private key.
    ///   - isRSA: Whether the key is an RSA key, whose public key can undo the private operation.
    ///   - agrees: Whether the key can be used for key agreement.
    /// - Returns: The attributes, except the application label (which identifies the key) and the
    ///   attributes that the program chooses.
    package static func ofKey(
        type: Int64, sizeInBits: Int, isPrivate: Bool, isRSA: Bool, agrees: Bool
    ) -> Attributes {
        func flag(_ value: Bool) -> AttributeValue { .number(value ? 1 : 0) }
        let size = AttributeValue.number(Int64(sizeInBits))
        return [
            .keyClass: flag(isPrivate),
            .type: .number(type),
            .keySizeInBits: size,
            .effectiveKeySize: size,
            .isPermanent: flag(true),
            // Apple sets `isPrivate` to 1 for public keys, too. Here it is 0 for them: the search
            // for an identity looks for a key with `isPrivate` 1 and the certificate's public key
            // hash, and must not find the public key.
            .isPrivate: flag(isPrivate),
            .isModifiable: flag(true),
            .isSensitive: flag(false),
            .wasAlwaysSensitive: flag(false),
            .isExtractable: flag(true),
            .wasNeverExtractable: flag(false),
            .canEncrypt: flag(!isPrivate),
            .canDecrypt: flag(isPrivate || isRSA),
            .canDerive: flag(agrees),
            .canSign: flag(isPrivate),
            .canVerify: flag(!isPrivate),
            .canSignRecover: flag(false),
            .canVerifyRecover: flag(false),
            .canWrap: flag(!isPrivate),
            .canUnwrap: flag(isPrivate),
        ]
    }

    /// The attributes that all hardware keys have, whatever values were requested.
    package static let ofKeyInHardware: Attributes = [
        .isSensitive: .number(1), .wasAlwaysSensitive: .number(1),
        .isExtractable: .number(0), .wasNeverExtractable: .number(1),
    ]

    /// The type of keys on P-256 and the other prime curves.
    package static let ellipticKeyType: Int64 = 73
}
