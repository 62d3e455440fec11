// SecKey: an asymmetric key as Apple's functions pass it around; what it says about itself, as
// attributes of an item and as a dictionary; its bytes, its public half and its size.
//   (1) It never changes. Two keys are equal when their class, type and numbers are; attributes
//       don't count.
//   (2) No description holds anything of a private key.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
package import KeychainAsymmetricKeys
package import KeychainAuthentication
package import KeychainCore

/// A private or public key.
///
/// Make one with ``SecKeyCreateRandomKey(_:_:)`` or ``SecKeyCreateWithData(_:_:_:)``, or have it
/// from the keychain with `kSecReturnRef`. It may be used from many threads at once. It corresponds
/// to `SecKeyRef`; equality is by content.
public final class SecKey: NSObject, Sendable {
    /// The numbers, or where they are.
    package enum Material: Sendable {
        case privateKey(AsymmetricPrivateKey)
        case publicKey(AsymmetricPublicKey)
        /// A private key that never leaves its hardware.
        case secureEnclave(SecureEnclavePrivateKey)
    }

    package let material: Material

    /// What was said about the key beside its numbers: by the parameters that created it, or by
    /// the item it comes from. It wins over what the numbers say.
    package let givenAttributes: Attributes

    package init(_ material: Material, attributes: Attributes = [:]) {
        self.material = material
        self.givenAttributes = attributes
    }

    package var isPrivate: Bool {
        switch material {
        case .privateKey, .secureEnclave: true
        case .publicKey: false
        }
    }

    /// The key in hardware, if it is one.
    package var secureEnclaveKey: SecureEnclavePrivateKey? {
        if case .secureEnclave(let key) = material { key } else { nil }
    }

    /// The public half, or the key itself.
    package var publicKey: AsymmetricPublicKey {
        switch material {
        case .privateKey(let key): key.publicKey
        case .publicKey(let key): key
        case .secureEnclave(let key): key.publicKey
        }
    }

    package var shape: KeyShape { publicKey.shape }

    /// SHA-1 of the public key's external representation, 20 bytes. The same for both halves.
    package var publicKeyHash: Data { publicKey.sha1 }

    /// The external representation; nil for a key in hardware.
    package var externalData: Data? {
        switch material {
        case .privateKey(let key): key.externalRepresentation
        case .publicKey(let key): key.externalRepresentation
        case .secureEnclave: nil
        }
    }

    /// What an item holds as its data: the external representation, or what the keychain uses a key
    /// in hardware by.
    package var itemData: Data? { externalData ?? secureEnclaveKey?.blob.encoded }

    /// Equality by content. A private key has one public key, so that is compared.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecKey else { return false }
        return isPrivate == other.isPrivate && publicKey == other.publicKey
    }

    /// A hash of the content.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(isPrivate)
        hasher.combine(publicKey)
        return hasher.finalize()
    }

    /// Class, type and size.
    public override var description: String {
        let name =
            switch shape {
            case .rsa(let size): "RSA, \(size) bits"
            case .elliptic(let curve): "P-\(curve.sizeInBits)"
            case .ed25519: "Ed25519"
            case .x25519: "X25519"
            }
        let place = secureEnclaveKey == nil ? "" : ", in hardware"
        return "<SecKey: \(isPrivate ? "private" : "public") key, \(name)\(place)>"
    }
}

extension SecKey: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.key
}

/// Returns the identifier of keys, for comparison with ``CFGetTypeID(_:)``.
public func SecKeyGetTypeID() -> CFTypeID {
    CoreFoundationType.key.rawValue
}

// MARK: - Attributes, and the way back from an item

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
        _ item: ItemSnapshot, in keychain: AuthenticatingConnection
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

// MARK: - Bytes and size

/// Returns a key's bytes.
///
/// - Parameters:
///   - key: The key.
///   - error: Receives the reason if the result is nil; the caller owns it. It is left alone
///     otherwise. `errSecUnimplemented`: the key can't leave the hardware it lives in.
/// - Returns: PKCS #1 for RSA; 04 ‖ X ‖ Y for public and 04 ‖ X ‖ Y ‖ K for private keys on the curves
///   of NIST; 32 bytes for Ed25519 and X25519. Those of a private key are the caller's to guard.
///   ``kSecAttrIsExtractable`` and ``kSecAttrIsSensitive`` don't keep a key in software from leaving.
///
/// It corresponds to the function of the same name.
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
    unsafe result(error) { () throws(KeychainFailure) in
        guard let data = key.externalData else { throw .keyStaysInHardware }
        return NSData(data: data)
    }
}

/// Returns the public half of a key; of a public key, the key itself.
///
/// - Parameter key: A private or public key.
/// - Returns: The public key. It doesn't have the private key's attributes. Never nil.
///
/// It corresponds to the function of the same name.
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? {
    key.isPrivate ? SecKey(.publicKey(key.publicKey)) : key
}

/// Returns the size in bytes of what a key works on.
///
/// - Parameter key: The key.
/// - Returns: The size of the modulus of an RSA key, which is that of its signatures and of what it
///   encrypts; of a coordinate for other keys: 32, 48 or 66.
///
/// It corresponds to the function of the same name.
public func SecKeyGetBlockSize(_ key: SecKey) -> Int {
    key.shape.blockByteCount
}

#endif
