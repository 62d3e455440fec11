// StatusModules: the codes of modules, handles and values, with a message for each.

#if !canImport(Darwin)

/// A function was called before the module was initialized.
public let errSecNotInitialized: OSStatus = -67667

/// The handle is not meant for this use.
public let errSecInvalidHandleUsage: OSStatus = -67668

/// The pointer to check refers to nothing that is known.
public let errSecPVCReferentNotFound: OSStatus = -67669

/// A function failed its integrity check.
public let errSecFunctionIntegrityFail: OSStatus = -67670

/// An internal error occurred.
public let errSecInternalError: OSStatus = -67671

/// Memory could not be used as the operation needed it.
public let errSecMemoryError: OSStatus = -67672

/// The data is not valid.
public let errSecInvalidData: OSStatus = -67673

/// The directory of modules reported an error.
public let errSecMDSError: OSStatus = -67674

/// A pointer is not valid.
public let errSecInvalidPointer: OSStatus = -67675

/// The self-check of a module failed.
public let errSecSelfCheckFailed: OSStatus = -67676

/// The function failed without a more precise reason.
public let errSecFunctionFailed: OSStatus = -67677

/// The manifest of a module could not be verified.
public let errSecModuleManifestVerifyFailed: OSStatus = -67678

/// The unique identifier of a module is not valid.
public let errSecInvalidGUID: OSStatus = -67679

/// The handle is not valid.
public let errSecInvalidHandle: OSStatus = -67680

/// The list of databases is not valid.
public let errSecInvalidDBList: OSStatus = -67681

/// The identifier of the pass-through operation is not valid.
public let errSecInvalidPassthroughID: OSStatus = -67682

/// The network address is not valid.
public let errSecInvalidNetworkAddress: OSStatus = -67683

/// The certificate revocation list is signed already.
public let errSecCRLAlreadySigned: OSStatus = -67684

/// The number of fields is not valid.
public let errSecInvalidNumberOfFields: OSStatus = -67685

/// The verification failed.
public let errSecVerificationFailure: OSStatus = -67686

/// The tag is not known.
public let errSecUnknownTag: OSStatus = -67687

/// The signature is not in a valid form.
public let errSecInvalidSignature: OSStatus = -67688

/// The name is not valid.
public let errSecInvalidName: OSStatus = -67689

/// The certificate reference is not valid.
public let errSecInvalidCertificateRef: OSStatus = -67690

/// The group of certificates is not valid.
public let errSecInvalidCertificateGroup: OSStatus = -67691

/// The tag was not found.
public let errSecTagNotFound: OSStatus = -67692

/// The query is not valid.
public let errSecInvalidQuery: OSStatus = -67693

/// A value is not valid.
public let errSecInvalidValue: OSStatus = -67694

/// A callback function failed.
public let errSecCallbackFailed: OSStatus = -67695

/// An entry could not be deleted from the access control list.
public let errSecACLDeleteFailed: OSStatus = -67696

/// An entry of the access control list could not be replaced.
public let errSecACLReplaceFailed: OSStatus = -67697

/// An entry could not be added to the access control list.
public let errSecACLAddFailed: OSStatus = -67698

/// The access control list could not be changed.
public let errSecACLChangeFailed: OSStatus = -67699

/// The credentials for access are not valid.
public let errSecInvalidAccessCredentials: OSStatus = -67700

/// The record is not valid.
public let errSecInvalidRecord: OSStatus = -67701

/// The access control list is not valid.
public let errSecInvalidACL: OSStatus = -67702

/// A sample among the credentials is not valid.
public let errSecInvalidSampleValue: OSStatus = -67703

/// The versions are not compatible.
public let errSecIncompatibleVersion: OSStatus = -67704

/// The privilege was not granted.
public let errSecPrivilegeNotGranted: OSStatus = -67705

/// The scope is not valid.
public let errSecInvalidScope: OSStatus = -67706

/// Pointer checking is configured already.
public let errSecPVCAlreadyConfigured: OSStatus = -67707

/// The configuration of pointer checking is not valid.
public let errSecInvalidPVC: OSStatus = -67708

/// The elective module manager could not be loaded.
public let errSecEMMLoadFailed: OSStatus = -67709

/// The elective module manager could not be unloaded.
public let errSecEMMUnloadFailed: OSStatus = -67710

/// The add-in module could not be loaded.
public let errSecAddinLoadFailed: OSStatus = -67711

/// The key reference is not valid.
public let errSecInvalidKeyRef: OSStatus = -67712

/// The key hierarchy is not valid.
public let errSecInvalidKeyHierarchy: OSStatus = -67713

/// The add-in module could not be unloaded.
public let errSecAddinUnloadFailed: OSStatus = -67714

/// The reference to a library was not found.
public let errSecLibraryReferenceNotFound: OSStatus = -67715

/// The function table of the add-in module is not valid.
public let errSecInvalidAddinFunctionTable: OSStatus = -67716

/// The mask of services is not valid.
public let errSecInvalidServiceMask: OSStatus = -67717

/// The module is not loaded.
public let errSecModuleNotLoaded: OSStatus = -67718

/// The identifier of the sub-service is not valid.
public let errSecInvalidSubServiceID: OSStatus = -67719

/// The attribute is not part of the context.
public let errSecAttributeNotInContext: OSStatus = -67720

/// The module manager could not be initialized.
public let errSecModuleManagerInitializeFailed: OSStatus = -67721

