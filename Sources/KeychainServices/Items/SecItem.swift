// SecItem: the four functions for keychain items.
//   (1) A call always returns a status. It never traps on its arguments.
//   (2) If the call succeeds, the result pointer's target is written, even if there is nothing to
//       return. If the call fails, it is unchanged.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainRuntime
internal import KeychainEngine
internal import KeychainCore

/// Adds an item to the keychain.
///
/// When this function returns `errSecSuccess`, the item is durable. Otherwise nothing was added,
/// with two exceptions. The outcome is unknown if the connection to a keychain service was lost
/// (`errSecNotAvailable`), or if the change could not be synchronized to the disk (`errSecIO`,
/// `errSecDiskFull`). This function may be called from many threads at once.
///
/// - Parameters:
///   - attributes: `kSecClass`, attributes of the class, `kSecValueData` with the secret (0 or more
///     bytes; an item may also have no secret), and `kSecReturn…` keys. The default of
///     `kSecAttrAccessGroup` is the caller's first group. The default of `kSecAttrAccessible` is
///     `kSecAttrAccessibleWhenUnlocked`, for a certificate `kSecAttrAccessibleAlways`. The keychain
///     sets the creation and modification dates.
///
///     A ``SecKey``, ``SecCertificate`` or ``SecIdentity`` as `kSecValueRef` provides the class,
///     the data and the attributes that the dictionary doesn't contain. An identity is added as a
///     certificate and a key. One of the two may already exist; in an item list, only the
///     certificate may.
///
///     If the dictionary contains `kSecClassKey`, a key type and `kSecAttrTokenIDSecureEnclave` as
///     `kSecAttrTokenID`, but neither data nor `kSecValueRef`, a key is generated in the keychain's
///     hardware, as by ``SecKeyCreateRandomKey(_:_:)``.
///
///     With `kSecUseItemList`, an array of one or more keys, certificates and identities, either
///     all of them are added or none. The class is then optional, and neither data nor
///     `kSecValueRef` is allowed. Each attribute applies to all objects whose class has it.
///   - result: Receives what the `kSecReturn…` keys request, in the same form as
///     ``SecItemCopyMatching(_:_:)`` returns for one item, or `nil` if they request nothing. If
///     only the data is requested and the item has none, receives empty data. For an identity in
///     `kSecValueRef`, the result is the persistent reference if only that is requested, and
///     otherwise `nil`. With an item list, receives an array with one result for each object, in
///     the order of the list. Unchanged after a failure. May be `nil`.
/// - Returns: `errSecSuccess`, or
///   - `errSecDuplicateItem`: an item with the same primary key exists and is unchanged; or two
///     items of the item list have the same primary key;
///   - `errSecInteractionNotAllowed`: the protection class is locked, or the keychain hasn't been
///     unlocked since it was opened (in both cases, retry after unlocking); or an application
///     password is required and the request forbids prompting for one;
///   - `errSecAuthFailed`: the protection class or access control requires a passcode and none is
///     set, or the access control requires an application password and none was provided, or the
///     context is invalid;
///   - `errSecUserCanceled`: the user canceled the prompt for an application password;
///   - `errSecMissingEntitlement`: the caller doesn't have the access group;
///   - `errSecParam`, `errSecNoSuchAttr`, `errSecNoSuchClass`: the dictionary is invalid;
///   - `errSecUnimplemented`: a hardware key was requested, but there is no such hardware or the
///     key's type is not implemented;
///   - `errSecNotAvailable`, `errSecIO`, `errSecDiskFull`, `errSecReadOnly`: the keychain can't be
///     used or changed.
///
/// This function corresponds to that of the same name in Apple's Security framework.
@discardableResult
public func SecItemAdd(
    _ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try RequestDictionary(attributes)
        let items = try request.add()
        guard let result = unsafe result else { return }
        let shape = ItemResult(returns: request.returns, givesEmptyData: true)
        // SAFETY: the caller must pass a pointer that is valid during the call, as `&variable` is.
        unsafe result.pointee = shape.object(for: items, of: request)
    }
}

