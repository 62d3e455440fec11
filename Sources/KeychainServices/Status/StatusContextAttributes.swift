// StatusContextAttributes: the codes of the attributes of a cryptographic context, with a message
// for each.

#if !canImport(Darwin)

/// The context attribute for the key is not valid.
public let errSecInvalidAttributeKey: OSStatus = -67748

/// The context lacks the attribute for the key.
public let errSecMissingAttributeKey: OSStatus = -67749

/// The context attribute for the initialization vector is not valid.
public let errSecInvalidAttributeInitVector: OSStatus = -67750

/// The context lacks the attribute for the initialization vector.
public let errSecMissingAttributeInitVector: OSStatus = -67751

/// The context attribute for the salt is not valid.
public let errSecInvalidAttributeSalt: OSStatus = -67752

/// The context lacks the attribute for the salt.
public let errSecMissingAttributeSalt: OSStatus = -67753

/// The context attribute for the padding is not valid.
public let errSecInvalidAttributePadding: OSStatus = -67754

/// The context lacks the attribute for the padding.
public let errSecMissingAttributePadding: OSStatus = -67755

/// The context attribute for random data is not valid.
public let errSecInvalidAttributeRandom: OSStatus = -67756

/// The context lacks the attribute for random data.
public let errSecMissingAttributeRandom: OSStatus = -67757

/// The context attribute for the seed is not valid.
public let errSecInvalidAttributeSeed: OSStatus = -67758

/// The context lacks the attribute for the seed.
public let errSecMissingAttributeSeed: OSStatus = -67759

/// The context attribute for the passphrase is not valid.
public let errSecInvalidAttributePassphrase: OSStatus = -67760

/// The context lacks the attribute for the passphrase.
public let errSecMissingAttributePassphrase: OSStatus = -67761

/// The context attribute for the key length is not valid.
public let errSecInvalidAttributeKeyLength: OSStatus = -67762

/// The context lacks the attribute for the key length.
public let errSecMissingAttributeKeyLength: OSStatus = -67763

/// The context attribute for the block size is not valid.
public let errSecInvalidAttributeBlockSize: OSStatus = -67764

/// The context lacks the attribute for the block size.
public let errSecMissingAttributeBlockSize: OSStatus = -67765

/// The context attribute for the output size is not valid.
public let errSecInvalidAttributeOutputSize: OSStatus = -67766

/// The context lacks the attribute for the output size.
public let errSecMissingAttributeOutputSize: OSStatus = -67767

/// The context attribute for the number of rounds is not valid.
public let errSecInvalidAttributeRounds: OSStatus = -67768

/// The context lacks the attribute for the number of rounds.
public let errSecMissingAttributeRounds: OSStatus = -67769

/// The parameters of the algorithm are not valid.
public let errSecInvalidAlgorithmParms: OSStatus = -67770

/// The parameters of the algorithm are missing.
public let errSecMissingAlgorithmParms: OSStatus = -67771

/// The context attribute for the label is not valid.
public let errSecInvalidAttributeLabel: OSStatus = -67772

/// The context lacks the attribute for the label.
public let errSecMissingAttributeLabel: OSStatus = -67773

/// The context attribute for the key type is not valid.
public let errSecInvalidAttributeKeyType: OSStatus = -67774

/// The context lacks the attribute for the key type.
public let errSecMissingAttributeKeyType: OSStatus = -67775

/// The context attribute for the mode of operation is not valid.
public let errSecInvalidAttributeMode: OSStatus = -67776

/// The context lacks the attribute for the mode of operation.
public let errSecMissingAttributeMode: OSStatus = -67777

/// The context attribute for the effective key bits is not valid.
public let errSecInvalidAttributeEffectiveBits: OSStatus = -67778

/// The context lacks the attribute for the effective key bits.
public let errSecMissingAttributeEffectiveBits: OSStatus = -67779

/// The context attribute for the start date is not valid.
public let errSecInvalidAttributeStartDate: OSStatus = -67780

/// The context lacks the attribute for the start date.
public let errSecMissingAttributeStartDate: OSStatus = -67781

/// The context attribute for the end date is not valid.
public let errSecInvalidAttributeEndDate: OSStatus = -67782

/// The context lacks the attribute for the end date.
public let errSecMissingAttributeEndDate: OSStatus = -67783

