// SecKeyOperations: signing, verifying, encrypting, decrypting and key exchange.
//   (1) An algorithm that the key doesn't support fails with `errSecParam`. An algorithm that Apple
//       supports and this module doesn't implement fails with `errSecUnimplemented`.
//   (2) Arguments are never changed, and an error reveals nothing about the key's secret.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore

/// Creates a signature.
///
/// - Parameters:
///   - key: A private key.
///   - algorithm: The algorithm. It determines whether the input is a message or a digest.
///   - dataToSign: The message, or a digest of the size that the algorithm requires.
///   - error: Receives the error if the result is `nil`; the caller owns it. Otherwise it is
///     unchanged. `errSecParam`: the key is public or doesn't support the algorithm, or a size is
///     wrong; `errSecUnimplemented`: the algorithm is not implemented. For a hardware key, also the
///     errors of ``SecItemCopyMatching(_:_:)`` for data under the same access control;
///     `errSecAuthFailed` if the access control lacks
///     ``SecAccessControlCreateFlags/privateKeyUsage``; `errSecDecode` if the key belongs to other
///     hardware; and `errSecUnimplemented` if there is no hardware.
/// - Returns: The signature.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function requires.
    unsafe result(error) { () throws(KeychainFailure) in
        NSData(data: try key.sign(dataToSign.contents, algorithm))
    }
}

/// Verifies a signature.
///
/// - Parameters:
///   - key: A public key. Private keys are rejected.
///   - algorithm: The algorithm. It determines whether the input is a message or a digest.
///   - signedData: The message, or a digest of the size that the algorithm requires.
///   - signature: The signature.
///   - error: Receives the error if the result is false; the caller owns it. Otherwise it is
///     unchanged. `errSecVerifyFailed`: the signature doesn't match the data and this key;
///     `errSecParam`: the key is private or doesn't support the algorithm, or the digest has the
///     wrong size; `errSecUnimplemented`: the algorithm is not implemented.
/// - Returns: Whether the signature is valid.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function requires.
    unsafe result(error) { () throws(KeychainFailure) in
        try key.verify(signature.contents, of: signedData.contents, algorithm)
        return true
    } ?? false
}

/// Encrypts a message to a public key.
///
/// - Parameters:
///   - key: A public key.
///   - algorithm: The encryption algorithm.
///   - plaintext: The message, 0 or more bytes. The algorithm determines the maximum.
///   - error: Receives the error if the result is `nil`; the caller owns it. Otherwise it is
///     unchanged. `errSecParam`: the key is private or doesn't support the algorithm, or the
///     message is too long; `errSecUnimplemented`: the algorithm is not implemented.
/// - Returns: The ciphertext.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function requires.
    unsafe result(error) { () throws(KeychainFailure) in
        NSData(data: try key.encrypt(plaintext.contents, algorithm))
    }
}

/// Decrypts a message with a private key.
///
/// - Parameters:
///   - key: A private key. With ``SecKeyAlgorithm/rsaEncryptionRaw`` it may be a public RSA key,
///     which reverses the private operation.
///   - algorithm: The algorithm of the encryption.
///   - ciphertext: The ciphertext from ``SecKeyCreateEncryptedData(_:_:_:_:)`` or another
///     implementation.
///   - error: Receives the error if the result is `nil`; the caller owns it. Otherwise it is
///     unchanged. `errSecParam`: the key is public or doesn't support the algorithm, or the
///     ciphertext was encrypted to another key or was changed, which raw RSA and PKCS #1 v1.5 don't
///     always detect; `errSecUnimplemented`: the algorithm is not implemented. For a hardware key,
///     also the errors that ``SecKeyCreateSignature(_:_:_:_:)`` lists.
/// - Returns: The message; with ``SecKeyAlgorithm/rsaEncryptionRaw``, the whole block.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function requires.
    unsafe result(error) { () throws(KeychainFailure) in
        NSData(data: try key.decrypt(ciphertext.contents, algorithm))
    }
}