/// Finds items and returns the requested parts of each.
///
/// With a limit other than one, items are returned in the order in which they were added. The
/// keychain is never changed; in particular, items that can't be read remain.
///
/// Attributes are returned without authentication. For data that is under an access control, the
/// user is prompted, unless the `LAContext` in `kSecUseAuthenticationContext` already satisfies the
/// conditions. `kSecUseAuthenticationUI` can forbid prompting, or omit such items.
///
/// - Parameters:
///   - query: `kSecClass` with attributes that must all be equal (strings and data with the same
///     bytes are equal; comparison is case-sensitive), or `kSecValuePersistentRef` without
///     attributes, or a key, certificate or identity as `kSecValueRef`: certificates match by type,
///     issuer and serial number, keys by class, application label, type and size. Without
///     `kSecAttrSynchronizable` or a persistent reference, only local items are found. Without
///     `kSecAttrAccessGroup`, items of all the caller's groups are found. The default of
///     `kSecMatchLimit` is one.
///
///     Certificates and identities can be filtered with `kSecMatchIssuers`, `kSecMatchPolicy`,
///     `kSecMatchValidOnDate`, `kSecMatchEmailAddressIfPresent` and `kSecMatchTrustedOnly`,
///     internet passwords with `kSecMatchHostOrSubdomainOfHost`. Other `kSecMatch…` keys are
///     ignored, as on iOS.
///   - result: Receives, for each item: data, if only `kSecReturnData` or only
///     `kSecReturnPersistentRef` is set; the key, certificate or identity, if only `kSecReturnRef`
///     is set; a dictionary, if `kSecReturnAttributes` or more than one key is set; `nil`, if
///     nothing is requested, or if only the data or only the object is requested and the item has
///     none. Attributes of the primary key that are not set are included with empty values, except
///     `kSecAttrSyncViewHint` and `kSecAttrTokenID`. With a limit other than one, receives an array
///     of these, without the `nil`s.
///
///     For an identity in `kSecValueRef`, the result is the persistent reference if only that is
///     requested and the limit is one, and otherwise `nil`. Unchanged after a failure. May be
///     `nil`.
/// - Returns: `errSecSuccess`, or
///   - `errSecItemNotFound`: no item matches. The result is never an empty array instead;
///   - `errSecInteractionNotAllowed`: user interaction is required, but is not allowed or not
///     possible; or, before reaching the limit, the search found a locked item that may match. In
///     that case, other matching items are not returned either. Whether the locked item is the
///     wanted one can't be determined, so never delete items because of this error;
///   - `errSecUserCanceled`, `errSecAuthFailed`: the user canceled, or entered a wrong passcode or
///     password, the context is invalid, or no passcode is set;
///   - `errSecDecode`: no item matches, and items that may match are damaged, were set aside as
///     possibly damaged (see `keychainctl restore`), or were lost in a recovery;
///   - `errSecMissingEntitlement`: the caller doesn't have the access group;
///   - `errSecParam`, `errSecNoSuchAttr`, `errSecNoSuchClass`: the dictionary is invalid;
///   - `errSecUnimplemented`: a policy, issuers or a host in a search for a class to which they
///     don't apply; or the persistent reference is to an object on a token;
///   - `errSecDataNotAvailable`: the access control requires the biometric enrollment that existed
///     when the item was created, and it has changed;
///   - `errSecNotAvailable`, `errSecIO`: the keychain can't be used; or, for `errSecNotAvailable`,
///     an access control requires hardware that is not present, or the item belongs to another
///     device.
///
/// This function corresponds to that of the same name in Apple's Security framework.
@discardableResult
public func SecItemCopyMatching(
    _ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try RequestDictionary(query)
        let items = try request.find()
        guard let result = unsafe result else { return }
        let shape = ItemResult(returns: request.returns, givesEmptyData: false)
        // SAFETY: the caller must pass a pointer that is valid during the call, as `&variable` is.
        unsafe result.pointee = shape.object(for: items, of: request)
    }
}

