// SecItem: the four functions on keychain items.
//   (1) A call is answered with a status and never traps on what it was given.
//   (2) The result pointer is written when the call succeeds, with nil where there is nothing to
//       give, and is left alone when it fails.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainRuntime
internal import KeychainEngine
internal import KeychainCore

/// Adds an item to the keychain.
///
/// The item is durable when this returns `errSecSuccess`; otherwise nothing was added, except
/// perhaps by a keychain service that broke off (`errSecNotAvailable`). Safe to call from many
/// threads at once.
///
/// - Parameters:
///   - attributes: `kSecClass`, attributes of the class, `kSecValueData` with the secret (0 bytes
///     and up; an item may have none), and `kSecReturn…` keys. `kSecAttrAccessGroup` is the
///     caller's first group and `kSecAttrAccessible` is `kSecAttrAccessibleWhenUnlocked` where
///     they are left out, of a certificate `kSecAttrAccessibleAlways`. Creation and modification
///     date are set by the keychain. A ``SecKey``, ``SecCertificate`` or ``SecIdentity`` as
///     `kSecValueRef` stands for class, data and the attributes that are not given. An identity is
///     added as a certificate, which may be there already, and a key. With `kSecAttrTokenID` as
///     `kSecAttrTokenIDSecureEnclave`, class key, type and neither data nor reference, the key is made
///     in the hardware of the keychain, as by ``SecKeyCreateRandomKey(_:_:)``. With
///     `kSecUseItemList`, an array of keys, certificates and identities (1 object and up), all of
///     them are added, or none. The class may be left out then; data and `kSecValueRef` have to be.
///     What attributes say holds for each object whose class has them.
///   - result: Receives what the `kSecReturn…` keys ask for, in the shape that
///     ``SecItemCopyMatching(_:_:)`` gives for one item, or nil where they ask for nothing; of an
///     identity as `kSecValueRef` the persistent reference alone. With an item list, an array with
///     these for each object, in the list's order. Untouched when the call fails. May be nil.
/// - Returns: `errSecSuccess`, or
///   - `errSecDuplicateItem`: an item with the same primary key exists and is unchanged; or an
///     item list has two of the same primary key;
///   - `errSecInteractionNotAllowed`: the protection class is locked, try again after unlock; or
///     an application password is missing and the request forbids to ask for one;
///   - `errSecAuthFailed`: the protection class or the access control needs a passcode and there
///     is none, or an application password and none is given;
///   - `errSecUserCanceled`: the person declined to enter an application password;
///   - `errSecMissingEntitlement`: the access group is not the caller's;
///   - `errSecParam`, `errSecNoSuchAttr`, `errSecNoSuchClass`: the dictionary is wrong;
///   - `errSecUnimplemented`: it asks for a key in hardware, and there is none;
///   - `errSecNotAvailable`, `errSecIO`, `errSecDiskFull`: the keychain can't be used.
///
/// The corresponding function of Apple's Security framework has the same name.
@discardableResult
public func SecItemAdd(
    _ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try RequestDictionary(attributes)
        let items = try request.add()
        guard let result = unsafe result else { return }
        let shape = ItemResult(returns: request.returns, givesEmptyData: true)
        // SAFETY: the caller's pointer is valid for the call, as its type promises.
        unsafe result.pointee = shape.object(for: items, of: request)
    }
}

/// Finds items and gives back what is asked for of each.
///
/// With a limit other than one, items come in the order in which they were added. Nothing in the
/// keychain changes: an item that can't be read stays.
///
/// Attributes are given without asking a person. For data that are under an access control the
/// person is asked, unless the `LAContext` in `kSecUseAuthenticationContext` knows enough;
/// `kSecUseAuthenticationUI` forbids it, or has such items left out.
///
/// - Parameters:
///   - query: `kSecClass` with attributes that all have to be equal (text and data of the same
///     bytes are; case counts), or `kSecValuePersistentRef` without attributes, or a key,
///     certificate or identity as `kSecValueRef`, which stands for its primary key. Without
///     `kSecAttrSynchronizable` only local items are found, without `kSecAttrAccessGroup` those
///     of all groups of the caller. `kSecMatchLimit` is one unless given. Certificates and
///     identities can be chosen by `kSecMatchIssuers`, `kSecMatchPolicy`, `kSecMatchValidOnDate`,
///     `kSecMatchEmailAddressIfPresent` and `kSecMatchTrustedOnly`, internet passwords by
///     `kSecMatchHostOrSubdomainOfHost`; other `kSecMatch…` keys are ignored, as on iOS.
///   - result: Receives, for each item, data for `kSecReturnData` or `kSecReturnPersistentRef`
///     alone, the key, certificate or identity for `kSecReturnRef` alone, and a dictionary for
///     `kSecReturnAttributes` or any two of the keys; nil where nothing is asked for, the item has
///     no data, or nothing stands for it. Among the attributes are those of the primary key that the
///     item was added without, as empty values. An array of these if the limit is not one. Of an
///     identity that is named by `kSecValueRef`, the persistent reference is given where it alone is
///     asked for, with a limit of one, and else nil. Untouched when the call fails. May be nil.
/// - Returns: `errSecSuccess`, or
///   - `errSecItemNotFound`: no item matches; there is never an empty array for that;
///   - `errSecInteractionNotAllowed`: a matching item is locked, also where other items are not;
///     this says nothing about whether it is the right one, so never delete because of it;
///     or a person would have to be asked, who may not or can't be;
///   - `errSecUserCanceled`, `errSecAuthFailed`: the person declined, or what was entered is wrong,
///     the context is invalid, or there is no passcode to enter;
///   - `errSecDecode`: the items that could match are damaged, and no other matches;
///   - `errSecMissingEntitlement`: the access group is not the caller's;
///   - `errSecParam`, `errSecNoSuchAttr`, `errSecNoSuchClass`: the dictionary is wrong;
///   - `errSecUnimplemented`: a policy, issuers or a host in a search for another class;
///   - `errSecNotAvailable`, `errSecIO`: the keychain can't be used; or `errSecNotAvailable`: an
///     access control asks for hardware that isn't there.
///
/// The corresponding function of Apple's Security framework has the same name.
@discardableResult
public func SecItemCopyMatching(
    _ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try RequestDictionary(query)
        let items = try request.find()
        guard let result = unsafe result else { return }
        let shape = ItemResult(returns: request.returns, givesEmptyData: false)
        // SAFETY: the caller's pointer is valid for the call, as its type promises.
        unsafe result.pointee = shape.object(for: items, of: request)
    }
}