/// The module manager was not found.
public let errSecModuleManagerNotFound: OSStatus = -67722

/// The callback for event notification was not found.
public let errSecEventNotificationCallbackNotFound: OSStatus = -67723

/// The input has the wrong length.
public let errSecInputLengthError: OSStatus = -67724

/// The output has the wrong length.
public let errSecOutputLengthError: OSStatus = -67725

/// The privilege is not supported.
public let errSecPrivilegeNotSupported: OSStatus = -67726

/// The cryptographic device reported an error.
public let errSecDeviceError: OSStatus = -67727

/// The attached module is busy.
public let errSecAttachHandleBusy: OSStatus = -67728

/// No user is logged in to the device or service.
public let errSecNotLoggedIn: OSStatus = -67729

extension StatusMessages {
    /// A message for each code of this file.
    static let modules: [(OSStatus, String)] = [
        (errSecNotInitialized, "A function was called before the module was initialized."),
        (errSecInvalidHandleUsage, "The handle is not meant for this use."),
        (errSecPVCReferentNotFound, "The pointer to check refers to nothing that is known."),
        (errSecFunctionIntegrityFail, "A function failed its integrity check."),
        (errSecInternalError, "An internal error occurred."),
        (errSecMemoryError, "Memory could not be used as the operation needed it."),
        (errSecInvalidData, "The data is not valid."),
        (errSecMDSError, "The directory of modules reported an error."),
        (errSecInvalidPointer, "A pointer is not valid."),
        (errSecSelfCheckFailed, "The self-check of a module failed."),
        (errSecFunctionFailed, "The function failed without a more precise reason."),
        (errSecModuleManifestVerifyFailed, "The manifest of a module could not be verified."),
        (errSecInvalidGUID, "The unique identifier of a module is not valid."),
        (errSecInvalidHandle, "The handle is not valid."),
        (errSecInvalidDBList, "The list of databases is not valid."),
        (errSecInvalidPassthroughID, "The identifier of the pass-through operation is not valid."),
        (errSecInvalidNetworkAddress, "The network address is not valid."),
        (errSecCRLAlreadySigned, "The certificate revocation list is signed already."),
        (errSecInvalidNumberOfFields, "The number of fields is not valid."),
        (errSecVerificationFailure, "The verification failed."),
        (errSecUnknownTag, "The tag is not known."),
        (errSecInvalidSignature, "The signature is not in a valid form."),
        (errSecInvalidName, "The name is not valid."),
        (errSecInvalidCertificateRef, "The certificate reference is not valid."),
        (errSecInvalidCertificateGroup, "The group of certificates is not valid."),
        (errSecTagNotFound, "The tag was not found."),
        (errSecInvalidQuery, "The query is not valid."),
        (errSecInvalidValue, "A value is not valid."),
        (errSecCallbackFailed, "A callback function failed."),
        (errSecACLDeleteFailed, "An entry could not be deleted from the access control list."),
        (errSecACLReplaceFailed, "An entry of the access control list could not be replaced."),
        (errSecACLAddFailed, "An entry could not be added to the access control list."),
        (errSecACLChangeFailed, "The access control list could not be changed."),
        (errSecInvalidAccessCredentials, "The credentials for access are not valid."),
        (errSecInvalidRecord, "The record is not valid."),
        (errSecInvalidACL, "The access control list is not valid."),
        (errSecInvalidSampleValue, "A sample among the credentials is not valid."),
        (errSecIncompatibleVersion, "The versions are not compatible."),
        (errSecPrivilegeNotGranted, "The privilege was not granted."),
        (errSecInvalidScope, "The scope is not valid."),
        (errSecPVCAlreadyConfigured, "Pointer checking is configured already."),
        (errSecInvalidPVC, "The configuration of pointer checking is not valid."),
        (errSecEMMLoadFailed, "The elective module manager could not be loaded."),
        (errSecEMMUnloadFailed, "The elective module manager could not be unloaded."),
        (errSecAddinLoadFailed, "The add-in module could not be loaded."),
        (errSecInvalidKeyRef, "The key reference is not valid."),
        (errSecInvalidKeyHierarchy, "The key hierarchy is not valid."),
        (errSecAddinUnloadFailed, "The add-in module could not be unloaded."),
        (errSecLibraryReferenceNotFound, "The reference to a library was not found."),
        (errSecInvalidAddinFunctionTable, "The function table of the add-in module is not valid."),
        (errSecInvalidServiceMask, "The mask of services is not valid."),
        (errSecModuleNotLoaded, "The module is not loaded."),
        (errSecInvalidSubServiceID, "The identifier of the sub-service is not valid."),
        (errSecAttributeNotInContext, "The attribute is not part of the context."),
        (errSecModuleManagerInitializeFailed, "The module manager could not be initialized."),
        (errSecModuleManagerNotFound, "The module manager was not found."),
        (
            errSecEventNotificationCallbackNotFound,
            "The callback for event notification was not found."
        ),
        (errSecInputLengthError, "The input has the wrong length."),
        (errSecOutputLengthError, "The output has the wrong length."),
        (errSecPrivilegeNotSupported, "The privilege is not supported."),
        (errSecDeviceError, "The cryptographic device reported an error."),
        (errSecAttachHandleBusy, "The attached module is busy."),
        (errSecNotLoggedIn, "No user is logged in to the device or service. Log in first."),
    ]
}

#endif
