// StatusCodes+Keychain: the codes for keychains and their items, for devices, databases and
// requests.
//   (1) The documentation of a code is its text in `StatusMessages`. A test compares them.

#if !canImport(Darwin)

// MARK: Codes shared with the rest of the system

/// The operation succeeded.
public let errSecSuccess: OSStatus = 0
/// This function or option is not implemented here.
public let errSecUnimplemented: OSStatus = -4
/// The disk is full. Free some space, then try again.
public let errSecDiskFull: OSStatus = -34
/// Reading or writing a file failed. Check the system's log for disk errors.
public let errSecIO: OSStatus = -36
/// The file is already open for writing.
public let errSecOpWr: OSStatus = -49
/// A parameter is missing or not valid. Check the keys and the types of the values that were
/// passed.
public let errSecParam: OSStatus = -50
/// The permissions of the file do not allow writing.
public let errSecWrPerm: OSStatus = -61
/// There is not enough memory. Try again when more memory is free.
public let errSecAllocate: OSStatus = -108
/// The user canceled the operation. Ask again only when the user starts the action again.
public let errSecUserCanceled: OSStatus = -128
/// The request is malformed or not allowed in the present state.
public let errSecBadReq: OSStatus = -909
/// A component inside the keychain implementation failed.
public let errSecInternalComponent: OSStatus = -2070
/// Core Foundation reported an error without a more precise code.
public let errSecCoreFoundationUnknown: OSStatus = -4960

// MARK: Keychains, items, entitlements

/// The access control list is not in the simple form that this call expects.
public let errSecACLNotSimple: OSStatus = -25240
/// The trust policy was not found.
public let errSecPolicyNotFound: OSStatus = -25241
/// A trust setting is not valid.
public let errSecInvalidTrustSetting: OSStatus = -25242
/// The item has no access control.
public let errSecNoAccessForItem: OSStatus = -25243
/// The owner entry of an access control list cannot be edited in this way.
public let errSecInvalidOwnerEdit: OSStatus = -25244
/// No trust result is available. Evaluate the trust object first.
public let errSecTrustNotAvailable: OSStatus = -25245
/// The format for import or export is not supported.
public let errSecUnsupportedFormat: OSStatus = -25256
/// The data to import has a format that was not recognized.
public let errSecUnknownFormat: OSStatus = -25257
/// The key is sensitive and leaves the keychain only in wrapped form.
public let errSecKeyIsSensitive: OSStatus = -25258
/// More than one private key was found where one was expected.
public let errSecMultiplePrivKeys: OSStatus = -25259
/// A passphrase is needed to import or export this data. Pass it with the request.
public let errSecPassphraseRequired: OSStatus = -25260
/// The reference to a password is not valid.
public let errSecInvalidPasswordRef: OSStatus = -25261
/// The trust settings record is damaged.
public let errSecInvalidTrustSettings: OSStatus = -25262
/// No trust settings exist for this certificate.
public let errSecNoTrustSettings: OSStatus = -25263
/// The PKCS #12 data failed its integrity check. The passphrase may be wrong.
public let errSecPkcs12VerifyFailure: OSStatus = -25264
/// The keychain is not available. Check that its service runs and that its store can be opened.
public let errSecNotAvailable: OSStatus = -25291
/// The keychain can be read but not changed. Check that its folder can be written.
public let errSecReadOnly: OSStatus = -25292
/// Authentication failed. Check the passcode or password, then try again.
public let errSecAuthFailed: OSStatus = -25293
/// The named keychain does not exist.
public let errSecNoSuchKeychain: OSStatus = -25294
/// The keychain reference or its file is not valid.
public let errSecInvalidKeychain: OSStatus = -25295
/// A keychain of this name exists already.
public let errSecDuplicateKeychain: OSStatus = -25296
/// This callback is registered already.
public let errSecDuplicateCallback: OSStatus = -25297
/// The callback is not valid or was never registered.
public let errSecInvalidCallback: OSStatus = -25298
/// An item with the same primary key already exists. Update that item instead of adding one.
public let errSecDuplicateItem: OSStatus = -25299
/// No item in the keychain matches the query.
public let errSecItemNotFound: OSStatus = -25300
/// The buffer is too small for the result.
public let errSecBufferTooSmall: OSStatus = -25301
/// The data is too large for an item of this kind.
public let errSecDataTooLarge: OSStatus = -25302
/// An attribute does not belong to items of this class. Remove it, or move it to the dictionary
/// it belongs to.
public let errSecNoSuchAttr: OSStatus = -25303
/// The item reference is not valid, or its item was deleted.
public let errSecInvalidItemRef: OSStatus = -25304
/// The search reference is not valid.
public let errSecInvalidSearchRef: OSStatus = -25305
/// The item class is unknown.
public let errSecNoSuchClass: OSStatus = -25306
/// No default keychain is set.
public let errSecNoDefaultKeychain: OSStatus = -25307
/// The item is locked or requires the user, who cannot be asked now. Keep the item, and try again
/// after the keychain is unlocked.
public let errSecInteractionNotAllowed: OSStatus = -25308
/// The attribute can be read but not changed.
public let errSecReadOnlyAttr: OSStatus = -25309
/// The keychain or its service has a version that this software does not support.
public let errSecWrongSecVersion: OSStatus = -25310
/// Keys of this size are not allowed.
public let errSecKeySizeNotAllowed: OSStatus = -25311
/// No storage module is available.
public let errSecNoStorageModule: OSStatus = -25312
/// No certificate module is available.
public let errSecNoCertificateModule: OSStatus = -25313
/// No policy module is available.
public let errSecNoPolicyModule: OSStatus = -25314
/// The operation requires the user, but prompting is forbidden.
public let errSecInteractionRequired: OSStatus = -25315
/// The data of the item is not available.
public let errSecDataNotAvailable: OSStatus = -25316
/// The data of the item cannot be modified.
public let errSecDataNotModifiable: OSStatus = -25317
/// The certificates do not form a chain.
public let errSecCreateChainFailed: OSStatus = -25318
/// The preferences domain is not valid.
public let errSecInvalidPrefsDomain: OSStatus = -25319
/// The user cannot be asked while the display is off.
public let errSecInDarkWake: OSStatus = -25320
/// The data or certificate was not signed with the key of this certificate.
public let errSecNotSigner: OSStatus = -26267
/// The stored or supplied data is damaged or has another format. Nothing was deleted.
public let errSecDecode: OSStatus = -26275
/// The process lacks an entitlement for this operation. Name only access groups that are listed in
/// its entitlements.
public let errSecMissingEntitlement: OSStatus = -34018
/// This kind of process may not use this part of the interface.
public let errSecRestrictedAPI: OSStatus = -34020
/// An internal error occurred in the keychain.
package let errSecInternal: OSStatus = -26276

