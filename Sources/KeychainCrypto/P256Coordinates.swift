// P256Coordinates: points of the curve on which hardware has keys, by their coordinates.
//   (1) The library makes a shared secret by a key agreement alone. Agreeing as the owner of the private
//       key 1 gives the other side's x coordinate, so one with the point of the x coordinate that the
//       hardware gave is made. The point's sign doesn't matter.

package import Crypto
package import FoundationEssentials

extension SharedSecret {
    /// The secret with this x coordinate of a point on P-256, 32 bytes.
    ///
    /// - Throws: What the library throws where there is no point of this coordinate.
    package init(p256Coordinate coordinate: some DataProtocol) throws {
        let one = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: [UInt8](repeating: 0, count: 31) + [1])
        let point = try P256.KeyAgreement.PublicKey(
            compressedRepresentation: [2] + Array(coordinate))
        self = try one.sharedSecretFromKeyAgreement(with: point)
    }
}

extension Data {
    /// Whether these bytes are 04 ‖ X ‖ Y of a point on P-256.
    package var isPointOnP256: Bool {
        (try? P256.KeyAgreement.PublicKey(x963Representation: self)) != nil
    }
}
