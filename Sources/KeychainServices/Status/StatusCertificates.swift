// StatusCertificates: the codes of certificate policies and revocation, with a message for each.

#if !canImport(Darwin)

/// The host name does not match a name in the certificate.
public let errSecHostNameMismatch: OSStatus = -67602

/// The certificate has a critical extension that is not understood.
public let errSecUnknownCriticalExtensionFlag: OSStatus = -67603

/// The certificate lacks the basic constraints extension.
public let errSecNoBasicConstraints: OSStatus = -67604

/// The basic constraints do not say that the certificate is an authority.
public let errSecNoBasicConstraintsCA: OSStatus = -67605

/// The authority key identifier is not valid.
public let errSecInvalidAuthorityKeyID: OSStatus = -67606

/// The subject key identifier is not valid.
public let errSecInvalidSubjectKeyID: OSStatus = -67607

/// The key usage of the certificate does not fit the policy.
public let errSecInvalidKeyUsageForPolicy: OSStatus = -67608

/// The extended key usage of the certificate is not valid here.
public let errSecInvalidExtendedKeyUsage: OSStatus = -67609

/// The identifiers that link a certificate to its issuer do not agree.
public let errSecInvalidIDLinkage: OSStatus = -67610

/// The certificate chain is longer than its path length constraint allows.
public let errSecPathLengthConstraintExceeded: OSStatus = -67611

/// The root certificate of the chain is not valid.
public let errSecInvalidRoot: OSStatus = -67612

/// The certificate revocation list has expired.
public let errSecCRLExpired: OSStatus = -67613

/// The certificate revocation list is not valid yet.
public let errSecCRLNotValidYet: OSStatus = -67614

/// No certificate revocation list was found.
public let errSecCRLNotFound: OSStatus = -67615

/// The server for the certificate revocation list does not answer.
public let errSecCRLServerDown: OSStatus = -67616

/// The address of the certificate revocation list is not valid.
public let errSecCRLBadURI: OSStatus = -67617

/// The certificate has an extension that is not known.
public let errSecUnknownCertExtension: OSStatus = -67618

/// The certificate revocation list has an extension that is not known.
public let errSecUnknownCRLExtension: OSStatus = -67619

/// The certificate revocation list is not trusted.
public let errSecCRLNotTrusted: OSStatus = -67620

/// The certificate revocation list does not satisfy the policy.
public let errSecCRLPolicyFailed: OSStatus = -67621

/// The issuing distribution point of the revocation list does not apply.
public let errSecIDPFailure: OSStatus = -67622

/// The mail address that was looked for is not in the certificate.
public let errSecSMIMEEmailAddressesNotFound: OSStatus = -67623

/// The extended key usage does not allow secure mail.
public let errSecSMIMEBadExtendedKeyUsage: OSStatus = -67624

/// The key usage does not allow secure mail.
public let errSecSMIMEBadKeyUsage: OSStatus = -67625

/// The key usage extension of a mail certificate is not marked critical.
public let errSecSMIMEKeyUsageNotCritical: OSStatus = -67626

/// The mail certificate names no mail address.
public let errSecSMIMENoEmailAddress: OSStatus = -67627

/// The alternative name of a mail certificate is not marked critical.
public let errSecSMIMESubjAltNameNotCritical: OSStatus = -67628

/// The extended key usage does not allow secure connections.
public let errSecSSLBadExtendedKeyUsage: OSStatus = -67629

/// The answer of the OCSP responder is malformed.
public let errSecOCSPBadResponse: OSStatus = -67630

/// The OCSP request is malformed.
public let errSecOCSPBadRequest: OSStatus = -67631

/// The OCSP service is not available.
public let errSecOCSPUnavailable: OSStatus = -67632

/// The OCSP responder gave a status that is not known.
public let errSecOCSPStatusUnrecognized: OSStatus = -67633

/// The data ended before the operation was complete.
public let errSecEndOfData: OSStatus = -67634

/// The check for revoked certificates could not be completed.
public let errSecIncompleteCertRevocationCheck: OSStatus = -67635

/// The network failed during the operation.
public let errSecNetworkFailure: OSStatus = -67636

/// The OCSP answer does not lead back to a trusted anchor.
public let errSecOCSPNotTrustedToAnchor: OSStatus = -67637

/// The record was modified by someone else in the meantime.
public let errSecRecordModified: OSStatus = -67638

/// The signature of the OCSP answer is wrong.
public let errSecOCSPSignatureError: OSStatus = -67639

/// The OCSP answer has no signer.
public let errSecOCSPNoSigner: OSStatus = -67640

/// The OCSP responder called the request malformed.
public let errSecOCSPResponderMalformedReq: OSStatus = -67641

/// The OCSP responder met an error of its own.
public let errSecOCSPResponderInternalError: OSStatus = -67642

