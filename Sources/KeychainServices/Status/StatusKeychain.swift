// StatusKeychain: the codes of keychains, items and entitlements, with a message for each.

#if !canImport(Darwin)

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

/// No trust result is available.
public let errSecTrustNotAvailable: OSStatus = -25245

/// The format for import or export is not supported.
public let errSecUnsupportedFormat: OSStatus = -25256

/// The data to import has a format that was not recognized.
public let errSecUnknownFormat: OSStatus = -25257

/// The key is sensitive and leaves the keychain only in wrapped form.
public let errSecKeyIsSensitive: OSStatus = -25258

/// More than one private key was found where one was expected.
public let errSecMultiplePrivKeys: OSStatus = -25259

/// A passphrase is needed to import or export this data.
public let errSecPassphraseRequired: OSStatus = -25260

/// The reference to a password is not valid.
public let errSecInvalidPasswordRef: OSStatus = -25261

/// The trust settings record is damaged.
public let errSecInvalidTrustSettings: OSStatus = -25262

/// No trust settings exist for this certificate.
public let errSecNoTrustSettings: OSStatus = -25263

/// The PKCS #12 data failed its integrity check.
public let errSecPkcs12VerifyFailure: OSStatus = -25264

/// The keychain is not available.
public let errSecNotAvailable: OSStatus = -25291

/// The keychain can be read but not changed.
public let errSecReadOnly: OSStatus = -25292

/// Authentication failed.
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

/// An item with the same identifying attributes is in the keychain already.
public let errSecDuplicateItem: OSStatus = -25299

/// No item in the keychain matches the query.
public let errSecItemNotFound: OSStatus = -25300

/// The buffer is too small for the result.
public let errSecBufferTooSmall: OSStatus = -25301

/// The data is too large for an item of this kind.
public let errSecDataTooLarge: OSStatus = -25302

/// An attribute does not belong to items of this class.
public let errSecNoSuchAttr: OSStatus = -25303

/// The item reference is not valid, or its item was deleted.
public let errSecInvalidItemRef: OSStatus = -25304

/// The search reference is not valid.
public let errSecInvalidSearchRef: OSStatus = -25305

/// The item class is unknown.
public let errSecNoSuchClass: OSStatus = -25306

/// No default keychain is set.
public let errSecNoDefaultKeychain: OSStatus = -25307

/// The item is locked or needs the user, and asking is not possible now.
public let errSecInteractionNotAllowed: OSStatus = -25308

/// The attribute can be read but not changed.
public let errSecReadOnlyAttr: OSStatus = -25309

/// The keychain was written by a version of the software that this one does not read.
public let errSecWrongSecVersion: OSStatus = -25310

/// Keys of this size are not allowed.
public let errSecKeySizeNotAllowed: OSStatus = -25311

/// No storage module is available.
public let errSecNoStorageModule: OSStatus = -25312

/// No certificate module is available.
public let errSecNoCertificateModule: OSStatus = -25313

/// No policy module is available.
public let errSecNoPolicyModule: OSStatus = -25314

/// The operation needs the user, but was told not to ask.
public let errSecInteractionRequired: OSStatus = -25315

/// The data of the item is not available.
public let errSecDataNotAvailable: OSStatus = -25316

/// The data of the item cannot be modified.
public let errSecDataNotModifiable: OSStatus = -25317

/// The certificates could not be put together into a chain.
public let errSecCreateChainFailed: OSStatus = -25318

/// The preferences domain is not valid.
public let errSecInvalidPrefsDomain: OSStatus = -25319

/// The user cannot be asked while the display is off.
public let errSecInDarkWake: OSStatus = -25320

/// The certificate did not sign the data or certificate it was checked against.
public let errSecNotSigner: OSStatus = -26267

/// The stored or supplied data could not be decoded.
public let errSecDecode: OSStatus = -26275

/// The process lacks an entitlement for this operation.
public let errSecMissingEntitlement: OSStatus = -34018

/// The process is of a kind that may not use this part of the interface.
public let errSecRestrictedAPI: OSStatus = -34020

// Apple keeps this name to itself, but the code reaches callers.
/// The keychain met a fault of its own.
package let errSecInternal: OSStatus = -26276