/// Performs a key exchange with the owner of a public key.
///
/// - Parameters:
///   - privateKey: The caller's private key.
///   - algorithm: The key exchange algorithm.
///   - publicKey: The peer's public key, on the same curve.
///   - parameters: For algorithms with a key derivation:
///     ``SecKeyKeyExchangeParameter/requestedSize`` and, if both sides use it,
///     ``SecKeyKeyExchangeParameter/sharedInfo``. Other algorithms have no parameters.
///   - error: Receives the error if the result is `nil`; the caller owns it. Otherwise it is
///     unchanged. `errSecParam`: a key doesn't support the algorithm, `privateKey` is public or
///     `publicKey` is private, the keys are on different curves, the peer's X25519 key has low
///     order, the requested size is missing or out of range, or a parameter has the wrong type;
///     `errSecUnimplemented`: the algorithm is not implemented. For a hardware key, also the errors
///     that ``SecKeyCreateSignature(_:_:_:_:)`` lists.
/// - Returns: The derived bytes; without key derivation, the x coordinate of the shared point.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyCopyKeyExchangeResult(
    _ privateKey: SecKey, _ algorithm: SecKeyAlgorithm, _ publicKey: SecKey,
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function requires.
    unsafe result(error) { () throws(KeychainFailure) in
        NSData(
            data: try privateKey.exchange(
                with: publicKey, algorithm, KeyParameters(parameters)))
    }
}

/// Returns whether a key supports an operation with an algorithm.
///
/// - Parameters:
///   - key: The key.
///   - operation: The operation.
///   - algorithm: The algorithm.
/// - Returns: Whether it is supported. As on Apple platforms, the result is `true` for verifying
///   with a private RSA key, because its public key can verify. It is also `true` for decrypting
///   with a public RSA key and an algorithm without AES-GCM, although that works only with
///   ``SecKeyAlgorithm/rsaEncryptionRaw``.
///
/// It corresponds to Apple's function of the same name.
public func SecKeyIsAlgorithmSupported(
    _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
    guard let meaning = algorithm.meaning, key.shape.has(meaning) else { return false }
    switch (operation, meaning) {
    case (.sign, .signature), (.keyExchange, .keyExchange):
        return key.isPrivate
    case (.verify, .signature):
        return !key.isPrivate || key.shape.kind == .rsa
    case (.encrypt, .encryption):
        return !key.isPrivate
    case (.decrypt, .encryption(let encryption)):
        if case .rsaOAEPWithAESGCM = encryption { return key.isPrivate }
        return key.isPrivate || key.shape.kind == .rsa
    default:
        return false
    }
}

extension KeyShape {
    /// Whether keys of this shape support the algorithm.
    fileprivate func has(_ algorithm: KeyAlgorithm) -> Bool {
        switch (self, algorithm) {
        case (.rsa, .signature(let signature)):
            switch signature {
            case .rsaRaw, .rsaPKCS1v15: true
            case .rsaPSS(let digest, _): sizeInBits - 1 >= 8 * (2 * digest.byteCount + 1) + 1
            case .ecdsa, .ed25519: false
            }
        case (.rsa, .encryption(let encryption)):
            switch encryption {
            case .rsaRaw, .rsaPKCS1: true
            case .rsaOAEP(let digest): blockByteCount >= 2 * digest.byteCount + 2
            case .rsaOAEPWithAESGCM(let digest):
                // The AES key must fit into one block, beside the padding.
                blockByteCount >= 2 * digest.byteCount + 2 + (sizeInBits >= 4096 ? 32 : 16)
            case .ecies: false
            }
        case (.elliptic, .signature(.ecdsa)), (.elliptic, .encryption(.ecies)),
            (.elliptic, .keyExchange), (.x25519, .keyExchange), (.ed25519, .signature(.ed25519)):
            true
        default: false
        }
    }
}

extension SecKey {
    /// The meaning of the algorithm.
    ///
    /// - Throws: `param` for an unknown name and if keys of this shape don't support the algorithm;
    ///   `unimplemented` if it is not implemented.
    private func meaning(
        of algorithm: SecKeyAlgorithm
    ) throws(KeychainFailure) -> KeyAlgorithm {
        guard let meaning = algorithm.meaning else {
            throw .param("There is no algorithm of this name.")
        }
        if case .notImplemented(let what) = meaning { throw .notImplemented(what) }
        guard shape.has(meaning) else { throw .param("The key doesn't support this algorithm.") }
        return meaning
    }

