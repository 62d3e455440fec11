// A shared secret by its coordinate, where the module that has it elsewhere, KeychainCrypto, isn't
// built.

#if canImport(Darwin)

import Crypto
import Foundation

extension SharedSecret {
    /// The secret with this x coordinate of a point on P-256, 32 bytes: what the owner of the private
    /// key 1 agrees on with that point. The point's sign doesn't matter.
    ///
    /// - Throws: What the library throws where there is no point of this coordinate.
    init(p256Coordinate coordinate: Data) throws {
        let one = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: [UInt8](repeating: 0, count: 31) + [1])
        let point = try P256.KeyAgreement.PublicKey(
            compressedRepresentation: [2] + Array(coordinate))
        self = try one.sharedSecretFromKeyAgreement(with: point)
    }
}

#endif
