// SecKeyCreation: new keys, and keys from bytes.
//   (1) A key that is to be permanent is stored before it is handed out.
//   (2) When storing fails, no key is handed out and nothing is left in the keychain.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainRuntime
internal import KeychainAsymmetricKeys
internal import KeychainCore

/// Makes a new key pair.
///
/// The private key is stored in the keychain if `kSecAttrIsPermanent` is true, the public one only if
/// the dictionary `kSecPublicKeyAttrs` says so itself. They are durable when this returns; when it
/// returns nil, the keychain is as it was, except perhaps where a keychain service broke off
/// (`errSecNotAvailable`).
///
/// With `kSecAttrTokenID` as `kSecAttrTokenIDSecureEnclave` the private key is made in the hardware of
/// the keychain, a TPM 2.0, and never leaves it. It is stored unless `kSecAttrIsPermanent` is false. It
/// can be used as its `kSecAttrAccessControl` says, which needs
/// ``SecAccessControlCreateFlags/privateKeyUsage``; without one, as `kSecAttrAccessible` says.
///
/// - Parameters:
///   - parameters: `kSecAttrKeyType`, and `kSecAttrKeySizeInBits`: 256, 384 or 521 for elliptic
///     curves (256 where it is missing), 1024 to 8192, a multiple of 128, for RSA (2048). Attributes
///     of the two keys, `kSecAttrAccessible` and other keys of ``SecItemAdd(_:_:)`` stand beside, or
///     in the dictionaries `kSecPrivateKeyAttrs` and `kSecPublicKeyAttrs`, which win.
///   - error: Receives the reason if the result is nil; the caller owns it. It is left alone
///     otherwise. Codes are
///   - `errSecParam`: the type is missing or unknown, or there is no such size, or not in hardware,
///     which has keys on P-256 alone; or `kSecPrivateKeyAttrs` or `kSecPublicKeyAttrs` is no
///     dictionary, or `kSecAttrAccessControl` no ``SecAccessControl``;
///   - `errSecUnimplemented`: the type is not built, or the key is to live in hardware, with
///     `kSecAttrTokenID`, and there is none: make one without, which is a key in software;
///   - for a key in hardware, any of ``SecItemCopyMatching(_:_:)``;
///   - any of ``SecItemAdd(_:_:)``, where a key could not be stored.
/// - Returns: The private key. ``SecKeyCopyPublicKey(_:)`` gives the other.
///
/// It corresponds to the function of the same name.
public func SecKeyCreateRandomKey(
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
    unsafe result(error) { () throws(KeychainFailure) in
        let parameters = KeyParameters(parameters)
        let isPublicPermanent = parameters.own(kSecPublicKeyAttrs).flag(kSecAttrIsPermanent)
        return try NewKeyPair(parameters, storesPublicKey: isPublicPermanent ?? false).stored()
            .privateKey
    }
}

/// Makes a new key pair and gives both keys.
///
/// As ``SecKeyCreateRandomKey(_:_:)``, except that `kSecAttrIsPermanent` beside the dictionaries of the
/// two keys counts for both.
///
/// - Parameters:
///   - parameters: As there.
///   - publicKey: Receives the public key. May be nil. Untouched when the call fails.
///   - privateKey: Receives the private key. May be nil. Untouched when the call fails.
/// - Returns: `errSecSuccess`, or the code of the error there.
///
/// It corresponds to the function of the same name.
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
        // SAFETY: the caller's pointers are valid for the call, as their types promise.
        unsafe publicKey?.pointee = pair.publicKey
        unsafe privateKey?.pointee = pair.privateKey
        return errSecSuccess
    } catch {
        return error.status.rawValue
    }
}

/// Makes a key from its external representation.
///
/// - Parameters:
///   - keyData: PKCS #1 for RSA keys of 1024 bits and up; 04 ‖ X ‖ Y for public and
///     04 ‖ X ‖ Y ‖ K for private keys on P-256, P-384 and P-521; 32 bytes for Ed25519 and X25519.
///   - attributes: `kSecAttrKeyType` and `kSecAttrKeyClass`. The size follows from the data. Other
///     attributes are kept for ``SecKeyCopyAttributes(_:)`` and for storing the key; nothing is stored
///     here.
///   - error: Receives the reason if the result is nil; the caller owns it. It is left alone
///     otherwise. `errSecParam`: the data are no key of the type and class, or these are missing.
///     `errSecUnimplemented`: the key is symmetric, of a type that is not built, or in hardware.
/// - Returns: The key.
///
/// It corresponds to the function of the same name.
public func SecKeyCreateWithData(
    _ keyData: CFData, _ attributes: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
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
    /// Whether the key is to be made in the keychain's hardware.
    fileprivate var nameSecureEnclave: Bool { attributes.nameSecureEnclave }

    /// Keys of tokens can't be imported, nor made by any other than the keychain's hardware.
    fileprivate func refuseToken() throws(KeychainFailure) {
        guard self[kSecAttrTokenID] != nil else { return }
        throw KeychainFailure(
            .unimplemented,
            "Keys of a token, such as the Secure Enclave, can't be imported, and there is no other "
                + "token. Without kSecAttrTokenID the key is one in software.")
    }

    /// The parameters as those of an item: without what the results are to be.
    fileprivate var forItem: KeyParameters {
        var item = self
        for name in [
            kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef, kSecClass,
        ] {
            item.set(name, nil)
        }
        return item
    }

    /// The attributes that a caller decides; what the key itself says stays its own.
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

/// A pair that was just made and is not stored yet.
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
        // The public half is in no token.
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

    /// A new key in the keychain's hardware. It is not stored yet.
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
        default: throw .param("The size of the key is no number.")
        }
        switch type.kind {
        case .rsa:
            return .rsa(sizeInBits: size ?? 2048)
        case .elliptic:
            guard let curve = EllipticCurve(rawValue: size ?? 256) else {
                throw .param("There is no elliptic curve of this size: 256, 384 and 521 exist.")
            }
            return .elliptic(curve)
        case .ed25519, .x25519:
            guard (size ?? 256) == 256 else { throw .param("Keys of this type have 256 bits.") }
            return type.kind == .ed25519 ? .ed25519 : .x25519
        }
    }

    /// The pair, after what is permanent of it was stored.
    func stored() throws(KeychainFailure) -> NewKeyPair {
        var publicReference: NSData?
        if storesPublicKey {
            publicReference = try Self.store(publicKey, publicParameters)
        }
        // A key in hardware that isn't stored is lost, so it is stored unless that is forbidden.
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
                "The key was made and not stored, so it is gone. "
                    + (recorder.failure?.reason ?? StatusMessages.message(for: status)))
        }
        return result as? NSData
    }

    /// Takes back an item that was just added. Should that fail too, the public key stays, which
    /// is no secret.
    private static func remove(_ reference: NSData) {
        _ = SecItemDelete([kSecValuePersistentRef as String: reference] as NSDictionary)
    }
}

/// The result of a call, or nil with its failure in the error pointer.
func result<Value>(
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?,
    _ call: () throws(KeychainFailure) -> Value
) -> Value? {
    do throws(KeychainFailure) {
        return try call()
    } catch let failure {
        // SAFETY: the pointer is the caller's, valid or nil as its function asks for.
        unsafe CFError(status: failure.status.rawValue, reason: failure.reason).store(in: error)
        return nil
    }
}

#endif
