// SecKeyOperationType, SecPadding, SecKeyKeyExchangeParameter: the small types beside SecKey.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// What is to be done with a key.
public enum SecKeyOperationType: Int, Sendable {
    /// Making a signature, with a private key.
    case sign = 0
    /// Verifying a signature, with a public key.
    case verify = 1
    /// Encrypting, with a public key.
    case encrypt = 2
    /// Decrypting, with a private key.
    case decrypt = 3
    /// Agreeing on a secret, with a private key and another party's public one.
    case keyExchange = 4
}

/// The paddings of the functions that came before ``SecKeyAlgorithm``. Empty: none.
public struct SecPadding: OptionSet, Sendable {
    /// The number of Apple's constant.
    public let rawValue: UInt32

    /// A padding by the number of Apple's constant.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// PKCS #1 v1.5.
    public static let PKCS1 = SecPadding(rawValue: 1)
    /// OAEP over SHA-1.
    public static let OAEP = SecPadding(rawValue: 2)
    /// For ECDSA: both numbers in a row.
    public static let sigRaw = SecPadding(rawValue: 0x4000)
    /// PKCS #1 v1.5 of a digest of MD2. Refused.
    public static let PKCS1MD2 = SecPadding(rawValue: 0x8000)
    /// PKCS #1 v1.5 of a digest of MD5. Refused.
    public static let PKCS1MD5 = SecPadding(rawValue: 0x8001)
    /// PKCS #1 v1.5 of a digest of SHA-1.
    public static let PKCS1SHA1 = SecPadding(rawValue: 0x8002)
    /// PKCS #1 v1.5 of a digest of SHA-224.
    public static let PKCS1SHA224 = SecPadding(rawValue: 0x8003)
    /// PKCS #1 v1.5 of a digest of SHA-256.
    public static let PKCS1SHA256 = SecPadding(rawValue: 0x8004)
    /// PKCS #1 v1.5 of a digest of SHA-384.
    public static let PKCS1SHA384 = SecPadding(rawValue: 0x8005)
    /// PKCS #1 v1.5 of a digest of SHA-512.
    public static let PKCS1SHA512 = SecPadding(rawValue: 0x8006)
}

/// The keys of the parameters of ``SecKeyCopyKeyExchangeResult(_:_:_:_:_:)``.
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, Sendable {
    private let name: String

    /// The text that stands in the dictionary.
    public var rawValue: CFString { NSString(string: name) }

    /// A key of this text.
    public init(rawValue: CFString) {
        name = rawValue as String
    }

    /// How many bytes to derive, 1 to 1048576. Number.
    public static let requestedSize = SecKeyKeyExchangeParameter(rawValue: "requestedSize")

    /// What the derivation takes beside the secret. Data.
    public static let sharedInfo = SecKeyKeyExchangeParameter(rawValue: "sharedInfo")
}

#endif