/// Updates all matching items.
///
/// When this function returns `errSecSuccess`, all matching items are changed and durable.
/// Otherwise none is changed, with two exceptions. The outcome is unknown if the connection to a
/// keychain service was lost (`errSecNotAvailable`), or if the change could not be synchronized to
/// the disk (`errSecIO`, `errSecDiskFull`).
///
/// Persistent references are kept, and modification dates advance. Creation dates are kept unless
/// the changes contain `kSecAttrCreationDate`. Programs without entitlements share an access group.
/// If the query of such a program identifies no particular items, because it contains nothing but a
/// class, an access group, a protection class and `kSecAttrSynchronizable`, only the items that
/// were stored by a program of the same name are changed.
///
/// - Parameters:
///   - query: As for ``SecItemCopyMatching(_:_:)``, but without any `kSecMatch…` key and without a
///     `kSecReturn…` key that is true. A persistent reference may be combined with attributes.
///   - attributesToUpdate: Attributes of the class, and `kSecValueData`. The attributes of the
///     primary key, the access group and the protection class can be changed; the class can't. If
///     the dictionary is empty, only the modification date is changed.
/// - Returns: `errSecSuccess`, or
///   - `errSecItemNotFound`: no item matches;
///   - `errSecDuplicateItem`: an item would get the primary key of another item;
///   - `errSecNoSuchAttr`: the class doesn't have an attribute in the query or the changes, or the
///     changes contain another string key that is not `kSecValueData`;
///   - `errSecInteractionNotAllowed`: an item that may match is locked (retry after unlocking); or
///     user interaction is required, under the same conditions as for reading the data, but is not
///     allowed or not possible;
///   - `errSecUserCanceled`, `errSecAuthFailed`: the user canceled, or entered a wrong passcode or
///     password, the context is invalid, or no passcode is set;
///   - `errSecDecode`: the secret of a matching item is damaged, or no item matches and items that
///     may match are damaged;
///   - `errSecMissingEntitlement`: the caller doesn't have the old or the new access group;
///   - `errSecParam`, `errSecNoSuchClass`: one of the dictionaries is invalid;
///   - `errSecUnimplemented`: the persistent reference is to an object on a token;
///   - -26276, an internal error: the persistent reference is to an identity;
///   - `errSecDataNotAvailable`: as for ``SecItemCopyMatching(_:_:)``;
///   - `errSecNotAvailable`, `errSecIO`, `errSecDiskFull`, `errSecReadOnly`: the keychain can't be
///     used or changed. `errSecNotAvailable` can also have the other causes that are listed at
///     ``SecItemCopyMatching(_:_:)``.
///
/// This function corresponds to that of the same name in Apple's Security framework.
@discardableResult
public func SecItemUpdate(
    _ query: CFDictionary, _ attributesToUpdate: CFDictionary
) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try RequestDictionary(query)
        try request.update(attributesToUpdate)
    }
}

/// Deletes all matching items.
///
/// When this function returns `errSecSuccess`, all matching items are deleted. Otherwise none is
/// deleted, with two exceptions. The outcome is unknown if the connection to a keychain service was
/// lost (`errSecNotAvailable`), or if the change could not be synchronized to the disk (`errSecIO`,
/// `errSecDiskFull`).
///
/// Locked items can be deleted after the first unlock if the query selects only local items, by
/// attributes that can be compared without unlocking, such as those of the primary key. An identity
/// is deleted with its key, unless the key belongs to another certificate too; neither the
/// certificate nor the key may be locked. A dictionary that contains only the class deletes all
/// items of the class in the caller's groups, except synchronizable items. Programs without
/// entitlements share an access group. If the query of such a program identifies no particular
/// items, as described at ``SecItemUpdate(_:_:)``, only the items that were stored by a program of
/// the same name are deleted. Which program stored a locked item is not known, so such a deletion
/// fails if it finds a locked item.
///
/// - Parameter query: As for ``SecItemCopyMatching(_:_:)``, but without any `kSecMatch…` key other
///   than `kSecMatchLimit` with the value `kSecMatchLimitAll`. A persistent reference may be
///   combined with attributes.
/// - Returns: `errSecSuccess`, or
///   - `errSecItemNotFound`: no item matches;
///   - `errSecInteractionNotAllowed`: it is not known whether a locked item matches, or a matching
///     item is locked and can't be deleted;
///   - `errSecDecode`: no identity matches, and a certificate or key that may be part of one is
///     damaged;
///   - `errSecMissingEntitlement`: the caller doesn't have the access group;
///   - `errSecParam`, `errSecNoSuchAttr`, `errSecNoSuchClass`: the dictionary is invalid;
///   - `errSecUnimplemented`: the persistent reference is to an object on a token;
///   - `errSecNotAvailable`, `errSecIO`, `errSecDiskFull`, `errSecReadOnly`: the keychain can't be
///     used or changed.
///
/// This function corresponds to that of the same name in Apple's Security framework.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try RequestDictionary(query)
        try request.delete()
    }
}

/// Runs a call and returns the status of its failure, or success.
private func status(_ call: () throws(KeychainFailure) -> Void) -> OSStatus {
    do throws(KeychainFailure) {
        try call()
        return 0
    } catch {
        KeychainContext.recorder?.record(error)
        return error.status.rawValue
    }
}

#endif
