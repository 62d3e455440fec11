// Keys: the functions on keys, and the names of algorithms.

import Foundation
import Security

private typealias ErrorPointer = UnsafeMutablePointer<Unmanaged<CFError>?>?

func keyFunctions() {
    _ = SecKey.self as AnyClass
    _ = SecKeyGetTypeID as () -> CFTypeID
    _ = SecKeyCreateRandomKey as (CFDictionary, ErrorPointer) -> SecKey?
    _ = SecKeyCreateWithData as (CFData, CFDictionary, ErrorPointer) -> SecKey?
    _ = SecKeyCopyExternalRepresentation as (SecKey, ErrorPointer) -> CFData?
    _ = SecKeyCopyPublicKey as (SecKey) -> SecKey?
    _ = SecKeyCopyAttributes as (SecKey) -> CFDictionary?
    _ = SecKeyGetBlockSize as (SecKey) -> Int
    _ = SecKeyCreateSignature as (SecKey, SecKeyAlgorithm, CFData, ErrorPointer) -> CFData?
    _ =
        SecKeyVerifySignature
        as (SecKey, SecKeyAlgorithm, CFData, CFData, ErrorPointer) -> Bool
    _ = SecKeyCreateEncryptedData as (SecKey, SecKeyAlgorithm, CFData, ErrorPointer) -> CFData?
    _ = SecKeyCreateDecryptedData as (SecKey, SecKeyAlgorithm, CFData, ErrorPointer) -> CFData?
    _ =
        SecKeyCopyKeyExchangeResult
        as (SecKey, SecKeyAlgorithm, SecKey, CFDictionary, ErrorPointer) -> CFData?
    _ =
        SecKeyIsAlgorithmSupported as (SecKey, SecKeyOperationType, SecKeyAlgorithm) -> Bool
    _ = [.sign, .verify, .encrypt, .decrypt, .keyExchange] as [SecKeyOperationType]
    _ = [.requestedSize, .sharedInfo] as [SecKeyKeyExchangeParameter]
    _ = SecKeyKeyExchangeParameter.requestedSize.rawValue as CFString
    _ = SecKeyAlgorithm.rsaSignatureRaw.rawValue as CFString
    _ = SecKeyAlgorithm(rawValue: "name" as CFString) as SecKeyAlgorithm
}

@available(*, deprecated)
func olderKeyFunctions() {
    _ =
        SecKeyGeneratePair
        as (CFDictionary, UnsafeMutablePointer<SecKey?>?, UnsafeMutablePointer<SecKey?>?)
        -> OSStatus
    _ =
        SecKeyRawSign
        as (
            SecKey, SecPadding, UnsafePointer<UInt8>, Int, UnsafeMutablePointer<UInt8>,
            UnsafeMutablePointer<Int>
        ) -> OSStatus
    _ =
        SecKeyRawVerify
        as (SecKey, SecPadding, UnsafePointer<UInt8>, Int, UnsafePointer<UInt8>, Int) -> OSStatus
    _ =
        SecKeyEncrypt
        as (
            SecKey, SecPadding, UnsafePointer<UInt8>, Int, UnsafeMutablePointer<UInt8>,
            UnsafeMutablePointer<Int>
        ) -> OSStatus
    _ =
        SecKeyDecrypt
        as (
            SecKey, SecPadding, UnsafePointer<UInt8>, Int, UnsafeMutablePointer<UInt8>,
            UnsafeMutablePointer<Int>
        ) -> OSStatus
    _ =
        [
            [], .PKCS1, .OAEP, .sigRaw, .PKCS1MD2, .PKCS1MD5, .PKCS1SHA1, .PKCS1SHA224,
            .PKCS1SHA256, .PKCS1SHA384, .PKCS1SHA512,
        ] as [SecPadding]
}

