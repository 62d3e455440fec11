// GenericPasswordConvertible: CryptoKit's keys that Security has no type for. The keychain stores
// their bytes like a password.

import CryptoKit
import Foundation

/// A key that can be converted to bytes and back.
public protocol GenericPasswordConvertible: Sendable {
    /// Creates a key from its bytes, or throws CryptoKit's error if they are not a key.
    init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws

    /// The bytes of the key.
    var rawRepresentation: Data { get }
}

extension Curve25519.Signing.PrivateKey: GenericPasswordConvertible {}
extension Curve25519.KeyAgreement.PrivateKey: GenericPasswordConvertible {}

extension SymmetricKey: GenericPasswordConvertible {
    /// Creates a key from its bytes. Any number of bytes except zero is a key.
    public init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws {
        self.init(data: rawRepresentation)
        guard bitCount > 0 else { throw CryptoKitError.incorrectKeySize }
    }

    /// The bytes of the key.
    public var rawRepresentation: Data { withUnsafeBytes { Data($0) } }
}
