// KeychainValue: a type that says itself how it is stored, and the standard types that do.

public import Foundation

/// A type whose values can be stored as a secret.
///
/// `Data`, `String`, `UUID`, `SymmetricKey` and CryptoKit's private keys are keychain values, those of
/// the post-quantum algorithms ML-KEM, ML-DSA and X-Wing among them.
/// Adopt the protocol to store a type of your own in a form of your own:
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
/// A `Codable` type needs nothing of this; it is stored as JSON.
public protocol KeychainValue: Sendable {
    /// Makes a value of stored bytes.
    ///
    /// - Throws: Any error if the bytes are no value of this type. The caller of `load` gets a
    ///   ``KeychainError`` with code ``KeychainError/Code/decodingFailed`` and yours as the
    ///   underlying error or, if you throw a ``KeychainError``, one with the code of yours.
    init(keychainData: Data) throws

    /// The bytes to store.
    ///
    /// - Throws: Any error if the value has no such form.
    var keychainData: Data { get throws }
}

extension Data: KeychainValue {
    /// The stored bytes as they are.
    public init(keychainData: Data) {
        self = keychainData
    }

    /// These bytes.
    public var keychainData: Data { self }
}

extension String: KeychainValue {
    /// Text of stored UTF-8.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/dataConversionFailed`` if the
    ///   bytes are no UTF-8. Nothing is replaced or dropped.
    public init(keychainData: Data) throws {
        guard let text = String(validating: keychainData, as: UTF8.self) else {
            throw KeychainError(.dataConversionFailed)
        }
        self = text
    }

    /// The text as UTF-8, without a byte-order mark or a closing zero.
    public var keychainData: Data { Data(utf8) }
}

extension UUID: KeychainValue {
    /// An identifier from its 36 characters, as `uuidString` gives them; case doesn't count.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/invalidData`` if the bytes
    ///   are anything else.
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
