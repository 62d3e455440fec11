// SecKeyOperations: signing, verifying, encrypting, decrypting and agreeing on secrets.
//   (1) An algorithm that the key doesn't have is `errSecParam`; one that Apple has and the crypto
//       library doesn't is `errSecUnimplemented`.
//   (2) What is given is never changed, and a failure says nothing about the key's secret.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore

/// Makes a signature.
///
/// - Parameters:
///   - key: A private key.
///   - algorithm: What is signed and how.
///   - dataToSign: The message; or the digest, of the size that the algorithm says.
///   - error: Receives the reason if the result is nil; the caller owns it. It is left alone
///     otherwise. `errSecParam`: the key is public or has no such algorithm, or a size is wrong;
///     `errSecUnimplemented`: the algorithm is not built. Of a key in hardware, what
///     ``SecItemCopyMatching(_:_:)`` gives for data under the same access control, and
///     `errSecAuthFailed` where that lacks ``SecAccessControlCreateFlags/privateKeyUsage``, or
///     `errSecDecode` where the hardware is another one.
/// - Returns: The signature.
///
/// It corresponds to the function of the same name.
public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
    unsafe result(error) { () throws(KeychainFailure) in
        NSData(data: try key.sign(dataToSign.contents, algorithm))
    }
}

/// Verifies a signature.
///
/// - Parameters:
///   - key: A public key. A private one verifies nothing.
///   - algorithm: What was signed and how.
///   - signedData: The message; or the digest, of the size that the algorithm says.
///   - signature: The signature.
///   - error: Receives the reason if the result is false; the caller owns it. It is left alone
///     otherwise. `errSecVerifyFailed`: the signature doesn't belong to the data and this key;
///     `errSecParam`: the key is private or has no such algorithm, or the digest has another
///     size; `errSecUnimplemented`: the algorithm is not built.
/// - Returns: Whether the signature is valid.
///
/// It corresponds to the function of the same name.
public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
    unsafe result(error) { () throws(KeychainFailure) in
        try key.verify(signature.contents, of: signedData.contents, algorithm)
        return true
    } ?? false
}

/// Encrypts to a key.
///
/// - Parameters:
///   - key: A public key.
///   - algorithm: How.
///   - plaintext: The message, 0 bytes and up. How many fit, the algorithm says.
///   - error: Receives the reason if the result is nil; the caller owns it. It is left alone
///     otherwise. `errSecParam`: the key is private or has no such algorithm, or the message is
///     too long; `errSecUnimplemented`: the algorithm is not built.
/// - Returns: The ciphertext.
///
/// It corresponds to the function of the same name.
public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
    unsafe result(error) { () throws(KeychainFailure) in
        NSData(data: try key.encrypt(plaintext.contents, algorithm))
    }
}

/// Decrypts.
///
/// - Parameters:
///   - key: A private key. With ``SecKeyAlgorithm/rsaEncryptionRaw`` it may be a public RSA key,
///     which undoes the private operation.
///   - algorithm: How it was encrypted.
///   - ciphertext: What ``SecKeyCreateEncryptedData(_:_:_:_:)`` or another implementation made.
///   - error: Receives the reason if the result is nil; the caller owns it. It is left alone
///     otherwise. `errSecParam`: the key is public or has no such algorithm, or the ciphertext
///     was not made for it or was changed; `errSecUnimplemented`: the algorithm is not built. Of a
///     key in hardware as for ``SecKeyCreateSignature(_:_:_:_:)``.
/// - Returns: The message; with ``SecKeyAlgorithm/rsaEncryptionRaw`` the whole block.
///
/// It corresponds to the function of the same name.
public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
    unsafe result(error) { () throws(KeychainFailure) in
        NSData(data: try key.decrypt(ciphertext.contents, algorithm))
    }
}

/// Agrees on a secret with the owner of a public key.
///
/// - Parameters:
///   - privateKey: One's own private key.
///   - algorithm: How.
///   - publicKey: The other side's key, on the same curve.
///   - parameters: For the algorithms that derive: ``SecKeyKeyExchangeParameter/requestedSize``, and
///     ``SecKeyKeyExchangeParameter/sharedInfo`` where both sides want one. Others take nothing.
///   - error: Receives the reason if the result is nil; the caller owns it. It is left alone
///     otherwise. `errSecParam`: a key has no such algorithm, the two don't fit, or the requested
///     size is missing; `errSecUnimplemented`: the algorithm is not built. Of a
///     key in hardware as for ``SecKeyCreateSignature(_:_:_:_:)``.
/// - Returns: The derived bytes; without derivation the x coordinate of the shared point.
///
/// It corresponds to the function of the same name.
public func SecKeyCopyKeyExchangeResult(
    _ privateKey: SecKey, _ algorithm: SecKeyAlgorithm, _ publicKey: SecKey,
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
    unsafe result(error) { () throws(KeychainFailure) in
        NSData(
            data: try privateKey.exchange(
                with: publicKey, algorithm, KeyParameters(parameters)))
    }
}

/// Tells whether a key can do something.
///
/// - Parameters:
///   - key: The key.
///   - operation: What is to be done.
///   - algorithm: How.
/// - Returns: Whether it can. A private RSA key is said to verify, by its public half, and a public
///   one to decrypt, as at Apple; only ``SecKeyAlgorithm/rsaEncryptionRaw`` gives it something to
///   decrypt.
///
/// It corresponds to the function of the same name.
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
    /// Whether the algorithm is one of keys of this shape.
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
                // The AES key has to fit.
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
    /// What the algorithm stands for, where keys of this shape have it.
    private func meaning(
        of algorithm: SecKeyAlgorithm
    ) throws(KeychainFailure) -> KeyAlgorithm {
        guard let meaning = algorithm.meaning else {
            throw .param("There is no algorithm of this name.")
        }
        if case .notBuilt(let what) = meaning { throw .notBuilt(what) }
        guard shape.has(meaning) else { throw .param("The key has no such algorithm.") }
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
            throw .param("Signatures are verified with the public key.")
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
            throw .param("Messages are encrypted to the public key.")
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
            throw .param("The algorithm doesn't agree on secrets.")
        }
        guard case .publicKey(let publicKey) = peer.material else {
            throw .param("The other side's key has to be public.")
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
    fileprivate static let notPrivate = KeychainFailure.param("This takes a private key.")
}

extension KeyParameters {
    /// What a derivation takes. A value of another type is an error: what is left out silently
    /// makes another secret.
    fileprivate func keyExchange() throws(KeychainFailure) -> KeyExchangeParameters {
        var settings = KeyExchangeParameters()
        let requestedSize = SecKeyKeyExchangeParameter.requestedSize.rawValue
        let sharedInfo = SecKeyKeyExchangeParameter.sharedInfo.rawValue
        switch number(requestedSize) {
        case .number(let count): settings.requestedByteCount = Int(count)
        case nil where self[requestedSize] == nil: break
        default: throw .param("The requested size is no number.")
        }
        switch self[sharedInfo] {
        case .data(let info): settings.sharedInfo = info
        case nil: break
        default: throw .param("The shared information is no data.")
        }
        return settings
    }
}

#endif
