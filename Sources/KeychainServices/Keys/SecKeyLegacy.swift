// SecKeyLegacy: the functions on keys that came before SecKeyAlgorithm, in its terms.
//   (1) A buffer is written within the size that the caller gives, or not at all.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAsymmetricKeys

/// Makes a signature.
///
/// - Parameters:
///   - key: A private key, RSA or elliptic.
///   - padding: How a digest is padded. With RSA: none, ``SecPadding/PKCS1`` with a DigestInfo, or one
///     of those that name a hash function. With elliptic curves: ``SecPadding/sigRaw``, or any other
///     for DER.
///   - dataToSign: The digest.
///   - dataToSignLen: Its size in bytes.
///   - sig: Receives the signature.
///   - sigLen: The room in bytes; receives the signature's size.
/// - Returns: `errSecSuccess`, or `errSecParam` if the key has no such padding, a size is wrong or
///   there isn't enough room. Nothing is written then.
///
/// It corresponds to the function of the same name.
@available(*, deprecated, message: "use SecKeyCreateSignature")
@discardableResult
public func SecKeyRawSign(
    _ key: SecKey, _ padding: SecPadding, _ dataToSign: UnsafePointer<UInt8>,
    _ dataToSignLen: Int, _ sig: UnsafeMutablePointer<UInt8>, _ sigLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    // SAFETY: the caller's pointers hold as many bytes as the caller says, as Apple's function asks.
    guard let data = unsafe bytes(dataToSign, dataToSignLen),
        let algorithm = key.signatureAlgorithm(padding)
    else { return errSecParam }
    var error: Unmanaged<CFError>?
    let signature = unsafe SecKeyCreateSignature(key, algorithm, data, &error)
    return unsafe hand(out: signature, error, to: sig, sigLen)
}

/// Verifies a signature.
///
/// - Parameters:
///   - key: A public key, RSA or elliptic.
///   - padding: As for ``SecKeyRawSign(_:_:_:_:_:_:)``.
///   - signedData: The digest.
///   - signedDataLen: Its size in bytes.
///   - sig: The signature.
///   - sigLen: Its size in bytes.
/// - Returns: `errSecSuccess` for a valid signature; `errSecVerifyFailed` for any other; `errSecParam`
///   if the key has no such padding or a size is wrong.
///
/// It corresponds to the function of the same name.
@available(*, deprecated, message: "use SecKeyVerifySignature")
public func SecKeyRawVerify(
    _ key: SecKey, _ padding: SecPadding, _ signedData: UnsafePointer<UInt8>,
    _ signedDataLen: Int, _ sig: UnsafePointer<UInt8>, _ sigLen: Int
) -> OSStatus {
    // SAFETY: the caller's pointers hold as many bytes as the caller says, as Apple's function asks.
    guard let data = unsafe bytes(signedData, signedDataLen),
        let signature = unsafe bytes(sig, sigLen),
        let algorithm = key.signatureAlgorithm(padding)
    else { return errSecParam }
    var error: Unmanaged<CFError>?
    if unsafe SecKeyVerifySignature(key, algorithm, data, signature, &error) {
        return errSecSuccess
    }
    return unsafe code(of: error)
}

/// Encrypts one block with an RSA key.
///
/// - Parameters:
///   - key: A public key.
///   - padding: None, ``SecPadding/PKCS1`` or ``SecPadding/OAEP``.
///   - plainText: The message.
///   - plainTextLen: Its size in bytes: 11 less than the block at most, or 42 less with OAEP.
///   - cipherText: Receives the block.
///   - cipherTextLen: The room in bytes; receives the block's size.
/// - Returns: `errSecSuccess`, or `errSecParam` if the key has no such padding, the message is too
///   long or there isn't enough room. Nothing is written then.
///
/// It corresponds to the function of the same name.
@available(*, deprecated, message: "use SecKeyCreateEncryptedData")
@discardableResult
public func SecKeyEncrypt(
    _ key: SecKey, _ padding: SecPadding, _ plainText: UnsafePointer<UInt8>,
    _ plainTextLen: Int, _ cipherText: UnsafeMutablePointer<UInt8>,
    _ cipherTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    // SAFETY: the caller's pointers hold as many bytes as the caller says, as Apple's function asks.
    guard let data = unsafe bytes(plainText, plainTextLen),
        let algorithm = key.encryptionAlgorithm(padding)
    else { return errSecParam }
    var error: Unmanaged<CFError>?
    let block = unsafe SecKeyCreateEncryptedData(key, algorithm, data, &error)
    return unsafe hand(out: block, error, to: cipherText, cipherTextLen)
}

