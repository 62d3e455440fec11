// SecKeyCreation: generating keys, and creating keys from bytes.
//   (1) A permanent key is stored before it is returned.
//   (2) If storing fails, no key is returned, and a key of the pair that was already stored is
//       deleted again, if possible.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainRuntime
internal import KeychainAsymmetricKeys
internal import KeychainCore

/// Generates a key pair.
///
/// The private key is stored in the keychain if `kSecAttrIsPermanent` is true. The public key is
/// stored only if `kSecAttrIsPermanent` is true in the dictionary `kSecPublicKeyAttrs`. When this
/// function returns a key, the stored keys are durable. When it returns `nil`, the keychain is
/// unchanged, with the following exceptions. The keychain's state is unknown if the connection to a
/// keychain service was lost (`errSecNotAvailable`), or if the change could not be synchronized to
/// the disk (`errSecIO`, `errSecDiskFull`). A stored public key remains if the private key could
/// not be stored and deleting the public key failed.
///
/// With `kSecAttrTokenID` set to `kSecAttrTokenIDSecureEnclave`, the private key is generated in
/// the keychain's hardware, a TPM 2.0, and leaves this TPM only encrypted. The private key is
/// stored unless `kSecAttrIsPermanent` is false. Its `kSecAttrAccessControl` determines how it can
/// be used. If the access control lacks ``SecAccessControlCreateFlags/privateKeyUsage``, the key is
/// created but can't be used. Without an access control, `kSecAttrAccessible` determines when the
/// key can be used.
///
/// - Parameters:
///   - parameters: `kSecAttrKeyType`, and `kSecAttrKeySizeInBits`: 256 (the default), 384 or 521
///     for elliptic curves; 1024 to 8192, a multiple of 128, for RSA (the default is 2048); only
///     256 for Ed25519 and X25519. Attributes of the private and public key, `kSecAttrAccessible`
///     and other dictionary keys of ``SecItemAdd(_:_:)`` may be at the top level, or in the
///     dictionaries `kSecPrivateKeyAttrs` and `kSecPublicKeyAttrs`, which take precedence.
///   - error: Receives the error if the result is `nil`; the caller owns it. Otherwise it is
///     unchanged. The codes are:
///     - `errSecParam`: the type is missing or unknown; the size is not supported (in hardware,
///       only P-256 is); `kSecPrivateKeyAttrs` or `kSecPublicKeyAttrs` is not a dictionary;
///       `kSecAttrAccessControl` is not a ``SecAccessControl``; or a hardware key is to be
///       synchronizable;
///     - `errSecUnimplemented`: the type is not implemented; or `kSecAttrTokenID` requests a
///       hardware key but there is no such hardware, or `kSecAttrTokenID` names another token.
///       Without `kSecAttrTokenID`, a software key is generated;
///     - for a hardware key, any code of ``SecItemCopyMatching(_:_:)``;
///     - any code of ``SecItemAdd(_:_:)``, if a key could not be stored;
///     - -26276, an internal error: the key could not be generated.
/// - Returns: The private key. ``SecKeyCopyPublicKey(_:)`` returns its public key.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyCreateRandomKey(
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function requires.
    unsafe result(error) { () throws(KeychainFailure) in
        let parameters = KeyParameters(parameters)
        let isPublicPermanent = parameters.own(kSecPublicKeyAttrs).flag(kSecAttrIsPermanent)
        return try NewKeyPair(parameters, storesPublicKey: isPublicPermanent ?? false).stored()
            .privateKey
    }
}

/// Generates a key pair and returns both keys.
///
/// It works like ``SecKeyCreateRandomKey(_:_:)``, except that `kSecAttrIsPermanent` at the top
/// level applies to both keys.
///
/// - Parameters:
///   - parameters: As for ``SecKeyCreateRandomKey(_:_:)``.
///   - publicKey: Receives the public key. May be `nil`. Unchanged after a failure.
///   - privateKey: Receives the private key. May be `nil`. Unchanged after a failure.
/// - Returns: `errSecSuccess`, or the code of an error of ``SecKeyCreateRandomKey(_:_:)``.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "use SecKeyCreateRandomKey")
@discardableResult
public func SecKeyGeneratePair(
    _ parameters: CFDictionary, _ publicKey: UnsafeMutablePointer<SecKey?>?,
    _ privateKey: UnsafeMutablePointer<SecKey?>?
) -> OSStatus {
    do throws(KeychainFailure) {
        let parameters = KeyParameters(parameters)
        let isPermanent = parameters.merged(with: kSecPublicKeyAttrs).flag(kSecAttrIsPermanent)
        let pair = try NewKeyPair(parameters, storesPublicKey: isPermanent ?? false).stored()
        // SAFETY: the types of the caller's pointers guarantee that they are valid during the call.
        unsafe publicKey?.pointee = pair.publicKey
        unsafe privateKey?.pointee = pair.privateKey
        return errSecSuccess
    } catch {
        return error.status.rawValue
    }
}

