// SecKeyConvertible: CryptoKit's keys that Security has a type for, which are those on NIST curves.

import CryptoKit
import Foundation

/// A private key that can be converted to a `SecKey` and back. The key and the `SecKey` have the
/// same ANSI X9.63 representation: 04, the two coordinates of the public key, and the private
/// scalar.
public protocol SecKeyConvertible: Sendable {
    /// The size of the curve in bits.
    static var keySizeInBits: Int { get }

    /// Creates a key from its representation, or throws CryptoKit's error if the bytes are not a
    /// key on the curve.
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws

    /// The ANSI X9.63 representation of the key.
    var x963Representation: Data { get }
}

extension P256.Signing.PrivateKey: SecKeyConvertible {
    /// 256.
    public static var keySizeInBits: Int { 256 }
}

extension P256.KeyAgreement.PrivateKey: SecKeyConvertible {
    /// 256.
    public static var keySizeInBits: Int { 256 }
}

extension P384.Signing.PrivateKey: SecKeyConvertible {
    /// 384.
    public static var keySizeInBits: Int { 384 }
}

extension P384.KeyAgreement.PrivateKey: SecKeyConvertible {
    /// 384.
    public static var keySizeInBits: Int { 384 }
}

extension P521.Signing.PrivateKey: SecKeyConvertible {
    /// 521.
    public static var keySizeInBits: Int { 521 }
}

extension P521.KeyAgreement.PrivateKey: SecKeyConvertible {
    /// 521.
    public static var keySizeInBits: Int { 521 }
}
