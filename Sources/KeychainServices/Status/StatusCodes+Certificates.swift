// StatusCodes+Certificates: the codes for certificates, trust, time stamps, signed code and the
// account service.
//   (1) The documentation of a code is its text in `StatusMessages`. A test compares them.

#if !canImport(Darwin)

// MARK: Certificates and trust

/// The host name does not match a name in the certificate.
public let errSecHostNameMismatch: OSStatus = -67602
/// The certificate has a critical extension that is not understood.
public let errSecUnknownCriticalExtensionFlag: OSStatus = -67603
/// The certificate lacks the basic constraints extension.
public let errSecNoBasicConstraints: OSStatus = -67604
/// The basic constraints do not identify the certificate as a certificate authority.
public let errSecNoBasicConstraintsCA: OSStatus = -67605
/// The authority key identifier is not valid.
public let errSecInvalidAuthorityKeyID: OSStatus = -67606
/// The subject key identifier is not valid.
public let errSecInvalidSubjectKeyID: OSStatus = -67607
/// The key usage of the certificate does not fit the policy.
public let errSecInvalidKeyUsageForPolicy: OSStatus = -67608
/// The extended key usage of the certificate is not valid.
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
/// The issuing distribution point of the revocation list is not valid.
public let errSecIDPFailure: OSStatus = -67622
/// The certificate does not contain the requested mail address.
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
/// The OCSP responder does not know the certificate.
public let errSecOCSPStatusUnrecognized: OSStatus = -67633
/// The data ended before the operation was complete.
public let errSecEndOfData: OSStatus = -67634
/// The check for revoked certificates could not be completed.
public let errSecIncompleteCertRevocationCheck: OSStatus = -67635
/// The network failed during the operation.
public let errSecNetworkFailure: OSStatus = -67636
/// The OCSP answer does not lead back to a trusted anchor.
public let errSecOCSPNotTrustedToAnchor: OSStatus = -67637
/// The record was modified in the meantime.
public let errSecRecordModified: OSStatus = -67638
/// The signature of the OCSP answer is wrong.
public let errSecOCSPSignatureError: OSStatus = -67639
/// The OCSP answer has no signer.
public let errSecOCSPNoSigner: OSStatus = -67640
/// The OCSP responder rejected the request as malformed.
public let errSecOCSPResponderMalformedReq: OSStatus = -67641
/// An internal error occurred in the OCSP responder.
public let errSecOCSPResponderInternalError: OSStatus = -67642
/// The OCSP responder is busy. Try again later.
public let errSecOCSPResponderTryLater: OSStatus = -67643
/// The OCSP responder requires a signed request.
public let errSecOCSPResponderSignatureRequired: OSStatus = -67644
/// The OCSP responder refused the request as unauthorized.
public let errSecOCSPResponderUnauthorized: OSStatus = -67645
/// The nonce in the OCSP answer differs from that of the request.
public let errSecOCSPResponseNonceMismatch: OSStatus = -67646

// MARK: Certificate extensions and time stamps

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
/// The certificate does not permit the requested policy.
public let errSecCertificatePolicyNotAllowed: OSStatus = -67899
/// A name in the certificate is outside the permitted names.
public let errSecCertificateNameNotAllowed: OSStatus = -67900
/// The validity period of the certificate is too long.
public let errSecCertificateValidityPeriodTooLong: OSStatus = -67901
/// The certificate belongs to a certificate authority, but an end-entity certificate was expected.
public let errSecCertificateIsCA: OSStatus = -67902
/// The certificate holds the same extension twice.
public let errSecCertificateDuplicateExtension: OSStatus = -67903
/// The certificate lacks a required qualified certificate statement.
public let errSecMissingQualifiedCertStatement: OSStatus = -67904

// MARK: Signed code

/// The certificate chain of the code signature has the wrong length.
public let errSecCodeSigningBadCertChainLength: OSStatus = -67647
/// A certificate of the code signature lacks basic constraints.
public let errSecCodeSigningNoBasicConstraints: OSStatus = -67648
/// The path length constraint of a code signing certificate is wrong.
public let errSecCodeSigningBadPathLengthConstraint: OSStatus = -67649
/// The code signing certificate has no extended key usage.
public let errSecCodeSigningNoExtendedKeyUsage: OSStatus = -67650
/// The code signing certificate is for development only.
public let errSecCodeSigningDevelopment: OSStatus = -67651
/// The certificate chain of a resource signature has the wrong length.
public let errSecResourceSignBadCertChainLength: OSStatus = -67652
/// The extended key usage does not allow signing resources.
public let errSecResourceSignBadExtKeyUsage: OSStatus = -67653
/// The trust settings deny trust to this certificate.
public let errSecTrustSettingDeny: OSStatus = -67654
/// The subject name of the certificate is not valid.
public let errSecInvalidSubjectName: OSStatus = -67655
/// The certificate has an unknown qualified certificate statement.
public let errSecUnknownQualifiedCertStatement: OSStatus = -67656

// MARK: The account service (MobileMe)

/// The request to the account service will be sent with the next connection.
public let errSecMobileMeRequestQueued: OSStatus = -67657
/// The account service redirected the request.
public let errSecMobileMeRequestRedirected: OSStatus = -67658
/// The server of the account service reported an error.
public let errSecMobileMeServerError: OSStatus = -67659
/// The server of the account service is not available.
public let errSecMobileMeServerNotAvailable: OSStatus = -67660
/// The account service holds this entry already.
public let errSecMobileMeServerAlreadyExists: OSStatus = -67661
/// The account service could not carry out the request.
public let errSecMobileMeServerServiceErr: OSStatus = -67662
/// A request to the account service is pending already.
public let errSecMobileMeRequestAlreadyPending: OSStatus = -67663
/// No request to the account service is pending.
public let errSecMobileMeNoRequestPending: OSStatus = -67664
/// The account service could not verify the certificate request.
public let errSecMobileMeCSRVerifyFailure: OSStatus = -67665
/// The account service found the request inconsistent.
public let errSecMobileMeFailedConsistencyCheck: OSStatus = -67666

#endif
