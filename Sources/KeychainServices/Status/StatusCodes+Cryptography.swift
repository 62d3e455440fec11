// StatusCodes+Cryptography: the codes for cryptographic modules, keys and contexts.
//   (1) The documentation of a code is its text in `StatusMessages`. A test compares them.

#if !canImport(Darwin)

// MARK: Modules

/// A function was called before the module was initialized.
public let errSecNotInitialized: OSStatus = -67667
/// The handle is not meant for this use.
public let errSecInvalidHandleUsage: OSStatus = -67668
/// The calling module was not found in the list of authorized callers.
public let errSecPVCReferentNotFound: OSStatus = -67669
/// A function failed its integrity check.
public let errSecFunctionIntegrityFail: OSStatus = -67670
/// An internal error occurred.
public let errSecInternalError: OSStatus = -67671
/// Memory could not be used for the operation.
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
/// The identifying tag is not known.
public let errSecUnknownTag: OSStatus = -67687
/// The signature is not in a valid form.
public let errSecInvalidSignature: OSStatus = -67688
/// The name is not valid.
public let errSecInvalidName: OSStatus = -67689
/// The certificate reference is not valid.
public let errSecInvalidCertificateRef: OSStatus = -67690
/// The group of certificates is not valid.
public let errSecInvalidCertificateGroup: OSStatus = -67691
/// The identifying tag was not found.
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
/// A value that was presented as a credential, such as a passphrase, is not valid.
public let errSecInvalidSampleValue: OSStatus = -67703
/// The versions are not compatible.
public let errSecIncompatibleVersion: OSStatus = -67704
/// The privilege was not granted.
public let errSecPrivilegeNotGranted: OSStatus = -67705
/// The scope is not valid.
public let errSecInvalidScope: OSStatus = -67706
/// The check of calling modules is configured already.
public let errSecPVCAlreadyConfigured: OSStatus = -67707
/// The check of calling modules is not configured correctly.
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
/// No user is logged in to the device or service. Log in first.
public let errSecNotLoggedIn: OSStatus = -67729

// MARK: Keys

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
/// A list of buffers is not supported here. Pass one buffer.
public let errSecUnsupportedVectorOfBuffers: OSStatus = -67743
/// The list of input buffers is not valid.
public let errSecInvalidInputVector: OSStatus = -67744
/// The list of output buffers is not valid.
public let errSecInvalidOutputVector: OSStatus = -67745
/// The cryptographic context is not valid.
public let errSecInvalidContext: OSStatus = -67746
/// The algorithm is not valid.
public let errSecInvalidAlgorithm: OSStatus = -67747

// MARK: Attributes of a context

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

#endif
