// KeyAttributes: what an item of a key says about the key's uses.

extension Attributes {
    /// What class, type and size of an asymmetric key say.
    ///
    /// - Parameters:
    ///   - type: The value of a `kSecAttrKeyType…` constant.
    ///   - sizeInBits: The size.
    ///   - isPrivate: Whether it is the private half.
    ///   - isRSA: Whether the public half undoes the private operation.
    ///   - agrees: Whether such keys agree on secrets.
    /// - Returns: The attributes, without those that identify the key.
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
            // Apple says true of public keys too. An identity is made of the private key with a
            // certificate's hash, and would be made of the public one then.
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

    /// What is so of every key in hardware, whatever was asked for.
    package static let ofKeyInHardware: Attributes = [
        .isSensitive: .number(1), .wasAlwaysSensitive: .number(1),
        .isExtractable: .number(0), .wasNeverExtractable: .number(1),
    ]

    /// The type of keys on P-256 and the other prime curves.
    package static let ellipticKeyType: Int64 = 73
}