/// Decrypts one block with an RSA key.
///
/// - Parameters:
///   - key: A private key.
///   - padding: As for ``SecKeyEncrypt(_:_:_:_:_:_:)``. Without one, zeros in front of the number are
///     left out.
///   - cipherText: The block.
///   - cipherTextLen: Its size in bytes.
///   - plainText: Receives the message.
///   - plainTextLen: The room in bytes; receives the message's size.
/// - Returns: `errSecSuccess`, or `errSecParam` if the key has no such padding, the block was not made
///   for it or there isn't enough room. Nothing is written then.
///
/// It corresponds to the function of the same name.
@available(*, deprecated, message: "use SecKeyCreateDecryptedData")
@discardableResult
public func SecKeyDecrypt(
    _ key: SecKey, _ padding: SecPadding, _ cipherText: UnsafePointer<UInt8>,
    _ cipherTextLen: Int, _ plainText: UnsafeMutablePointer<UInt8>,
    _ plainTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    // SAFETY: the caller's pointers hold as many bytes as the caller says, as Apple's function asks.
    guard let data = unsafe bytes(cipherText, cipherTextLen),
        let algorithm = key.encryptionAlgorithm(padding)
    else { return errSecParam }
    var error: Unmanaged<CFError>?
    var message = unsafe SecKeyCreateDecryptedData(key, algorithm, data, &error)
    if padding.isEmpty, let block = message {
        message = NSData(data: Data(Data(block).drop { $0 == 0 }))
    }
    return unsafe hand(out: message, error, to: plainText, plainTextLen)
}

extension SecKey {
    fileprivate func signatureAlgorithm(_ padding: SecPadding) -> SecKeyAlgorithm? {
        switch shape.kind {
        case .rsa:
            switch padding {
            case []: .rsaSignatureRaw
            case .PKCS1: .rsaSignatureDigestPKCS1v15Raw
            case .PKCS1SHA1: .rsaSignatureDigestPKCS1v15SHA1
            case .PKCS1SHA224: .rsaSignatureDigestPKCS1v15SHA224
            case .PKCS1SHA256: .rsaSignatureDigestPKCS1v15SHA256
            case .PKCS1SHA384: .rsaSignatureDigestPKCS1v15SHA384
            case .PKCS1SHA512: .rsaSignatureDigestPKCS1v15SHA512
            default: nil
            }
        case .elliptic:
            padding == .sigRaw ? .ecdsaSignatureDigestRFC4754 : .ecdsaSignatureDigestX962
        case .ed25519, .x25519:
            nil
        }
    }

    fileprivate func encryptionAlgorithm(_ padding: SecPadding) -> SecKeyAlgorithm? {
        guard shape.kind == .rsa else { return nil }
        return switch padding {
        case []: .rsaEncryptionRaw
        case .PKCS1: .rsaEncryptionPKCS1
        case .OAEP: .rsaEncryptionOAEPSHA1
        default: nil
        }
    }
}

/// A copy of what the caller points to; nil for a negative size.
private func bytes(_ pointer: UnsafePointer<UInt8>, _ count: Int) -> NSData? {
    // SAFETY: the caller vouches for `count` bytes.
    count < 0 ? nil : unsafe NSData(bytes: pointer, length: count)
}

/// Writes a result where it fits.
private func hand(
    out result: CFData?, _ error: Unmanaged<CFError>?, to buffer: UnsafeMutablePointer<UInt8>,
    _ count: UnsafeMutablePointer<Int>
) -> OSStatus {
    guard let result else { return unsafe code(of: error) }
    // SAFETY: no more is written than the room that the caller vouches for.
    guard unsafe result.length <= count.pointee else { return errSecParam }
    unsafe result.getBytes(buffer, length: result.length)
    unsafe count.pointee = result.length
    return errSecSuccess
}

/// The code of an error, which is released.
private func code(of error: Unmanaged<CFError>?) -> OSStatus {
    // SAFETY: the functions of this folder hand over one retain.
    guard let error = unsafe error?.takeRetainedValue() else { return errSecInternalComponent }
    return OSStatus(truncatingIfNeeded: error.code)
}

#endif
