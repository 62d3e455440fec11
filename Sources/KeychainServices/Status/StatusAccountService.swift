// StatusAccountService: the codes of the account service that Apple once ran. Nothing here returns
// them, with a message for each.

#if !canImport(Darwin)

/// The request to the account service was queued and will be answered later.
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

extension StatusMessages {
    /// A message for each code of this file.
    static let accountService: [(OSStatus, String)] = [
        (
            errSecMobileMeRequestQueued,
            "The request to the account service was queued and will be answered later."
        ),
        (errSecMobileMeRequestRedirected, "The account service redirected the request."),
        (errSecMobileMeServerError, "The server of the account service reported an error."),
        (errSecMobileMeServerNotAvailable, "The server of the account service is not available."),
        (errSecMobileMeServerAlreadyExists, "The account service holds this entry already."),
        (errSecMobileMeServerServiceErr, "The account service could not carry out the request."),
        (
            errSecMobileMeRequestAlreadyPending,
            "A request to the account service is pending already."
        ),
        (errSecMobileMeNoRequestPending, "No request to the account service is pending."),
        (
            errSecMobileMeCSRVerifyFailure,
            "The account service could not verify the certificate request."
        ),
        (
            errSecMobileMeFailedConsistencyCheck,
            "The account service found the request inconsistent."
        ),
    ]
}

#endif
