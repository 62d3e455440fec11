// SecKeyExport: a key's bytes, its public half and its size.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore

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
