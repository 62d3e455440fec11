// SecKeyOperationType, SecPadding, SecKeyKeyExchangeParameter: small types for key operations.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// An operation with a key.
public enum SecKeyOperationType: Int, Sendable {
    /// Creating a signature, with a private key.
    case sign = 0
    /// Verifying a signature, with a public key.
    case verify = 1
    /// Encrypting, with a public key.
    case encrypt = 2
    /// Decrypting, with a private key.
    case decrypt = 3
    /// Key exchange, with a private key and the peer's public key.
    case keyExchange = 4
}

/// The paddings of the functions that are older than ``SecKeyAlgorithm``. An empty set means no
/// padding.
public struct SecPadding: OptionSet, Sendable {
    /// The value of Apple's constant.
    public let rawValue: UInt32

    /// Creates a padding from the value of Apple's constant.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// PKCS #1 v1.5.
    public static let PKCS1 = SecPadding(rawValue: 1)
    /// OAEP with SHA-1.
    public static let OAEP = SecPadding(rawValue: 2)
    /// For ECDSA: r ‖ s instead of DER.
    public static let sigRaw = SecPadding(rawValue: 0x4000)
    /// PKCS #1 v1.5 with an MD2 digest. Not supported.
    public static let PKCS1MD2 = SecPadding(rawValue: 0x8000)
    /// PKCS #1 v1.5 with an MD5 digest. Not supported.
    public static let PKCS1MD5 = SecPadding(rawValue: 0x8001)
    /// PKCS #1 v1.5 with a SHA-1 digest.
    public static let PKCS1SHA1 = SecPadding(rawValue: 0x8002)
    /// PKCS #1 v1.5 with a SHA-224 digest.
    public static let PKCS1SHA224 = SecPadding(rawValue: 0x8003)
    /// PKCS #1 v1.5 with a SHA-256 digest.
    public static let PKCS1SHA256 = SecPadding(rawValue: 0x8004)
    /// PKCS #1 v1.5 with a SHA-384 digest.
    public static let PKCS1SHA384 = SecPadding(rawValue: 0x8005)
    /// PKCS #1 v1.5 with a SHA-512 digest.
    public static let PKCS1SHA512 = SecPadding(rawValue: 0x8006)
}

/// The dictionary keys for the parameters of ``SecKeyCopyKeyExchangeResult(_:_:_:_:_:)``.
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, Sendable {
    private let name: String

    /// The string that is the key in the dictionary.
    public var rawValue: CFString { NSString(string: name) }

    /// Creates a parameter key from its string.
    public init(rawValue: CFString) {
        name = rawValue as String
    }

    /// The number of bytes to derive, 1 to 1048576. Number.
    public static let requestedSize = SecKeyKeyExchangeParameter(rawValue: "requestedSize")

    /// Additional input of the key derivation. Data.
    public static let sharedInfo = SecKeyKeyExchangeParameter(rawValue: "sharedInfo")
}

#endif
