// StatusRequests: the codes of staged operations, certificates and requests, with a message for
// each.

#if !canImport(Darwin)

/// An operation in several steps is in progress already.
public let errSecStagedOperationInProgress: OSStatus = -67806

/// An operation in several steps was continued before it was started.
public let errSecStagedOperationNotStarted: OSStatus = -67807

/// The signature does not belong to this data and key.
public let errSecVerifyFailed: OSStatus = -67808

/// The size of the result cannot be told in advance.
public let errSecQuerySizeUnknown: OSStatus = -67809

/// The length of the data does not fit the block size.
public let errSecBlockSizeMismatch: OSStatus = -67810

/// The public key does not belong to the private key.
public let errSecPublicKeyInconsistent: OSStatus = -67811

/// The cryptographic device could not be verified.
public let errSecDeviceVerifyFailed: OSStatus = -67812

/// The login name is not valid.
public let errSecInvalidLoginName: OSStatus = -67813

/// A user is logged in to the device or service already.
public let errSecAlreadyLoggedIn: OSStatus = -67814

/// The digest algorithm is not valid.
public let errSecInvalidDigestAlgorithm: OSStatus = -67815

/// The group of certificate revocation lists is not valid.
public let errSecInvalidCRLGroup: OSStatus = -67816

/// The certificate cannot be used for this operation.
public let errSecCertificateCannotOperate: OSStatus = -67817

/// The certificate has expired.
public let errSecCertificateExpired: OSStatus = -67818

/// The certificate is not valid yet.
public let errSecCertificateNotValidYet: OSStatus = -67819

/// The certificate was revoked.
public let errSecCertificateRevoked: OSStatus = -67820

/// The certificate is suspended.
public let errSecCertificateSuspended: OSStatus = -67821

/// The credentials are not sufficient for the operation.
public let errSecInsufficientCredentials: OSStatus = -67822

/// The action is not valid.
public let errSecInvalidAction: OSStatus = -67823

/// The authority is not valid.
public let errSecInvalidAuthority: OSStatus = -67824

/// The action that verifies the request failed.
public let errSecVerifyActionFailed: OSStatus = -67825

/// The certificate authority is not valid.
public let errSecInvalidCertAuthority: OSStatus = -67826

/// The authority of the revocation list is not valid.
public let errSecInvalidCRLAuthority: OSStatus = -67827

/// The encoding of the certificate revocation list is not valid.
public let errSecInvalidCRLEncoding: OSStatus = -67828

/// The type of the certificate revocation list is not valid.
public let errSecInvalidCRLType: OSStatus = -67829

/// The certificate revocation list is not valid.
public let errSecInvalidCRL: OSStatus = -67830

/// The type of the form is not valid.
public let errSecInvalidFormType: OSStatus = -67831

/// The ID is not valid.
public let errSecInvalidID: OSStatus = -67832

/// The object identifier is not valid.
public let errSecInvalidIdentifier: OSStatus = -67833

/// The index is not valid.
public let errSecInvalidIndex: OSStatus = -67834

/// The policy identifiers are not valid.
public let errSecInvalidPolicyIdentifiers: OSStatus = -67835

/// The text of the time is not valid.
public let errSecInvalidTimeString: OSStatus = -67836

/// The reason is not valid.
public let errSecInvalidReason: OSStatus = -67837

/// The inputs of the request are not valid.
public let errSecInvalidRequestInputs: OSStatus = -67838

/// The list of responses is not valid.
public let errSecInvalidResponseVector: OSStatus = -67839

/// The policy that says when to stop is not valid.
public let errSecInvalidStopOnPolicy: OSStatus = -67840

/// The tuple is not valid.
public let errSecInvalidTuple: OSStatus = -67841

/// More than one value is not supported here.
public let errSecMultipleValuesUnsupported: OSStatus = -67842

/// The trust evaluation ended without trust.
public let errSecNotTrusted: OSStatus = -67843

/// No default authority is set.
public let errSecNoDefaultAuthority: OSStatus = -67844

/// The form was rejected.
public let errSecRejectedForm: OSStatus = -67845

/// The request was lost.
public let errSecRequestLost: OSStatus = -67846

/// The request was rejected.
public let errSecRequestRejected: OSStatus = -67847

/// The type of the address is not supported.
public let errSecUnsupportedAddressType: OSStatus = -67848

/// The service is not supported.
public let errSecUnsupportedService: OSStatus = -67849

/// The group of tuples is not valid.
public let errSecInvalidTupleGroup: OSStatus = -67850

