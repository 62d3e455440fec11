// DecoyIdentity: a key that is used for nothing, and a certificate of it.
//
// A reader of PKCS #12 that takes nothing but a key with its certificate reads a container with
// other contents when these two are among them.

import Crypto
import SwiftASN1

/// A fresh key and a certificate without a valid signature.
package struct DecoyIdentity {
    /// PrivateKeyInfo, DER.
    package let privateKeyInfo: [UInt8]
    /// Certificate, DER.
    package let certificate: [UInt8]

    package init() {
        let key = P256.Signing.PrivateKey()
        let noName = DERValue.sequence([])
        let ecdsaWithSHA256 = DERValue.sequence([.identifier([1, 2, 840, 10045, 4, 3, 2])])
        let body = DERValue.sequence([
            .integer(1), ecdsaWithSHA256, noName,
            .sequence([.utcTime("200101000000Z"), .utcTime("200101000000Z")]), noName,
            .encoded(Array(key.publicKey.derRepresentation)),
        ])
        privateKeyInfo = Array(key.derRepresentation)
        certificate = DERValue.sequence([body, ecdsaWithSHA256, .bits([0])]).bytes
    }
}
