// StatusTimeStamps: the codes of certificate extensions and time stamps, with a message for each.

#if !canImport(Darwin)

/// The certificate lacks an extension that is required.
public let errSecMissingRequiredExtension: OSStatus = -67880

/// The extended key usage extension is not marked critical.
public let errSecExtendedKeyUsageNotCritical: OSStatus = -67881

/// A time stamp was expected but is missing.
public let errSecTimestampMissing: OSStatus = -67882

/// The time stamp is not valid.
public let errSecTimestampInvalid: OSStatus = -67883

/// The time stamp is not trusted.
public let errSecTimestampNotTrusted: OSStatus = -67884

/// The time stamp service is not available.
public let errSecTimestampServiceNotAvailable: OSStatus = -67885

/// The time stamp service does not accept the algorithm.
public let errSecTimestampBadAlg: OSStatus = -67886

/// The time stamp service does not accept the request.
public let errSecTimestampBadRequest: OSStatus = -67887

/// The time stamp service does not accept the data format.
public let errSecTimestampBadDataFormat: OSStatus = -67888

/// The time stamp service has no time source at present.
public let errSecTimestampTimeNotAvailable: OSStatus = -67889

/// The time stamp service does not accept the requested policy.
public let errSecTimestampUnacceptedPolicy: OSStatus = -67890

/// The time stamp service does not accept a requested extension.
public let errSecTimestampUnacceptedExtension: OSStatus = -67891

/// The time stamp service cannot supply the additional information.
public let errSecTimestampAddInfoNotAvailable: OSStatus = -67892

/// The time stamp service failed.
public let errSecTimestampSystemFailure: OSStatus = -67893

/// A signing time was expected but is missing.
public let errSecSigningTimeMissing: OSStatus = -67894

/// The request for a time stamp was rejected.
public let errSecTimestampRejection: OSStatus = -67895

/// The request for a time stamp is waiting for an answer.
public let errSecTimestampWaiting: OSStatus = -67896

/// The certificate of the time stamp service is about to be revoked.
public let errSecTimestampRevocationWarning: OSStatus = -67897

/// The certificate of the time stamp service was revoked.
public let errSecTimestampRevocationNotification: OSStatus = -67898

/// The policy of the certificate is not allowed.
public let errSecCertificatePolicyNotAllowed: OSStatus = -67899

/// A name in the certificate is outside the permitted names.
public let errSecCertificateNameNotAllowed: OSStatus = -67900

/// The validity period of the certificate is too long.
public let errSecCertificateValidityPeriodTooLong: OSStatus = -67901

/// The certificate is an authority where an end certificate was expected.
public let errSecCertificateIsCA: OSStatus = -67902

/// The certificate holds the same extension twice.
public let errSecCertificateDuplicateExtension: OSStatus = -67903

/// The certificate lacks a qualified statement that is required.
public let errSecMissingQualifiedCertStatement: OSStatus = -67904

extension StatusMessages {
    /// A message for each code of this file.
    static let timeStamps: [(OSStatus, String)] = [
        (errSecMissingRequiredExtension, "The certificate lacks an extension that is required."),
        (
            errSecExtendedKeyUsageNotCritical,
            "The extended key usage extension is not marked critical."
        ),
        (errSecTimestampMissing, "A time stamp was expected but is missing."),
        (errSecTimestampInvalid, "The time stamp is not valid."),
        (errSecTimestampNotTrusted, "The time stamp is not trusted."),
        (errSecTimestampServiceNotAvailable, "The time stamp service is not available."),
        (errSecTimestampBadAlg, "The time stamp service does not accept the algorithm."),
        (errSecTimestampBadRequest, "The time stamp service does not accept the request."),
        (errSecTimestampBadDataFormat, "The time stamp service does not accept the data format."),
        (errSecTimestampTimeNotAvailable, "The time stamp service has no time source at present."),
        (
            errSecTimestampUnacceptedPolicy,
            "The time stamp service does not accept the requested policy."
        ),
        (
            errSecTimestampUnacceptedExtension,
            "The time stamp service does not accept a requested extension."
        ),
        (
            errSecTimestampAddInfoNotAvailable,
            "The time stamp service cannot supply the additional information."
        ),
        (errSecTimestampSystemFailure, "The time stamp service failed."),
        (errSecSigningTimeMissing, "A signing time was expected but is missing."),
        (errSecTimestampRejection, "The request for a time stamp was rejected."),
        (errSecTimestampWaiting, "The request for a time stamp is waiting for an answer."),
        (
            errSecTimestampRevocationWarning,
            "The certificate of the time stamp service is about to be revoked."
        ),
        (
            errSecTimestampRevocationNotification,
            "The certificate of the time stamp service was revoked."
        ),
        (errSecCertificatePolicyNotAllowed, "The policy of the certificate is not allowed."),
        (
            errSecCertificateNameNotAllowed,
            "A name in the certificate is outside the permitted names."
        ),
        (
            errSecCertificateValidityPeriodTooLong,
            "The validity period of the certificate is too long."
        ),
        (
            errSecCertificateIsCA,
            "The certificate is an authority where an end certificate was expected."
        ),
        (errSecCertificateDuplicateExtension, "The certificate holds the same extension twice."),
        (
            errSecMissingQualifiedCertStatement,
            "The certificate lacks a qualified statement that is required."
        ),
    ]
}

#endif