func keyAlgorithms() -> [SecKeyAlgorithm] {
    [
        .rsaSignatureRaw, .rsaSignatureDigestPKCS1v15Raw, .rsaSignatureDigestPKCS1v15SHA1,
        .rsaSignatureDigestPKCS1v15SHA224, .rsaSignatureDigestPKCS1v15SHA256,
        .rsaSignatureDigestPKCS1v15SHA384, .rsaSignatureDigestPKCS1v15SHA512,
        .rsaSignatureMessagePKCS1v15SHA1, .rsaSignatureMessagePKCS1v15SHA224,
        .rsaSignatureMessagePKCS1v15SHA256, .rsaSignatureMessagePKCS1v15SHA384,
        .rsaSignatureMessagePKCS1v15SHA512, .rsaSignatureDigestPSSSHA1,
        .rsaSignatureDigestPSSSHA224, .rsaSignatureDigestPSSSHA256, .rsaSignatureDigestPSSSHA384,
        .rsaSignatureDigestPSSSHA512, .rsaSignatureMessagePSSSHA1, .rsaSignatureMessagePSSSHA224,
        .rsaSignatureMessagePSSSHA256, .rsaSignatureMessagePSSSHA384,
        .rsaSignatureMessagePSSSHA512, .ecdsaSignatureRFC4754, .ecdsaSignatureDigestX962,
        .ecdsaSignatureDigestX962SHA1, .ecdsaSignatureDigestX962SHA224,
        .ecdsaSignatureDigestX962SHA256, .ecdsaSignatureDigestX962SHA384,
        .ecdsaSignatureDigestX962SHA512, .ecdsaSignatureMessageX962SHA1,
        .ecdsaSignatureMessageX962SHA224, .ecdsaSignatureMessageX962SHA256,
        .ecdsaSignatureMessageX962SHA384, .ecdsaSignatureMessageX962SHA512,
        .ecdsaSignatureDigestRFC4754, .ecdsaSignatureDigestRFC4754SHA1,
        .ecdsaSignatureDigestRFC4754SHA224, .ecdsaSignatureDigestRFC4754SHA256,
        .ecdsaSignatureDigestRFC4754SHA384, .ecdsaSignatureDigestRFC4754SHA512,
        .ecdsaSignatureMessageRFC4754SHA1, .ecdsaSignatureMessageRFC4754SHA224,
        .ecdsaSignatureMessageRFC4754SHA256, .ecdsaSignatureMessageRFC4754SHA384,
        .ecdsaSignatureMessageRFC4754SHA512, .rsaEncryptionRaw, .rsaEncryptionPKCS1,
        .rsaEncryptionOAEPSHA1, .rsaEncryptionOAEPSHA224, .rsaEncryptionOAEPSHA256,
        .rsaEncryptionOAEPSHA384, .rsaEncryptionOAEPSHA512, .rsaEncryptionOAEPSHA1AESGCM,
        .rsaEncryptionOAEPSHA224AESGCM, .rsaEncryptionOAEPSHA256AESGCM,
        .rsaEncryptionOAEPSHA384AESGCM, .rsaEncryptionOAEPSHA512AESGCM,
        .eciesEncryptionStandardX963SHA1AESGCM, .eciesEncryptionStandardX963SHA224AESGCM,
        .eciesEncryptionStandardX963SHA256AESGCM, .eciesEncryptionStandardX963SHA384AESGCM,
        .eciesEncryptionStandardX963SHA512AESGCM, .eciesEncryptionCofactorX963SHA1AESGCM,
        .eciesEncryptionCofactorX963SHA224AESGCM, .eciesEncryptionCofactorX963SHA256AESGCM,
        .eciesEncryptionCofactorX963SHA384AESGCM, .eciesEncryptionCofactorX963SHA512AESGCM,
        .eciesEncryptionStandardVariableIVX963SHA224AESGCM,
        .eciesEncryptionStandardVariableIVX963SHA256AESGCM,
        .eciesEncryptionStandardVariableIVX963SHA384AESGCM,
        .eciesEncryptionStandardVariableIVX963SHA512AESGCM,
        .eciesEncryptionCofactorVariableIVX963SHA224AESGCM,
        .eciesEncryptionCofactorVariableIVX963SHA256AESGCM,
        .eciesEncryptionCofactorVariableIVX963SHA384AESGCM,
        .eciesEncryptionCofactorVariableIVX963SHA512AESGCM, .ecdhKeyExchangeStandard,
        .ecdhKeyExchangeStandardX963SHA1, .ecdhKeyExchangeStandardX963SHA224,
        .ecdhKeyExchangeStandardX963SHA256, .ecdhKeyExchangeStandardX963SHA384,
        .ecdhKeyExchangeStandardX963SHA512, .ecdhKeyExchangeCofactor,
        .ecdhKeyExchangeCofactorX963SHA1, .ecdhKeyExchangeCofactorX963SHA224,
        .ecdhKeyExchangeCofactorX963SHA256, .ecdhKeyExchangeCofactorX963SHA384,
        .ecdhKeyExchangeCofactorX963SHA512,
    ]
}