/// The context attribute for the version is not valid.
public let errSecInvalidAttributeVersion: OSStatus = -67784

/// The context lacks the attribute for the version.
public let errSecMissingAttributeVersion: OSStatus = -67785

/// The context attribute for the prime is not valid.
public let errSecInvalidAttributePrime: OSStatus = -67786

/// The context lacks the attribute for the prime.
public let errSecMissingAttributePrime: OSStatus = -67787

/// The context attribute for the base is not valid.
public let errSecInvalidAttributeBase: OSStatus = -67788

/// The context lacks the attribute for the base.
public let errSecMissingAttributeBase: OSStatus = -67789

/// The context attribute for the subprime is not valid.
public let errSecInvalidAttributeSubprime: OSStatus = -67790

/// The context lacks the attribute for the subprime.
public let errSecMissingAttributeSubprime: OSStatus = -67791

/// The context attribute for the iteration count is not valid.
public let errSecInvalidAttributeIterationCount: OSStatus = -67792

/// The context lacks the attribute for the iteration count.
public let errSecMissingAttributeIterationCount: OSStatus = -67793

/// The context attribute for the database handle is not valid.
public let errSecInvalidAttributeDLDBHandle: OSStatus = -67794

/// The context lacks the attribute for the database handle.
public let errSecMissingAttributeDLDBHandle: OSStatus = -67795

/// The context attribute for the access credentials is not valid.
public let errSecInvalidAttributeAccessCredentials: OSStatus = -67796

/// The context lacks the attribute for the access credentials.
public let errSecMissingAttributeAccessCredentials: OSStatus = -67797

/// The context attribute for the public key format is not valid.
public let errSecInvalidAttributePublicKeyFormat: OSStatus = -67798

/// The context lacks the attribute for the public key format.
public let errSecMissingAttributePublicKeyFormat: OSStatus = -67799

/// The context attribute for the private key format is not valid.
public let errSecInvalidAttributePrivateKeyFormat: OSStatus = -67800

/// The context lacks the attribute for the private key format.
public let errSecMissingAttributePrivateKeyFormat: OSStatus = -67801

/// The context attribute for the symmetric key format is not valid.
public let errSecInvalidAttributeSymmetricKeyFormat: OSStatus = -67802

/// The context lacks the attribute for the symmetric key format.
public let errSecMissingAttributeSymmetricKeyFormat: OSStatus = -67803

/// The context attribute for the wrapped key format is not valid.
public let errSecInvalidAttributeWrappedKeyFormat: OSStatus = -67804

/// The context lacks the attribute for the wrapped key format.
public let errSecMissingAttributeWrappedKeyFormat: OSStatus = -67805

