// SecKeyConvertible: the keys of CryptoKit that Security has a type for, those on NIST's curves.

import CryptoKit
import Foundation

/// A private key that can become a `SecKey` and come back: both know the ANSI X9.63 form, which is
/// 04, the two coordinates of the public key and the private number.
public protocol SecKeyConvertible: Sendable {
    /// The size of the curve in bits.
    static var keySizeInBits: Int { get }

    /// The key of a form; CryptoKit's error where the bytes are no key on the curve.
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws

    /// The form.
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
