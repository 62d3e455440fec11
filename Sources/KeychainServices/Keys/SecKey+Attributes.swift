// SecKey+Attributes: what a key says about itself, as attributes of an item and as a dictionary;
// and the way back from an item.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
package import KeychainAsymmetricKeys
package import KeychainCore

extension SecKey {
    /// The attributes of an item with this key: what its numbers say, with what was given for it.
    package var itemAttributes: Attributes {
        numberAttributes.merging(givenAttributes) { _, given in given }
            .merging(secureEnclaveKey?.attributes ?? [:]) { _, fixed in fixed }
    }

    /// What follows from class and numbers.
    private var numberAttributes: Attributes {
        var attributes = Attributes.ofKey(
            type: shape.kind.keyType, sizeInBits: shape.sizeInBits, isPrivate: isPrivate,
            isRSA: shape.kind == .rsa,
            agrees: shape.kind == .elliptic || shape.kind == .x25519)
        attributes[.applicationLabel] = .data(publicKeyHash)
        return attributes
    }

    /// The key in an item of the class for keys, with its data.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - keychain: The keychain it is in, which uses the keys of its hardware.
    /// - Throws: `param` where the data are no key of the item's type and class; `unimplemented`
    ///   for symmetric keys and algorithms that are not built; `decode` where the item is of
    ///   hardware and the data aren't.
    package convenience init(
        _ item: ItemSnapshot, in keychain: KeychainConnection
    ) throws(KeychainFailure) {
        guard let data = item.data else { throw .param("The item has no key data.") }
        if item.attributes.nameSecureEnclave {
            let key = try SecureEnclavePrivateKey(blob: data, in: keychain)
            self.init(.secureEnclave(key), attributes: item.attributes)
            return
        }
        let parsed = try KeyType(item.attributes[.type])
        let keyClass = try KeyClass(item.attributes[.keyClass])
        let material = try Material(data, type: parsed, class: keyClass)
        self.init(material, attributes: item.attributes)
    }
}

extension KeyKind {
    /// The number of the key type: the value of a `kSecAttrKeyType…` constant.
    package var keyType: Int64 {
        switch self {
        case .rsa: 42
        case .elliptic: Attributes.ellipticKeyType
        case .ed25519: 105
        case .x25519: 106
        }
    }
}

/// Returns what a key says about itself.
///
/// - Parameter key: The key.
/// - Returns: A dictionary of `kSecAttr…` keys. Class and type are the strings of the
///   `kSecAttrKeyClass…` and `kSecAttrKeyType…` constants, sizes are numbers, uses are booleans, and
///   `kSecAttrApplicationLabel` is the SHA-1 of the public key unless the caller chose another. A
///   key that was created with attributes, or found in the keychain, has those too, and a key in
///   hardware its `kSecAttrAccessControl`. Never nil.
///
/// It corresponds to the function of the same name. Apple's dictionary also holds the key's bytes:
/// for those of a private key call ``SecKeyCopyExternalRepresentation(_:_:)``.
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
    var entries: [String: Any] = [kSecClass as String: kSecClassKey]
    for (attribute, value) in key.itemAttributes {
        switch (attribute, value) {
        case (.keyClass, .number(let number)), (.type, .number(let number)):
            entries[attribute.name] = String(number)
        case (_, .number(let number)) where Attribute.keyFlags.contains(attribute):
            entries[attribute.name] = number != 0
        default:
            entries[attribute.name] = value.object
        }
    }
    if let control = key.secureEnclaveKey?.accessControl {
        entries[kSecAttrAccessControl as String] = control
    }
    if !key.isPrivate { entries[kSecValueData as String] = key.externalData }
    return entries as NSDictionary
}

extension Attribute {
    /// The attributes of keys that are true or false.
    static let keyFlags: Set<Attribute> = [
        .isPermanent, .isPrivate, .isModifiable, .isSensitive, .wasAlwaysSensitive,
        .isExtractable, .wasNeverExtractable, .canEncrypt, .canDecrypt, .canDerive, .canSign,
        .canVerify, .canSignRecover, .canVerifyRecover, .canWrap, .canUnwrap,
    ]
}

#endif