/// Changes all items that match.
///
/// All of them are changed and durable when this returns `errSecSuccess`; otherwise none is, except
/// perhaps by a keychain service that broke off (`errSecNotAvailable`).
/// Persistent references and creation dates stay, modification dates become later. By class alone, a
/// program without entitlements, which shares its group, changes what a program of the same name stored.
///
/// - Parameters:
///   - query: As for ``SecItemCopyMatching(_:_:)``, without any `kSecMatch…` key and without a
///     `kSecReturn…` key that is true. A persistent reference may stand beside attributes.
///   - attributesToUpdate: Attributes of the class and `kSecValueData`. Attributes of the primary
///     key, the access group and the protection class may change; the class may not. Empty: the
///     modification date alone changes.
/// - Returns: `errSecSuccess`, or
///   - `errSecItemNotFound`: no item matches;
///   - `errSecDuplicateItem`: an item would get the primary key of another;
///   - `errSecNoSuchAttr`: a change is to something that is no attribute of the class;
///   - `errSecInteractionNotAllowed`: a matching item is locked, try again after unlock; or
///     a person would have to be asked, as for its data, who may not or can't be;
///   - `errSecUserCanceled`, `errSecAuthFailed`: the person declined, or what was entered is wrong,
///     the context is invalid, or there is no passcode to enter;
///   - `errSecDecode`: a matching item is damaged;
///   - `errSecMissingEntitlement`: the old or the new access group is not the caller's;
///   - `errSecParam`, `errSecNoSuchClass`: one of the dictionaries is wrong;
///   - `errSecNotAvailable`, `errSecIO`, `errSecDiskFull`: the keychain can't be used.
///
/// The corresponding function of Apple's Security framework has the same name.
@discardableResult
public func SecItemUpdate(
    _ query: CFDictionary, _ attributesToUpdate: CFDictionary
) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try RequestDictionary(query)
        try request.update(attributesToUpdate)
    }
}

/// Deletes all items that match.
///
/// All of them are gone when this returns `errSecSuccess`; otherwise all are there, except perhaps
/// after a keychain service broke off (`errSecNotAvailable`). A
/// locked item can be deleted. An identity goes with its key, unless the key has another
/// certificate. A dictionary with the class alone empties the class for the
/// caller's groups, but for synchronizable items. Of a program without entitlements, which shares its
/// group, it deletes what a program of the same name stored. Which program stored a locked item
/// can't be told, so with one in the class the call fails.
///
/// - Parameter query: As for ``SecItemCopyMatching(_:_:)``, without any `kSecMatch…` key other
///   than `kSecMatchLimit` with the value `kSecMatchLimitAll`. A persistent reference may stand beside
///   attributes.
/// - Returns: `errSecSuccess`, or
///   - `errSecItemNotFound`: no item matches;
///   - `errSecInteractionNotAllowed`: whether a locked item matches can't be told;
///   - `errSecMissingEntitlement`: the access group is not the caller's;
///   - `errSecParam`, `errSecNoSuchAttr`, `errSecNoSuchClass`: the dictionary is wrong;
///   - `errSecNotAvailable`, `errSecIO`: the keychain can't be used.
///
/// The corresponding function of Apple's Security framework has the same name.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try RequestDictionary(query)
        try request.delete()
    }
}

/// The status of a call: that of the failure it ends with, or success.
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
