// GenericPasswordConvertible: the keys of CryptoKit that Security has no type for. The keychain
// keeps their bytes as it keeps a password.

import CryptoKit
import Foundation

/// A key that can become bytes and come back.
public protocol GenericPasswordConvertible: Sendable {
    /// The key of the bytes; CryptoKit's error where they are none.
    init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws

    /// The bytes.
    var rawRepresentation: Data { get }
}

extension Curve25519.Signing.PrivateKey: GenericPasswordConvertible {}
extension Curve25519.KeyAgreement.PrivateKey: GenericPasswordConvertible {}

extension SymmetricKey: GenericPasswordConvertible {
    /// The key of the bytes. Any number but zero is one.
    public init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws {
        self.init(data: rawRepresentation)
        guard bitCount > 0 else { throw CryptoKitError.incorrectKeySize }
    }

    /// The bytes.
    public var rawRepresentation: Data { withUnsafeBytes { Data($0) } }
}