/// The base access control lists are not valid.
public let errSecInvalidBaseACLs: OSStatus = -67851

/// The credentials of the tuple are not valid.
public let errSecInvalidTupleCredentials: OSStatus = -67852

/// The encoding is not valid.
public let errSecInvalidEncoding: OSStatus = -67853

/// The validity period is not valid.
public let errSecInvalidValidityPeriod: OSStatus = -67854

/// The requestor is not valid.
public let errSecInvalidRequestor: OSStatus = -67855

/// The descriptor of the request is not valid.
public let errSecRequestDescriptor: OSStatus = -67856

extension StatusMessages {
    /// A message for each code of this file.
    static let requests: [(OSStatus, String)] = [
        (errSecStagedOperationInProgress, "An operation in several steps is in progress already."),
        (
            errSecStagedOperationNotStarted,
            "An operation in several steps was continued before it was started."
        ),
        (errSecVerifyFailed, "The signature does not belong to this data and key."),
        (errSecQuerySizeUnknown, "The size of the result cannot be told in advance."),
        (errSecBlockSizeMismatch, "The length of the data does not fit the block size."),
        (errSecPublicKeyInconsistent, "The public key does not belong to the private key."),
        (errSecDeviceVerifyFailed, "The cryptographic device could not be verified."),
        (errSecInvalidLoginName, "The login name is not valid."),
        (errSecAlreadyLoggedIn, "A user is logged in to the device or service already."),
        (errSecInvalidDigestAlgorithm, "The digest algorithm is not valid."),
        (errSecInvalidCRLGroup, "The group of certificate revocation lists is not valid."),
        (errSecCertificateCannotOperate, "The certificate cannot be used for this operation."),
        (errSecCertificateExpired, "The certificate has expired."),
        (errSecCertificateNotValidYet, "The certificate is not valid yet."),
        (errSecCertificateRevoked, "The certificate was revoked."),
        (errSecCertificateSuspended, "The certificate is suspended."),
        (errSecInsufficientCredentials, "The credentials are not sufficient for the operation."),
        (errSecInvalidAction, "The action is not valid."),
        (errSecInvalidAuthority, "The authority is not valid."),
        (errSecVerifyActionFailed, "The action that verifies the request failed."),
        (errSecInvalidCertAuthority, "The certificate authority is not valid."),
        (errSecInvalidCRLAuthority, "The authority of the revocation list is not valid."),
        (errSecInvalidCRLEncoding, "The encoding of the certificate revocation list is not valid."),
        (errSecInvalidCRLType, "The type of the certificate revocation list is not valid."),
        (errSecInvalidCRL, "The certificate revocation list is not valid."),
        (errSecInvalidFormType, "The type of the form is not valid."),
        (errSecInvalidID, "The ID is not valid."),
        (errSecInvalidIdentifier, "The object identifier is not valid."),
        (errSecInvalidIndex, "The index is not valid."),
        (errSecInvalidPolicyIdentifiers, "The policy identifiers are not valid."),
        (errSecInvalidTimeString, "The text of the time is not valid."),
        (errSecInvalidReason, "The reason is not valid."),
        (errSecInvalidRequestInputs, "The inputs of the request are not valid."),
        (errSecInvalidResponseVector, "The list of responses is not valid."),
        (errSecInvalidStopOnPolicy, "The policy that says when to stop is not valid."),
        (errSecInvalidTuple, "The tuple is not valid."),
        (errSecMultipleValuesUnsupported, "More than one value is not supported here."),
        (errSecNotTrusted, "The trust evaluation ended without trust."),
        (errSecNoDefaultAuthority, "No default authority is set."),
        (errSecRejectedForm, "The form was rejected."),
        (errSecRequestLost, "The request was lost."),
        (errSecRequestRejected, "The request was rejected."),
        (errSecUnsupportedAddressType, "The type of the address is not supported."),
        (errSecUnsupportedService, "The service is not supported."),
        (errSecInvalidTupleGroup, "The group of tuples is not valid."),
        (errSecInvalidBaseACLs, "The base access control lists are not valid."),
        (errSecInvalidTupleCredentials, "The credentials of the tuple are not valid."),
        (errSecInvalidEncoding, "The encoding is not valid."),
        (errSecInvalidValidityPeriod, "The validity period is not valid."),
        (errSecInvalidRequestor, "The requestor is not valid."),
        (errSecRequestDescriptor, "The descriptor of the request is not valid."),
    ]
}

#endif
