// SecureEnclavePrivateKey: a private key in the keychain's hardware, and the dictionary that
// describes a new key.
//   (1) An instance contains the private key only in the keychain's blob, wrapped by the hardware.
//   (2) Every operation is a request to the keychain that the key comes from, with the
//       authentication options of the call that created or found the key.
//   (3) Keys that the hardware doesn't support are rejected before the hardware is accessed. A
//       software key is never created instead.

#if !canImport(Darwin)

internal import Foundation
package import FoundationEssentials
package import KeychainAsymmetricKeys
package import KeychainAuthentication
package import KeychainCore

package struct SecureEnclavePrivateKey: Sendable {
    /// The key's blob, which each operation with the key requires.
    package let blob: SecureEnclaveBlob
    package let publicKey: AsymmetricPublicKey
    private let keychain: AuthenticatingConnection

    /// - Parameters:
    ///   - blob: The blob, as the keychain returned it.
    ///   - keychain: The keychain, with authentication options.
    /// - Throws: `decode` if the bytes are not a blob.
    package init(blob: Data, in keychain: AuthenticatingConnection) throws(KeychainFailure) {
        guard let parsed = SecureEnclaveBlob(decoding: blob),
            let publicKey = try? AsymmetricPublicKey(
                externalRepresentation: parsed.publicKey, kind: .elliptic)
        else { throw .damagedSecureEnclaveKey }
        self.blob = parsed
        self.publicKey = publicKey
        self.keychain = keychain
    }

    /// Generates a key. It is not stored.
    ///
    /// - Throws: `unimplemented` if the keychain has no hardware, or the failure to generate the
    ///   key.
    package init(
        protection: ProtectionClass, constraints: AccessConstraints,
        in keychain: AuthenticatingConnection
    ) throws(KeychainFailure) {
        let key = try keychain.perform(
            MakeSecureEnclaveKey(
                NewSecureEnclaveKey(protection: protection, constraints: constraints)))
        try self.init(blob: key.blob, in: keychain)
    }

    func sign(
        _ input: Data, using algorithm: SignatureAlgorithm
    ) throws(KeychainFailure) -> Data {
        let (digest, form) = try withKeychainFailure { () throws(KeyOperationFailure) in
            try algorithm.forHardware(input)
        }
        let signature = try keychain.perform(
            SignDigest(digest, with: blob.encoded, authorization: Authorization()))
        return try withKeychainFailure { () throws(KeyOperationFailure) in
            try form.encoded(signature)
        }
    }

    func exchange(
        with peer: AsymmetricPublicKey, using algorithm: KeyExchangeAlgorithm,
        _ parameters: KeyExchangeParameters
    ) throws(KeychainFailure) -> Data {
        guard peer.shape == publicKey.shape else {
            throw .param("The two keys are on different curves.")
        }
        try withKeychainFailure { () throws(KeyOperationFailure) in
            try algorithm.check(parameters)
        }
        let secret = try agree(with: peer.externalRepresentation)
        return try withKeychainFailure { () throws(KeyOperationFailure) in
            try algorithm.derive(fromHardware: secret, parameters)
        }
    }

    func decrypt(
        _ ciphertext: Data, using algorithm: EncryptionAlgorithm
    ) throws(KeychainFailure) -> Data {
        let sealed = try withKeychainFailure { () throws(KeyOperationFailure) in
            try HardwareCiphertext(ciphertext, algorithm)
        }
        let secret = try agree(with: sealed.ephemeralPoint)
        return try withKeychainFailure { () throws(KeyOperationFailure) in try sealed.open(secret) }
    }

    /// - Throws: `param` if the bytes are not a point on the curve.
    private func agree(with point: Data) throws(KeychainFailure) -> Data {
        try keychain.perform(
            DeriveSharedSecret(of: blob.encoded, with: point, authorization: Authorization())
        ).data
    }
}

extension SecureEnclavePrivateKey {
    /// The attributes that every hardware key has, whatever the caller requested.
    package var attributes: Attributes { .ofKeyInHardware }

    /// The access control with which the key was created.
    var accessControl: SecAccessControl? {
        let flags = SecAccessControlCreateFlags(
            rawValue: CFOptionFlags(blob.constraints.rawValue))
        return try? SecAccessControl(protection: blob.protection.code, flags: flags)
    }
}

extension KeychainFailure {
    /// The error for a request to export the bytes of a hardware key.
    static let keyStaysInHardware = KeychainFailure(
        .unimplemented, "A Secure Enclave key can't be exported.")
}

// MARK: - Creating a key

extension RequestDictionary {
    /// Whether adding this dictionary generates a key: it requests a hardware key and contains no
    /// key.
    func makesKey(of itemClass: ItemClass) -> Bool {
        itemClass == .key && attributes.nameSecureEnclave && data == nil && valueReference == nil
    }

    /// Generates the key that an item describes. It is not stored.
    ///
    /// - Parameters:
    ///   - item: The item, without data.
    ///   - keychain: The keychain, with authentication options.
    /// - Returns: The item, with the attributes and data of the key.
    /// - Throws: `unimplemented` if there is no hardware, or the failure to generate the key.
    func makeKey(
        _ item: NewItem, in keychain: AuthenticatingConnection
    ) throws(KeychainFailure) -> NewItem {
        var item = item
        let made = try SecureEnclavePrivateKey(
            protection: item.protection, constraints: item.constraints, in: keychain)
        item.attributes = SecKey(.secureEnclave(made), attributes: item.attributes).itemAttributes
        item.data = made.blob.encoded
        return item
    }

    /// Checks that the hardware can generate the key that an item describes.
    ///
    /// - Throws: `param` if the key is not a private key on P-256, or is synchronizable or a
    ///   tombstone; `unimplemented` for a key type that is not implemented.
    static func checkIsOfHardware(_ item: NewItem) throws(KeychainFailure) {
        let type = try KeyType(item.attributes[.type])
        let size = item.attributes[.keySizeInBits]
        guard type.kind == .elliptic, size == nil || size == .number(256) else {
            throw .notOfSecureEnclave
        }
        guard item.attributes[.keyClass] ?? .number(1) == .number(1) else {
            throw .param("Only private keys can be generated in the Secure Enclave.")
        }
        guard !item.isSynchronizable, !item.isTombstone else {
            throw .param("A Secure Enclave key can't be synchronizable or a tombstone.")
        }
    }
}

extension KeychainFailure {
    /// The failure of a request for a hardware key that is not on P-256.
    static let notOfSecureEnclave = KeychainFailure.param(
        "The Secure Enclave supports only P-256 keys: kSecAttrKeyTypeECSECPrimeRandom, 256 bits. "
            + "Keys of other types, such as Ed25519, are software keys: omit kSecAttrTokenID.")
}

#endif
