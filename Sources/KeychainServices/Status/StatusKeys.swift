// StatusKeys: the codes of keys and cryptographic operations, with a message for each.

#if !canImport(Darwin)

/// The algorithm does not match the key or the data.
public let errSecAlgorithmMismatch: OSStatus = -67730

/// The key may not be used for this operation.
public let errSecKeyUsageIncorrect: OSStatus = -67731

/// The stored form of the key is of the wrong type.
public let errSecKeyBlobTypeIncorrect: OSStatus = -67732

/// The header of the key contradicts its contents.
public let errSecKeyHeaderInconsistent: OSStatus = -67733

/// The key format is not supported.
public let errSecUnsupportedKeyFormat: OSStatus = -67734

/// The key size is not supported.
public let errSecUnsupportedKeySize: OSStatus = -67735

/// The key usage mask is not valid.
public let errSecInvalidKeyUsageMask: OSStatus = -67736

/// The key usage mask is not supported.
public let errSecUnsupportedKeyUsageMask: OSStatus = -67737

/// The key attribute mask is not valid.
public let errSecInvalidKeyAttributeMask: OSStatus = -67738

/// The key attribute mask is not supported.
public let errSecUnsupportedKeyAttributeMask: OSStatus = -67739

/// The key label is not valid.
public let errSecInvalidKeyLabel: OSStatus = -67740

/// The key label is not supported.
public let errSecUnsupportedKeyLabel: OSStatus = -67741

/// The key is not in a valid format.
public let errSecInvalidKeyFormat: OSStatus = -67742

/// A list of buffers is not supported here.
public let errSecUnsupportedVectorOfBuffers: OSStatus = -67743

/// The list of input buffers is not valid.
public let errSecInvalidInputVector: OSStatus = -67744

/// The list of output buffers is not valid.
public let errSecInvalidOutputVector: OSStatus = -67745

/// The cryptographic context is not valid.
public let errSecInvalidContext: OSStatus = -67746

/// The algorithm is not valid.
public let errSecInvalidAlgorithm: OSStatus = -67747

extension StatusMessages {
    /// A message for each code of this file.
    static let keys: [(OSStatus, String)] = [
        (errSecAlgorithmMismatch, "The algorithm does not match the key or the data."),
        (errSecKeyUsageIncorrect, "The key may not be used for this operation."),
        (errSecKeyBlobTypeIncorrect, "The stored form of the key is of the wrong type."),
        (errSecKeyHeaderInconsistent, "The header of the key contradicts its contents."),
        (errSecUnsupportedKeyFormat, "The key format is not supported."),
        (errSecUnsupportedKeySize, "The key size is not supported."),
        (errSecInvalidKeyUsageMask, "The key usage mask is not valid."),
        (errSecUnsupportedKeyUsageMask, "The key usage mask is not supported."),
        (errSecInvalidKeyAttributeMask, "The key attribute mask is not valid."),
        (errSecUnsupportedKeyAttributeMask, "The key attribute mask is not supported."),
        (errSecInvalidKeyLabel, "The key label is not valid."),
        (errSecUnsupportedKeyLabel, "The key label is not supported."),
        (errSecInvalidKeyFormat, "The key is not in a valid format."),
        (
            errSecUnsupportedVectorOfBuffers,
            "A list of buffers is not supported here. Pass one buffer."
        ),
        (errSecInvalidInputVector, "The list of input buffers is not valid."),
        (errSecInvalidOutputVector, "The list of output buffers is not valid."),
        (errSecInvalidContext, "The cryptographic context is not valid."),
        (errSecInvalidAlgorithm, "The algorithm is not valid."),
    ]
}

#endif
