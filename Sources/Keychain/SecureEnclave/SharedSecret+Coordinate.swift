// SharedSecret+Coordinate: creates a shared secret from its x coordinate on Apple platforms. On
// other platforms, KeychainCrypto provides this initializer.

#if canImport(Darwin)

import Crypto
import Foundation

extension SharedSecret {
    /// Creates the secret from the 32-byte x coordinate of a point on P-256, as the result of a key
    /// agreement between the private key 1 and that point. Both points with this coordinate give
    /// the same result.
    ///
    /// - Throws: The error of `Crypto` if the coordinate doesn't have 32 bytes, or if no point on
    ///   the curve has this coordinate.
    init(p256Coordinate coordinate: Data) throws {
        let one = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: [UInt8](repeating: 0, count: 31) + [1])
        let point = try P256.KeyAgreement.PublicKey(
            compressedRepresentation: [2] + Array(coordinate))
        self = try one.sharedSecretFromKeyAgreement(with: point)
    }
}

#endif