extension StatusMessages {
    /// A message for each code of this file.
    static let keychain: [(OSStatus, String)] = [
        (
            errSecACLNotSimple,
            "The access control list is not in the simple form that this call expects."
        ),
        (errSecPolicyNotFound, "The trust policy was not found."),
        (errSecInvalidTrustSetting, "A trust setting is not valid."),
        (errSecNoAccessForItem, "The item has no access control."),
        (
            errSecInvalidOwnerEdit,
            "The owner entry of an access control list cannot be edited in this way."
        ),
        (errSecTrustNotAvailable, "No trust result is available. Evaluate the trust object first."),
        (errSecUnsupportedFormat, "The format for import or export is not supported."),
        (errSecUnknownFormat, "The data to import has a format that was not recognized."),
        (
            errSecKeyIsSensitive,
            "The key is sensitive and leaves the keychain only in wrapped form."
        ),
        (errSecMultiplePrivKeys, "More than one private key was found where one was expected."),
        (
            errSecPassphraseRequired,
            "A passphrase is needed to import or export this data. Pass it with the request."
        ),
        (errSecInvalidPasswordRef, "The reference to a password is not valid."),
        (errSecInvalidTrustSettings, "The trust settings record is damaged."),
        (errSecNoTrustSettings, "No trust settings exist for this certificate."),
        (
            errSecPkcs12VerifyFailure,
            "The PKCS #12 data failed its integrity check. The passphrase may be wrong."
        ),
        (
            errSecNotAvailable,
            "The keychain is not available. Check that its service runs and that its store "
                + "can be opened."
        ),
        (
            errSecReadOnly,
            "The keychain can be read but not changed. Check that its folder can be written."
        ),
        (
            errSecAuthFailed,
            "Authentication failed. Check the passcode or password, then try again."
        ),
        (errSecNoSuchKeychain, "The named keychain does not exist."),
        (errSecInvalidKeychain, "The keychain reference or its file is not valid."),
        (errSecDuplicateKeychain, "A keychain of this name exists already."),
        (errSecDuplicateCallback, "This callback is registered already."),
        (errSecInvalidCallback, "The callback is not valid or was never registered."),
        (
            errSecDuplicateItem,
            "An item with the same identifying attributes is in the keychain already. Update "
                + "that item in place of adding one."
        ),
        (errSecItemNotFound, "No item in the keychain matches the query."),
        (errSecBufferTooSmall, "The buffer is too small for the result."),
        (errSecDataTooLarge, "The data is too large for an item of this kind."),
        (
            errSecNoSuchAttr,
            "An attribute does not belong to items of this class. Remove it, or move it to "
                + "the dictionary it belongs to."
        ),
        (errSecInvalidItemRef, "The item reference is not valid, or its item was deleted."),
        (errSecInvalidSearchRef, "The search reference is not valid."),
        (errSecNoSuchClass, "The item class is unknown."),
        (errSecNoDefaultKeychain, "No default keychain is set."),
        (
            errSecInteractionNotAllowed,
            "The item is locked or needs the user, and asking is not possible now. Keep what "
                + "is stored and try again after unlock."
        ),
        (errSecReadOnlyAttr, "The attribute can be read but not changed."),
        (
            errSecWrongSecVersion,
            "The keychain was written by a version of the software that this one does not read."
        ),
        (errSecKeySizeNotAllowed, "Keys of this size are not allowed."),
        (errSecNoStorageModule, "No storage module is available."),
        (errSecNoCertificateModule, "No certificate module is available."),
        (errSecNoPolicyModule, "No policy module is available."),
        (errSecInteractionRequired, "The operation needs the user, but was told not to ask."),
        (errSecDataNotAvailable, "The data of the item is not available."),
        (errSecDataNotModifiable, "The data of the item cannot be modified."),
        (errSecCreateChainFailed, "The certificates could not be put together into a chain."),
        (errSecInvalidPrefsDomain, "The preferences domain is not valid."),
        (errSecInDarkWake, "The user cannot be asked while the display is off."),
        (
            errSecNotSigner,
            "The certificate did not sign the data or certificate it was checked against."
        ),
        (
            errSecDecode,
            "The stored or supplied data are damaged or of another form. Nothing was deleted."
        ),
        (
            errSecMissingEntitlement,
            "The process lacks an entitlement for this operation. Name only access groups "
                + "that its entitlements list."
        ),
        (
            errSecRestrictedAPI,
            "The process is of a kind that may not use this part of the interface."
        ),
        (errSecInternal, "The keychain met a fault of its own."),
    ]
}

#endif