    fileprivate func sign(
        _ data: Data, _ algorithm: SecKeyAlgorithm
    ) throws(KeychainFailure) -> Data {
        guard case .signature(let signature) = try meaning(of: algorithm) else {
            throw .param("The algorithm doesn't sign.")
        }
        switch material {
        case .privateKey(let key):
            return try withKeychainFailure { () throws(KeyOperationFailure) in
                try key.sign(data, using: signature)
            }
        case .secureEnclave(let key): return try key.sign(data, using: signature)
        case .publicKey: throw .notPrivate
        }
    }

    fileprivate func verify(
        _ signature: Data, of data: Data, _ algorithm: SecKeyAlgorithm
    ) throws(KeychainFailure) {
        guard case .signature(let meaning) = try meaning(of: algorithm) else {
            throw .param("The algorithm doesn't sign.")
        }
        guard case .publicKey(let key) = material else {
            throw .param("The signature must be verified with a public key.")
        }
        do {
            try key.verify(signature, of: data, using: meaning)
        } catch {
            throw KeychainFailure(error)
        }
    }

    fileprivate func encrypt(
        _ message: Data, _ algorithm: SecKeyAlgorithm
    ) throws(KeychainFailure) -> Data {
        guard case .encryption(let encryption) = try meaning(of: algorithm) else {
            throw .param("The algorithm doesn't encrypt.")
        }
        guard case .publicKey(let key) = material else {
            throw .param("The message must be encrypted to a public key.")
        }
        do {
            return try key.encrypt(message, using: encryption)
        } catch {
            throw KeychainFailure(error)
        }
    }

    fileprivate func decrypt(
        _ ciphertext: Data, _ algorithm: SecKeyAlgorithm
    ) throws(KeychainFailure) -> Data {
        guard case .encryption(let encryption) = try meaning(of: algorithm) else {
            throw .param("The algorithm doesn't encrypt.")
        }
        return switch (material, encryption) {
        case (.privateKey(let key), _):
            try withKeychainFailure { () throws(KeyOperationFailure) in
                try key.decrypt(ciphertext, using: encryption)
            }
        case (.secureEnclave(let key), _): try key.decrypt(ciphertext, using: encryption)
        case (.publicKey(let key), .rsaRaw):
            try withKeychainFailure { () throws(KeyOperationFailure) in
                try key.encrypt(ciphertext, using: .rsaRaw)
            }
        case (.publicKey, _): throw .notPrivate
        }
    }

    fileprivate func exchange(
        with peer: SecKey, _ algorithm: SecKeyAlgorithm, _ parameters: KeyParameters
    ) throws(KeychainFailure) -> Data {
        guard case .keyExchange(let exchange) = try meaning(of: algorithm) else {
            throw .param("The algorithm is not for key exchange.")
        }
        guard case .publicKey(let publicKey) = peer.material else {
            throw .param("The peer's key must be a public key.")
        }
        let settings = try parameters.keyExchange()
        switch material {
        case .privateKey(let key):
            return try withKeychainFailure { () throws(KeyOperationFailure) in
                try key.exchange(with: publicKey, using: exchange, settings)
            }
        case .secureEnclave(let key):
            return try key.exchange(with: publicKey, using: exchange, settings)
        case .publicKey: throw .notPrivate
        }
    }
}

extension KeychainFailure {
    fileprivate static let notPrivate = KeychainFailure.param(
        "This operation requires a private key.")
}

extension KeyParameters {
    /// The parameters of the key derivation. A value of the wrong type is an error, because
    /// ignoring it would result in a different secret.
    fileprivate func keyExchange() throws(KeychainFailure) -> KeyExchangeParameters {
        var settings = KeyExchangeParameters()
        let requestedSize = SecKeyKeyExchangeParameter.requestedSize.rawValue
        let sharedInfo = SecKeyKeyExchangeParameter.sharedInfo.rawValue
        switch number(requestedSize) {
        case .number(let count): settings.requestedByteCount = Int(count)
        case nil where self[requestedSize] == nil: break
        default: throw .param("The requested size is not a number.")
        }
        switch self[sharedInfo] {
        case .data(let info): settings.sharedInfo = info
        case nil: break
        default: throw .param("The shared information is not data.")
        }
        return settings
    }
}

#endif
