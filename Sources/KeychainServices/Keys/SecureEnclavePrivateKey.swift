// SecureEnclavePrivateKey: a private key that the keychain's hardware keeps, and the dictionary
// that describes one to make.
//   (1) It holds what the keychain made of the key, and nothing of the key itself.
//   (2) Every use is a request to the keychain that it comes from, with the person of the call that
//       made or found it in front.
//   (3) What the hardware can't make is refused before it is asked, and nothing is made in software
//       instead.

#if !canImport(Darwin)

internal import Foundation
package import FoundationEssentials
package import KeychainAsymmetricKeys
package import KeychainAuthentication
package import KeychainCore

package struct SecureEnclavePrivateKey: Sendable {
    /// What the keychain uses the key by.
    package let blob: SecureEnclaveBlob
    package let publicKey: AsymmetricPublicKey
    private let keychain: AuthenticatingConnection

    /// - Parameters:
    ///   - blob: The blob as the keychain gave it.
    ///   - keychain: The keychain, with the person in front of it.
    /// - Throws: `decode` for other bytes.
    package init(blob: Data, in keychain: AuthenticatingConnection) throws(KeychainFailure) {
        guard let parsed = SecureEnclaveBlob(decoding: blob),
            let publicKey = try? AsymmetricPublicKey(
                externalRepresentation: parsed.publicKey, kind: .elliptic)
        else { throw .foreignSecureEnclaveKey }
        self.blob = parsed
        self.publicKey = publicKey
        self.keychain = keychain
    }

    /// A new key. It is not stored.
    ///
    /// - Throws: `unimplemented` where the keychain has no hardware; or why no key was made.
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

    /// - Throws: `param` for what is no point of the curve.
    private func agree(with point: Data) throws(KeychainFailure) -> Data {
        try keychain.perform(
            DeriveSharedSecret(of: blob.encoded, with: point, authorization: Authorization())
        ).data
    }
}

extension SecureEnclavePrivateKey {
    /// What is so of every key in hardware, whatever was asked for.
    package var attributes: Attributes { .ofKeyInHardware }

    /// The access control that the key was made with.
    var accessControl: SecAccessControl? {
        let flags = SecAccessControlCreateFlags(
            rawValue: CFOptionFlags(blob.constraints.rawValue))
        return try? SecAccessControl(protection: blob.protection.code, flags: flags)
    }
}

extension KeychainFailure {
    /// The answer to a request for the bytes of a key in hardware.
    static let keyStaysInHardware = KeychainFailure(
        .unimplemented, "A key of the Secure Enclave never leaves it.")
}

// MARK: - A key to make

extension RequestDictionary {
    /// Whether an addition of this dictionary makes a key: it names the hardware, and no key.
    func makesKey(of itemClass: ItemClass) -> Bool {
        itemClass == .key && attributes.nameSecureEnclave && data == nil && valueReference == nil
    }

    /// Makes the key that an item describes. It is not stored.
    ///
    /// - Parameters:
    ///   - item: The item, without data.
    ///   - keychain: The keychain, with the person in front of it.
    /// - Returns: The item of the key.
    /// - Throws: `unimplemented` where there is no hardware; or why the key can't be made.
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

    /// - Throws: `param` for a key that isn't on P-256.
    static func checkIsOfHardware(_ item: NewItem) throws(KeychainFailure) {
        let type = try KeyType(item.attributes[.type])
        let size = item.attributes[.keySizeInBits]
        guard type.kind == .elliptic, size == nil || size == .number(256) else {
            throw .notOfSecureEnclave
        }
        guard item.attributes[.keyClass] ?? .number(1) == .number(1) else {
            throw .param("The Secure Enclave makes private keys.")
        }
        guard !item.isSynchronizable, !item.isTombstone else {
            throw .param("A key of the Secure Enclave stays on this device.")
        }
    }
}

extension KeychainFailure {
    /// The answer to a request for a key in hardware that isn't on P-256.
    static let notOfSecureEnclave = KeychainFailure.param(
        "The Secure Enclave has keys on P-256 alone: kSecAttrKeyTypeECSECPrimeRandom, 256 bits. Keys "
            + "of other types, such as Ed25519, are keys in software, without kSecAttrTokenID.")
}

#endif