extension StatusMessages {
    /// A message for each code of this file.
    static let contextAttributes: [(OSStatus, String)] = [
        (errSecInvalidAttributeKey, "The context attribute for the key is not valid."),
        (errSecMissingAttributeKey, "The context lacks the attribute for the key."),
        (
            errSecInvalidAttributeInitVector,
            "The context attribute for the initialization vector is not valid."
        ),
        (
            errSecMissingAttributeInitVector,
            "The context lacks the attribute for the initialization vector."
        ),
        (errSecInvalidAttributeSalt, "The context attribute for the salt is not valid."),
        (errSecMissingAttributeSalt, "The context lacks the attribute for the salt."),
        (errSecInvalidAttributePadding, "The context attribute for the padding is not valid."),
        (errSecMissingAttributePadding, "The context lacks the attribute for the padding."),
        (errSecInvalidAttributeRandom, "The context attribute for random data is not valid."),
        (errSecMissingAttributeRandom, "The context lacks the attribute for random data."),
        (errSecInvalidAttributeSeed, "The context attribute for the seed is not valid."),
        (errSecMissingAttributeSeed, "The context lacks the attribute for the seed."),
        (
            errSecInvalidAttributePassphrase,
            "The context attribute for the passphrase is not valid."
        ),
        (errSecMissingAttributePassphrase, "The context lacks the attribute for the passphrase."),
        (errSecInvalidAttributeKeyLength, "The context attribute for the key length is not valid."),
        (errSecMissingAttributeKeyLength, "The context lacks the attribute for the key length."),
        (errSecInvalidAttributeBlockSize, "The context attribute for the block size is not valid."),
        (errSecMissingAttributeBlockSize, "The context lacks the attribute for the block size."),
        (
            errSecInvalidAttributeOutputSize,
            "The context attribute for the output size is not valid."
        ),
        (errSecMissingAttributeOutputSize, "The context lacks the attribute for the output size."),
        (
            errSecInvalidAttributeRounds,
            "The context attribute for the number of rounds is not valid."
        ),
        (errSecMissingAttributeRounds, "The context lacks the attribute for the number of rounds."),
        (errSecInvalidAlgorithmParms, "The parameters of the algorithm are not valid."),
        (errSecMissingAlgorithmParms, "The parameters of the algorithm are missing."),
        (errSecInvalidAttributeLabel, "The context attribute for the label is not valid."),
        (errSecMissingAttributeLabel, "The context lacks the attribute for the label."),
        (errSecInvalidAttributeKeyType, "The context attribute for the key type is not valid."),
        (errSecMissingAttributeKeyType, "The context lacks the attribute for the key type."),
        (
            errSecInvalidAttributeMode,
            "The context attribute for the mode of operation is not valid."
        ),
        (errSecMissingAttributeMode, "The context lacks the attribute for the mode of operation."),
        (
            errSecInvalidAttributeEffectiveBits,
            "The context attribute for the effective key bits is not valid."
        ),
        (
            errSecMissingAttributeEffectiveBits,
            "The context lacks the attribute for the effective key bits."
        ),
        (errSecInvalidAttributeStartDate, "The context attribute for the start date is not valid."),
        (errSecMissingAttributeStartDate, "The context lacks the attribute for the start date."),
        (errSecInvalidAttributeEndDate, "The context attribute for the end date is not valid."),
        (errSecMissingAttributeEndDate, "The context lacks the attribute for the end date."),
        (errSecInvalidAttributeVersion, "The context attribute for the version is not valid."),
        (errSecMissingAttributeVersion, "The context lacks the attribute for the version."),
        (errSecInvalidAttributePrime, "The context attribute for the prime is not valid."),
        (errSecMissingAttributePrime, "The context lacks the attribute for the prime."),
        (errSecInvalidAttributeBase, "The context attribute for the base is not valid."),
        (errSecMissingAttributeBase, "The context lacks the attribute for the base."),
        (errSecInvalidAttributeSubprime, "The context attribute for the subprime is not valid."),
        (errSecMissingAttributeSubprime, "The context lacks the attribute for the subprime."),
        (
            errSecInvalidAttributeIterationCount,
            "The context attribute for the iteration count is not valid."
        ),
        (
            errSecMissingAttributeIterationCount,
            "The context lacks the attribute for the iteration count."
        ),
        (
            errSecInvalidAttributeDLDBHandle,
            "The context attribute for the database handle is not valid."
        ),
        (
            errSecMissingAttributeDLDBHandle,
            "The context lacks the attribute for the database handle."
        ),
        (
            errSecInvalidAttributeAccessCredentials,
            "The context attribute for the access credentials is not valid."
        ),
        (
            errSecMissingAttributeAccessCredentials,
            "The context lacks the attribute for the access credentials."
        ),
        (
            errSecInvalidAttributePublicKeyFormat,
            "The context attribute for the public key format is not valid."
        ),
        (
            errSecMissingAttributePublicKeyFormat,
            "The context lacks the attribute for the public key format."
        ),
        (
            errSecInvalidAttributePrivateKeyFormat,
            "The context attribute for the private key format is not valid."
        ),
        (
            errSecMissingAttributePrivateKeyFormat,
            "The context lacks the attribute for the private key format."
        ),
        (
            errSecInvalidAttributeSymmetricKeyFormat,
            "The context attribute for the symmetric key format is not valid."
        ),
        (
            errSecMissingAttributeSymmetricKeyFormat,
            "The context lacks the attribute for the symmetric key format."
        ),
        (
            errSecInvalidAttributeWrappedKeyFormat,
            "The context attribute for the wrapped key format is not valid."
        ),
        (
            errSecMissingAttributeWrappedKeyFormat,
            "The context lacks the attribute for the wrapped key format."
        ),
    ]
}

#endif