/// Creates a key from its external representation.
///
/// - Parameters:
///   - keyData: For RSA keys of at least 1024 bits: PKCS #1, PKCS #8 (private) or
///     SubjectPublicKeyInfo (public). On P-256, P-384 and P-521: 04 ‖ X ‖ Y for public and
///     04 ‖ X ‖ Y ‖ K for private keys. For Ed25519 and X25519: 32 bytes.
///   - attributes: `kSecAttrKeyType` and `kSecAttrKeyClass`. The size is derived from the data.
///     Other attributes are kept for ``SecKeyCopyAttributes(_:)`` and for storing the key later;
///     this function stores nothing.
///   - error: Receives the error if the result is `nil`; the caller owns it. Otherwise it is
///     unchanged. `errSecParam`: the data is not a key of the type and class, or the type or the
///     class is missing or unknown. `errSecUnimplemented`: the key is symmetric, its type is not
///     implemented, or `kSecAttrTokenID` is set.
/// - Returns: The key.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyCreateWithData(
    _ keyData: CFData, _ attributes: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function requires.
    unsafe result(error) { () throws(KeychainFailure) in
        let parameters = KeyParameters(attributes)
        try parameters.refuseToken()
        let keyClass = try KeyClass(parameters.number(kSecAttrKeyClass))
        let type = try KeyType(parameters.number(kSecAttrKeyType))
        let material = try SecKey.Material(keyData.contents, type: type, class: keyClass)
        return SecKey(material, attributes: parameters.givenAttributes)
    }
}

extension KeyParameters {
    /// Whether the parameters request a key in the keychain's hardware.
    fileprivate var nameSecureEnclave: Bool { attributes.nameSecureEnclave }

    /// Rejects keys on tokens. They can't be imported, and the keychain's hardware is the only
    /// token in which keys can be generated.
    fileprivate func refuseToken() throws(KeychainFailure) {
        guard self[kSecAttrTokenID] != nil else { return }
        throw KeychainFailure(
            .unimplemented,
            "Keys on a token can't be imported, and keys can be generated only on one token, the "
                + "Secure Enclave. Omit kSecAttrTokenID to get a software key.")
    }

    /// The parameters of the item to store, without the class and the parameters that request
    /// results.
    fileprivate var forItem: KeyParameters {
        var item = self
        for name in [
            kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef, kSecClass,
        ] {
            item.set(name, nil)
        }
        return item
    }

    /// The attributes that the caller determines, without those that the key itself or the keychain
    /// determines.
    fileprivate var givenAttributes: Attributes {
        attributes.filter { attribute, _ in
            switch attribute {
            case .keyClass, .type, .keySizeInBits, .effectiveKeySize, .isPrivate, .tokenID,
                .creationDate, .modificationDate:
                false
            default: true
            }
        }
    }
}

/// A new key pair that is not stored yet.
private struct NewKeyPair {
    let privateKey: SecKey
    let publicKey: SecKey
    private let privateParameters: KeyParameters
    private let publicParameters: KeyParameters
    private let storesPublicKey: Bool

    init(_ parameters: KeyParameters, storesPublicKey: Bool) throws(KeychainFailure) {
        try parameters.checkReadable()
        let privateParameters = parameters.merged(with: kSecPrivateKeyAttrs)
        var publicParameters = parameters.merged(with: kSecPublicKeyAttrs)
        // The public key is not on a token.
        publicParameters.set(kSecAttrTokenID, nil)
        self.privateParameters = privateParameters
        self.publicParameters = publicParameters
        self.storesPublicKey = storesPublicKey
        let shape = try Self.shape(parameters)
        if privateParameters.nameSecureEnclave {
            guard shape == .elliptic(.p256) else { throw .notOfSecureEnclave }
            privateKey = try Self.keyInHardware(privateParameters)
            publicKey = SecKey(
                .publicKey(privateKey.publicKey), attributes: publicParameters.givenAttributes)
            return
        }
        try privateParameters.refuseToken()
        let pair: AsymmetricPrivateKey
        do {
            pair = try AsymmetricPrivateKey(random: shape)
        } catch {
            throw KeychainFailure(error)
        }
        privateKey = SecKey(.privateKey(pair), attributes: privateParameters.givenAttributes)
        publicKey = SecKey(
            .publicKey(pair.publicKey), attributes: publicParameters.givenAttributes)
    }

