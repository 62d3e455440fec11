// StatusCodeSigning: the codes of code signatures and certificate names, with a message for each.

#if !canImport(Darwin)

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

/// The certificate has a qualified statement that is not known.
public let errSecUnknownQualifiedCertStatement: OSStatus = -67656

extension StatusMessages {
    /// A message for each code of this file.
    static let codeSigning: [(OSStatus, String)] = [
        (
            errSecCodeSigningBadCertChainLength,
            "The certificate chain of the code signature has the wrong length."
        ),
        (
            errSecCodeSigningNoBasicConstraints,
            "A certificate of the code signature lacks basic constraints."
        ),
        (
            errSecCodeSigningBadPathLengthConstraint,
            "The path length constraint of a code signing certificate is wrong."
        ),
        (
            errSecCodeSigningNoExtendedKeyUsage,
            "The code signing certificate has no extended key usage."
        ),
        (errSecCodeSigningDevelopment, "The code signing certificate is for development only."),
        (
            errSecResourceSignBadCertChainLength,
            "The certificate chain of a resource signature has the wrong length."
        ),
        (
            errSecResourceSignBadExtKeyUsage,
            "The extended key usage does not allow signing resources."
        ),
        (errSecTrustSettingDeny, "The trust settings deny trust to this certificate."),
        (errSecInvalidSubjectName, "The subject name of the certificate is not valid."),
        (
            errSecUnknownQualifiedCertStatement,
            "The certificate has a qualified statement that is not known."
        ),
    ]
}

#endif
