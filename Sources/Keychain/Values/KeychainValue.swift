// KeychainValue: a type that defines how its values are stored, and the standard types that
// conform.

public import Foundation

/// A type whose values can be stored as a secret.
///
/// `Data`, `String`, `UUID`, `SymmetricKey` and CryptoKit's private keys are keychain values,
/// including the private keys of the post-quantum algorithms ML-KEM, ML-DSA and X-Wing, but not
/// CryptoKit's keys in the Secure Enclave. Adopt this protocol to store your own type in a form
/// that you define:
///
/// ```swift
/// extension PairingCode: KeychainValue {
///     init(keychainData: Data) throws {
///         guard keychainData.count == 6 else { throw KeychainError(.invalidData) }
///         self.init(digits: Array(keychainData))
///     }
///     var keychainData: Data { Data(digits) }
/// }
/// ```
///
/// A `Codable` type does not need this protocol: its values are stored as JSON.
public protocol KeychainValue: Sendable {
    /// Creates a value from stored bytes.
    ///
    /// - Throws: Any error if the bytes are not a value of this type. The caller of `load` receives
    ///   a ``KeychainError`` with code ``KeychainError/Code/decodingFailed`` and your error as the
    ///   underlying error. The details of a `DecodingError` are omitted, because they could contain
    ///   the secret. If you throw a ``KeychainError``, its code is kept.
    init(keychainData: Data) throws

    /// The bytes to store.
    ///
    /// - Throws: Any error if the value can't be represented as bytes.
    var keychainData: Data { get throws }
}

extension Data: KeychainValue {
    /// Uses the stored bytes unchanged.
    public init(keychainData: Data) {
        self = keychainData
    }

    /// The data itself.
    public var keychainData: Data { self }
}

extension String: KeychainValue {
    /// Creates a string from stored UTF-8.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/dataConversionFailed`` if the
    ///   bytes are not valid UTF-8. No bytes are replaced or dropped.
    public init(keychainData: Data) throws {
        guard let text = String(validating: keychainData, as: UTF8.self) else {
            throw KeychainError(.dataConversionFailed)
        }
        self = text
    }

    /// The text as UTF-8, without a byte order mark or a terminating zero.
    public var keychainData: Data { Data(utf8) }
}

extension UUID: KeychainValue {
    /// Creates an identifier from the 36 characters of its `uuidString`, ignoring case.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidData`` if the bytes have
    ///   any other format.
    public init(keychainData: Data) throws {
        guard let text = String(validating: keychainData, as: UTF8.self),
            let identifier = UUID(uuidString: text)
        else {
            throw KeychainError(.invalidData)
        }
        self = identifier
    }

    /// The 36 characters of `uuidString`, so that the same item can be loaded as a `String`.
    public var keychainData: Data { Data(uuidString.utf8) }
}