// MARK: Devices and their use

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
/// The signature of the code differs from the recorded signature.
public let errSecAppleSignatureMismatch: OSStatus = -67591
/// The start date of the key is not valid.
public let errSecAppleInvalidKeyStartDate: OSStatus = -67592
/// The end date of the key is not valid.
public let errSecAppleInvalidKeyEndDate: OSStatus = -67593
/// A value could not be converted.
public let errSecConversionError: OSStatus = -67594
/// The connection was downgraded to an older protocol version, although both sides support a newer
/// one.
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

// MARK: Databases

/// The bundle information is not valid.
public let errSecInvalidBundleInfo: OSStatus = -67857
/// The index into the certificate revocation list is not valid.
public let errSecInvalidCRLIndex: OSStatus = -67858
/// No values of the field were found.
public let errSecNoFieldValues: OSStatus = -67859
/// The format of the field is not supported.
public let errSecUnsupportedFieldFormat: OSStatus = -67860
/// The index information is not supported.
public let errSecUnsupportedIndexInfo: OSStatus = -67861
/// The locality is not supported.
public let errSecUnsupportedLocality: OSStatus = -67862
/// This number of attributes is not supported.
public let errSecUnsupportedNumAttributes: OSStatus = -67863
/// This number of indexes is not supported.
public let errSecUnsupportedNumIndexes: OSStatus = -67864
/// This number of record types is not supported.
public let errSecUnsupportedNumRecordTypes: OSStatus = -67865
/// A field was given more than once.
public let errSecFieldSpecifiedMultiple: OSStatus = -67866
/// The format of the field is not compatible.
public let errSecIncompatibleFieldFormat: OSStatus = -67867
/// The parsing module is not valid.
public let errSecInvalidParsingModule: OSStatus = -67868
/// The database is locked. Unlock it, then try again.
public let errSecDatabaseLocked: OSStatus = -67869
/// The data store is open. Close it first.
public let errSecDatastoreIsOpen: OSStatus = -67870
/// A value is missing.
public let errSecMissingValue: OSStatus = -67871
/// The limits of the query are not supported.
public let errSecUnsupportedQueryLimits: OSStatus = -67872
/// This number of conditions in a query is not supported.
public let errSecUnsupportedNumSelectionPreds: OSStatus = -67873
/// The operator is not supported.
public let errSecUnsupportedOperator: OSStatus = -67874
/// The location of the database is not valid.
public let errSecInvalidDBLocation: OSStatus = -67875
/// The access request is not valid.
public let errSecInvalidAccessRequest: OSStatus = -67876
/// The index information is not valid.
public let errSecInvalidIndexInfo: OSStatus = -67877
/// The new owner is not valid.
public let errSecInvalidNewOwner: OSStatus = -67878
/// The mode of modification is not valid.
public let errSecInvalidModifyMode: OSStatus = -67879

// MARK: Requests

/// An operation in several steps is in progress already.
public let errSecStagedOperationInProgress: OSStatus = -67806
/// An operation in several steps was continued before it was started.
public let errSecStagedOperationNotStarted: OSStatus = -67807
/// The signature does not belong to this data and key.
public let errSecVerifyFailed: OSStatus = -67808
/// The size of the result cannot be determined in advance.
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
/// The policy that determines when to stop is not valid.
public let errSecInvalidStopOnPolicy: OSStatus = -67840
/// The tuple is not valid.
public let errSecInvalidTuple: OSStatus = -67841
/// More than one value is not supported here.
public let errSecMultipleValuesUnsupported: OSStatus = -67842
/// The certificate is not trusted.
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

#endif
