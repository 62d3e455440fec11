// SecKeyLegacy: the key functions that are older than SecKeyAlgorithm, implemented with it.
//   (1) A buffer is written only within the size that the caller passes, or not at all.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAsymmetricKeys

/// Creates a signature.
///
/// - Parameters:
///   - key: A private key, RSA or elliptic curve.
///   - padding: How a digest is padded. With RSA: none, ``SecPadding/PKCS1`` with a DigestInfo, or
///     a padding that names a hash function. With elliptic curves: ``SecPadding/sigRaw``, or any
///     other value for DER.
///   - dataToSign: The digest.
///   - dataToSignLen: The size of the digest in bytes.
///   - sig: Receives the signature.
///   - sigLen: The size of the buffer in bytes. Receives the size of the signature.
/// - Returns: `errSecSuccess`, or `errSecParam` if the key is public or doesn't support the
///   padding, a size is wrong or the buffer is too small. For a hardware key, also the errors that
///   ``SecKeyCreateSignature(_:_:_:_:)`` lists. After an error, nothing is written.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "use SecKeyCreateSignature")
@discardableResult
public func SecKeyRawSign(
    _ key: SecKey, _ padding: SecPadding, _ dataToSign: UnsafePointer<UInt8>,
    _ dataToSignLen: Int, _ sig: UnsafeMutablePointer<UInt8>, _ sigLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    // SAFETY: the caller guarantees the sizes of its buffers, as Apple's function requires.
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
///   - key: A public key, RSA or elliptic curve.
///   - padding: As for ``SecKeyRawSign(_:_:_:_:_:_:)``.
///   - signedData: The digest.
///   - signedDataLen: The size of the digest in bytes.
///   - sig: The signature.
///   - sigLen: The size of the signature in bytes.
/// - Returns: `errSecSuccess` if the signature is valid; `errSecVerifyFailed` if it is not;
///   `errSecParam` if the key is private or doesn't support the padding, or a size is wrong.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "use SecKeyVerifySignature")
public func SecKeyRawVerify(
    _ key: SecKey, _ padding: SecPadding, _ signedData: UnsafePointer<UInt8>,
    _ signedDataLen: Int, _ sig: UnsafePointer<UInt8>, _ sigLen: Int
) -> OSStatus {
    // SAFETY: the caller guarantees the sizes of its buffers, as Apple's function requires.
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
///   - plainTextLen: The size of the message in bytes. Without padding, the message must be smaller
///     than the modulus, as a number. With ``SecPadding/PKCS1`` it must be at least 11 bytes
///     shorter than the block, with ``SecPadding/OAEP`` at least 42 bytes.
///   - cipherText: Receives the block.
///   - cipherTextLen: The size of the buffer in bytes. Receives the size of the block.
/// - Returns: `errSecSuccess`, or `errSecParam` if the key is private or doesn't support the
///   padding, the message is too long or the buffer is too small. After an error, nothing is
///   written.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "use SecKeyCreateEncryptedData")
@discardableResult
public func SecKeyEncrypt(
    _ key: SecKey, _ padding: SecPadding, _ plainText: UnsafePointer<UInt8>,
    _ plainTextLen: Int, _ cipherText: UnsafeMutablePointer<UInt8>,
    _ cipherTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    // SAFETY: the caller guarantees the sizes of its buffers, as Apple's function requires.
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
///   - padding: As for ``SecKeyEncrypt(_:_:_:_:_:_:)``. Without padding, leading zero bytes are
///     removed from the result.
///   - cipherText: The block.
///   - cipherTextLen: The size of the block in bytes.
///   - plainText: Receives the message.
///   - plainTextLen: The size of the buffer in bytes. Receives the size of the message.
/// - Returns: `errSecSuccess`, or `errSecParam` if the key doesn't support the padding, if the key
///   is public and there is padding, if the block can't be decrypted with the key, or if the buffer
///   is too small. After an error, nothing is written. Without padding or with
///   ``SecPadding/PKCS1``, a block that was encrypted to another key or was changed is not always
///   detected.
///
/// It corresponds to Apple's function of the same name.
@available(*, deprecated, message: "use SecKeyCreateDecryptedData")
@discardableResult
public func SecKeyDecrypt(
    _ key: SecKey, _ padding: SecPadding, _ cipherText: UnsafePointer<UInt8>,
    _ cipherTextLen: Int, _ plainText: UnsafeMutablePointer<UInt8>,
    _ plainTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    // SAFETY: the caller guarantees the sizes of its buffers, as Apple's function requires.
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

/// A copy of the caller's bytes, or `nil` if the size is negative.
private func bytes(_ pointer: UnsafePointer<UInt8>, _ count: Int) -> NSData? {
    // SAFETY: the caller guarantees `count` bytes.
    count < 0 ? nil : unsafe NSData(bytes: pointer, length: count)
}

/// Writes a result to the caller's buffer, if it fits.
private func hand(
    out result: CFData?, _ error: Unmanaged<CFError>?, to buffer: UnsafeMutablePointer<UInt8>,
    _ count: UnsafeMutablePointer<Int>
) -> OSStatus {
    guard let result else { return unsafe code(of: error) }
    // SAFETY: no more bytes are written than the buffer size that the caller guarantees.
    guard unsafe result.length <= count.pointee else { return errSecParam }
    unsafe result.getBytes(buffer, length: result.length)
    unsafe count.pointee = result.length
    return errSecSuccess
}

/// Returns the code of an error and releases the error.
private func code(of error: Unmanaged<CFError>?) -> OSStatus {
    // SAFETY: the functions in this folder return the error retained.
    guard let error = unsafe error?.takeRetainedValue() else { return errSecInternalComponent }
    return OSStatus(truncatingIfNeeded: error.code)
}

#endif
