// SecKey: an asymmetric key as used by Apple's functions, with its attributes (for an item and as a
// dictionary), its bytes, its public key and its size.
//   (1) A key is immutable. Two keys are equal if both are private or both are public, and their
//       public keys are equal; attributes are not compared.
//   (2) No description contains any part of a private key.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
package import KeychainAsymmetricKeys
package import KeychainAuthentication
package import KeychainCore

/// A private or public key.
///
/// Create one with ``SecKeyCreateRandomKey(_:_:)`` or ``SecKeyCreateWithData(_:_:_:)``, or find one
/// in the keychain with `kSecReturnRef`. A key may be used from many threads at once. This class
/// corresponds to `SecKeyRef`. Two keys are equal if both are private or both are public, and their
/// public keys are equal.
public final class SecKey: NSObject, Sendable {
    /// The key's numbers (for RSA, the modulus and the exponents), or the hardware key that holds
    /// them.
    package enum Material: Sendable {
        case privateKey(AsymmetricPrivateKey)
        case publicKey(AsymmetricPublicKey)
        /// A private key that never leaves its hardware.
        case secureEnclave(SecureEnclavePrivateKey)
    }

    package let material: Material

    /// The attributes from the parameters that created the key, or from the item that it comes
    /// from. They take precedence over those derived from the numbers.
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

    /// The hardware key, or `nil` if the key is in software.
    package var secureEnclaveKey: SecureEnclavePrivateKey? {
        if case .secureEnclave(let key) = material { key } else { nil }
    }

    /// The public key of the pair; for a public key, the key itself.
    package var publicKey: AsymmetricPublicKey {
        switch material {
        case .privateKey(let key): key.publicKey
        case .publicKey(let key): key
        case .secureEnclave(let key): key.publicKey
        }
    }

    package var shape: KeyShape { publicKey.shape }

    /// The SHA-1 of the public key's external representation, 20 bytes. It is the same for the
    /// private and the public key of a pair.
    package var publicKeyHash: Data { publicKey.sha1 }

    /// The external representation, or `nil` for a hardware key.
    package var externalData: Data? {
        switch material {
        case .privateKey(let key): key.externalRepresentation
        case .publicKey(let key): key.externalRepresentation
        case .secureEnclave: nil
        }
    }

    /// The data of an item with this key: the external representation, or the blob of a hardware
    /// key.
    package var itemData: Data? { externalData ?? secureEnclaveKey?.blob.encoded }

    /// Whether the other object is an equal key. Private keys are compared by their public keys.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecKey else { return false }
        return isPrivate == other.isPrivate && publicKey == other.publicKey
    }

    /// A hash of the public key, and of whether this key is private.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(isPrivate)
        hasher.combine(publicKey)
        return hasher.finalize()
    }

    /// The class, the type with the size, and whether the key is in hardware.
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

/// Returns the type identifier of keys, for comparison with ``CFGetTypeID(_:)``.
public func SecKeyGetTypeID() -> CFTypeID {
    CoreFoundationType.key.rawValue
}

// MARK: - Attributes, and keys from items

extension SecKey {
    /// The attributes of an item with this key: those derived from its numbers, those given for it,
    /// and those of a hardware key. If these differ, the last of them apply.
    package var itemAttributes: Attributes {
        numberAttributes.merging(givenAttributes) { _, given in given }
            .merging(secureEnclaveKey?.attributes ?? [:]) { _, fixed in fixed }
    }

    /// The attributes derived from the class and the numbers.
    private var numberAttributes: Attributes {
        var attributes = Attributes.ofKey(
            type: shape.kind.keyType, sizeInBits: shape.sizeInBits, isPrivate: isPrivate,
            isRSA: shape.kind == .rsa,
            agrees: shape.kind == .elliptic || shape.kind == .x25519)
        attributes[.applicationLabel] = .data(publicKeyHash)
        return attributes
    }

    /// Reads the key of an item of the key class.
    ///
    /// - Parameters:
    ///   - item: The item, with its data.
    ///   - keychain: The keychain that contains the item. If the key is in hardware, this keychain
    ///     performs the key's operations.
    /// - Throws: `param` if there is no data, if the data is not a key of the item's type and
    ///   class, or if the type is unknown (the types of symmetric keys are); `unimplemented` for
    ///   the class of symmetric keys and for types that are known but not implemented; `decode` if
    ///   the item is a hardware key and its data is not a blob.
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

/// Returns a key's attributes.
///
/// - Parameter key: The key.
/// - Returns: A dictionary with `kSecClass` and `kSecAttr…` keys. Class and type are the strings of
///   the `kSecAttrKeyClass…` and `kSecAttrKeyType…` constants, sizes are numbers, permitted uses
///   are booleans, and `kSecAttrApplicationLabel` is the SHA-1 of the public key unless the caller
///   set another value. The dictionary also contains the attributes with which the key was created
///   or stored. That of a hardware key contains `kSecAttrAccessControl`, and that of a public key
///   contains the key's bytes as `kSecValueData`. Never `nil`.
///
/// It corresponds to Apple's function of the same name. Apple's dictionary also contains the bytes
/// of a private key. Here, call ``SecKeyCopyExternalRepresentation(_:_:)`` to get them.
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
    /// The boolean attributes of keys.
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
///   - error: Receives the error if the result is `nil`; the caller owns it. Otherwise it is
///     unchanged. `errSecUnimplemented`: the key is in hardware, which it can't leave.
/// - Returns: PKCS #1 for RSA; 04 ‖ X ‖ Y for public and 04 ‖ X ‖ Y ‖ K for private keys on NIST
///   curves; 32 bytes for Ed25519 and X25519. The caller is responsible for protecting the bytes of
///   a private key. ``kSecAttrIsExtractable`` and ``kSecAttrIsSensitive`` don't prevent the export
///   of a software key.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function requires.
    unsafe result(error) { () throws(KeychainFailure) in
        guard let data = key.externalData else { throw .keyStaysInHardware }
        return NSData(data: data)
    }
}

/// Returns the public key of a private key. For a public key, it returns the key itself.
///
/// - Parameter key: A private or public key.
/// - Returns: The public key. It doesn't have the private key's attributes. Never `nil`.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? {
    key.isPrivate ? SecKey(.publicKey(key.publicKey)) : key
}

/// Returns the block size of a key in bytes.
///
/// - Parameter key: The key.
/// - Returns: For RSA, the size of the modulus, which is the size of signatures and of ciphertexts
///   without AES-GCM. For other keys, the size of a coordinate: 32, 48 or 66.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyGetBlockSize(_ key: SecKey) -> Int {
    key.shape.blockByteCount
}

#endif