/// The OCSP responder is busy.
public let errSecOCSPResponderTryLater: OSStatus = -67643

/// The OCSP responder demands a signed request.
public let errSecOCSPResponderSignatureRequired: OSStatus = -67644

/// The OCSP responder refused the request as unauthorized.
public let errSecOCSPResponderUnauthorized: OSStatus = -67645

/// The nonce in the OCSP answer differs from that of the request.
public let errSecOCSPResponseNonceMismatch: OSStatus = -67646

extension StatusMessages {
    /// A message for each code of this file.
    static let certificates: [(OSStatus, String)] = [
        (errSecHostNameMismatch, "The host name does not match a name in the certificate."),
        (
            errSecUnknownCriticalExtensionFlag,
            "The certificate has a critical extension that is not understood."
        ),
        (errSecNoBasicConstraints, "The certificate lacks the basic constraints extension."),
        (
            errSecNoBasicConstraintsCA,
            "The basic constraints do not say that the certificate is an authority."
        ),
        (errSecInvalidAuthorityKeyID, "The authority key identifier is not valid."),
        (errSecInvalidSubjectKeyID, "The subject key identifier is not valid."),
        (
            errSecInvalidKeyUsageForPolicy,
            "The key usage of the certificate does not fit the policy."
        ),
        (
            errSecInvalidExtendedKeyUsage,
            "The extended key usage of the certificate is not valid here."
        ),
        (
            errSecInvalidIDLinkage,
            "The identifiers that link a certificate to its issuer do not agree."
        ),
        (
            errSecPathLengthConstraintExceeded,
            "The certificate chain is longer than its path length constraint allows."
        ),
        (errSecInvalidRoot, "The root certificate of the chain is not valid."),
        (errSecCRLExpired, "The certificate revocation list has expired."),
        (errSecCRLNotValidYet, "The certificate revocation list is not valid yet."),
        (errSecCRLNotFound, "No certificate revocation list was found."),
        (errSecCRLServerDown, "The server for the certificate revocation list does not answer."),
        (errSecCRLBadURI, "The address of the certificate revocation list is not valid."),
        (errSecUnknownCertExtension, "The certificate has an extension that is not known."),
        (
            errSecUnknownCRLExtension,
            "The certificate revocation list has an extension that is not known."
        ),
        (errSecCRLNotTrusted, "The certificate revocation list is not trusted."),
        (errSecCRLPolicyFailed, "The certificate revocation list does not satisfy the policy."),
        (errSecIDPFailure, "The issuing distribution point of the revocation list does not apply."),
        (
            errSecSMIMEEmailAddressesNotFound,
            "The mail address that was looked for is not in the certificate."
        ),
        (errSecSMIMEBadExtendedKeyUsage, "The extended key usage does not allow secure mail."),
        (errSecSMIMEBadKeyUsage, "The key usage does not allow secure mail."),
        (
            errSecSMIMEKeyUsageNotCritical,
            "The key usage extension of a mail certificate is not marked critical."
        ),
        (errSecSMIMENoEmailAddress, "The mail certificate names no mail address."),
        (
            errSecSMIMESubjAltNameNotCritical,
            "The alternative name of a mail certificate is not marked critical."
        ),
        (errSecSSLBadExtendedKeyUsage, "The extended key usage does not allow secure connections."),
        (errSecOCSPBadResponse, "The answer of the OCSP responder is malformed."),
        (errSecOCSPBadRequest, "The OCSP request is malformed."),
        (errSecOCSPUnavailable, "The OCSP service is not available."),
        (errSecOCSPStatusUnrecognized, "The OCSP responder gave a status that is not known."),
        (errSecEndOfData, "The data ended before the operation was complete."),
        (
            errSecIncompleteCertRevocationCheck,
            "The check for revoked certificates could not be completed."
        ),
        (errSecNetworkFailure, "The network failed during the operation."),
        (errSecOCSPNotTrustedToAnchor, "The OCSP answer does not lead back to a trusted anchor."),
        (errSecRecordModified, "The record was modified by someone else in the meantime."),
        (errSecOCSPSignatureError, "The signature of the OCSP answer is wrong."),
        (errSecOCSPNoSigner, "The OCSP answer has no signer."),
        (errSecOCSPResponderMalformedReq, "The OCSP responder called the request malformed."),
        (errSecOCSPResponderInternalError, "The OCSP responder met an error of its own."),
        (errSecOCSPResponderTryLater, "The OCSP responder is busy. Try again later."),
        (errSecOCSPResponderSignatureRequired, "The OCSP responder demands a signed request."),
        (
            errSecOCSPResponderUnauthorized,
            "The OCSP responder refused the request as unauthorized."
        ),
        (
            errSecOCSPResponseNonceMismatch,
            "The nonce in the OCSP answer differs from that of the request."
        ),
    ]
}

#endif
