// StatusDevice: the codes of the service, of cryptographic devices and of stored blocks, with a
// message for each.

#if !canImport(Darwin)

/// The service that would carry out the operation is not available.
public let errSecServiceNotAvailable: OSStatus = -67585

/// The identification of the client is not sufficient for the operation.
public let errSecInsufficientClientID: OSStatus = -67586

/// The cryptographic device was reset during the operation.
public let errSecDeviceReset: OSStatus = -67587

/// The cryptographic device failed.
public let errSecDeviceFailed: OSStatus = -67588

/// The application could not be added to the subjects of the access control list.
public let errSecAppleAddAppACLSubject: OSStatus = -67589

/// The public key lacks parameters that must be taken from an issuer.
public let errSecApplePublicKeyIncomplete: OSStatus = -67590

/// The signature of the code differs from the one that was recorded.
public let errSecAppleSignatureMismatch: OSStatus = -67591

/// The start date of the key is not valid.
public let errSecAppleInvalidKeyStartDate: OSStatus = -67592

/// The end date of the key is not valid.
public let errSecAppleInvalidKeyEndDate: OSStatus = -67593

/// A value could not be converted.
public let errSecConversionError: OSStatus = -67594

/// The connection was pushed back to an older protocol version than both sides support.
public let errSecAppleSSLv2Rollback: OSStatus = -67595

/// The quota for storage or requests is used up.
public let errSecQuotaExceeded: OSStatus = -67596

/// The file is too big.
public let errSecFileTooBig: OSStatus = -67597

/// The database holds a block that is not valid.
public let errSecInvalidDatabaseBlob: OSStatus = -67598

/// The stored form of a key is not valid.
public let errSecInvalidKeyBlob: OSStatus = -67599

/// The database block belongs to an incompatible version or database.
public let errSecIncompatibleDatabaseBlob: OSStatus = -67600

/// The stored form of a key belongs to an incompatible version or database.
public let errSecIncompatibleKeyBlob: OSStatus = -67601

extension StatusMessages {
    /// A message for each code of this file.
    static let device: [(OSStatus, String)] = [
        (
            errSecServiceNotAvailable,
            "The service that would carry out the operation is not available."
        ),
        (
            errSecInsufficientClientID,
            "The identification of the client is not sufficient for the operation."
        ),
        (errSecDeviceReset, "The cryptographic device was reset during the operation."),
        (errSecDeviceFailed, "The cryptographic device failed."),
        (
            errSecAppleAddAppACLSubject,
            "The application could not be added to the subjects of the access control list."
        ),
        (
            errSecApplePublicKeyIncomplete,
            "The public key lacks parameters that must be taken from an issuer."
        ),
        (
            errSecAppleSignatureMismatch,
            "The signature of the code differs from the one that was recorded."
        ),
        (errSecAppleInvalidKeyStartDate, "The start date of the key is not valid."),
        (errSecAppleInvalidKeyEndDate, "The end date of the key is not valid."),
        (errSecConversionError, "A value could not be converted."),
        (
            errSecAppleSSLv2Rollback,
            "The connection was pushed back to an older protocol version than both sides support."
        ),
        (errSecQuotaExceeded, "The quota for storage or requests is used up."),
        (errSecFileTooBig, "The file is too big."),
        (errSecInvalidDatabaseBlob, "The database holds a block that is not valid."),
        (errSecInvalidKeyBlob, "The stored form of a key is not valid."),
        (
            errSecIncompatibleDatabaseBlob,
            "The database block belongs to an incompatible version or database."
        ),
        (
            errSecIncompatibleKeyBlob,
            "The stored form of a key belongs to an incompatible version or database."
        ),
    ]
}

#endif