    /// Generates a key in the keychain's hardware, without storing the key.
    private static func keyInHardware(
        _ parameters: KeyParameters
    ) throws(KeychainFailure) -> SecKey {
        var request = parameters.forItem
        request.set(kSecClass, kSecClassKey)
        request.set(kSecAttrKeyType, kSecAttrKeyTypeECSECPrimeRandom)
        let dictionary = try RequestDictionary(request.entries as NSDictionary)
        let item = try dictionary.newItem(of: .key)
        let key = try SecureEnclavePrivateKey(
            protection: item.protection, constraints: item.constraints,
            in: try dictionary.keychain())
        var attributes = parameters.givenAttributes
        attributes[.tokenID] = item.attributes[.tokenID]
        return SecKey(.secureEnclave(key), attributes: attributes)
    }

    private static func shape(_ parameters: KeyParameters) throws(KeychainFailure) -> KeyShape {
        let type = try KeyType(parameters.number(kSecAttrKeyType))
        let size: Int?
        switch parameters.number(kSecAttrKeySizeInBits) {
        case .number(let number): size = Int(number)
        case nil where parameters[kSecAttrKeySizeInBits] == nil: size = nil
        default: throw .param("The size of the key is not a number.")
        }
        switch type.kind {
        case .rsa:
            return .rsa(sizeInBits: size ?? 2048)
        case .elliptic:
            guard let curve = EllipticCurve(rawValue: size ?? 256) else {
                throw .param("No supported curve has this size. Use 256, 384 or 521.")
            }
            return .elliptic(curve)
        case .ed25519, .x25519:
            guard (size ?? 256) == 256 else { throw .param("Keys of this type have 256 bits.") }
            return type.kind == .ed25519 ? .ed25519 : .x25519
        }
    }

    /// Stores the permanent keys of the pair.
    func stored() throws(KeychainFailure) -> NewKeyPair {
        var publicReference: NSData?
        if storesPublicKey {
            publicReference = try Self.store(publicKey, publicParameters)
        }
        // A hardware key that isn't stored is lost, so it is stored unless the caller forbids it.
        let isInHardware = privateKey.secureEnclaveKey != nil
        guard privateParameters.flag(kSecAttrIsPermanent) ?? isInHardware else { return self }
        do {
            _ = try Self.store(privateKey, privateParameters)
        } catch {
            if let publicReference { Self.remove(publicReference) }
            throw error
        }
        return self
    }

    /// - Returns: The persistent reference of the new item.
    private static func store(
        _ key: SecKey, _ parameters: KeyParameters
    ) throws(KeychainFailure) -> NSData? {
        var item = parameters.forItem
        item.set(kSecValueRef, key)
        item.set(kSecReturnPersistentRef, true)
        var result: CFTypeRef?
        let recorder = FailureRecorder()
        let status = KeychainContext.$recorder.withValue(recorder) {
            // SAFETY: the variable outlives the call.
            unsafe SecItemAdd(item.entries as NSDictionary, &result)
        }
        guard status == errSecSuccess else {
            throw KeychainFailure(
                Status(rawValue: status),
                "The key was generated but could not be stored, so it is lost. "
                    + (recorder.failure?.reason ?? StatusMessages.message(for: status)))
        }
        return result as? NSData
    }

    /// Deletes an item that was just added. If this fails too, the public key remains, which is not
    /// secret.
    private static func remove(_ reference: NSData) {
        _ = SecItemDelete([kSecValuePersistentRef as String: reference] as NSDictionary)
    }
}

/// Runs a call and returns its result. If the call fails, returns `nil` and stores the error.
func result<Value>(
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?,
    _ call: () throws(KeychainFailure) -> Value
) -> Value? {
    do throws(KeychainFailure) {
        return try call()
    } catch let failure {
        // SAFETY: the pointer comes from the caller of a public function, which must pass a valid
        // one or `nil`.
        unsafe CFError(status: failure.status.rawValue, reason: failure.reason).store(in: error)
        return nil
    }
}

#endif
