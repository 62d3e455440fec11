// KeyHardware: the functions of a chip for keys, such as a TPM 2.0, and points on the curve of its
// keys.
//   (1) The chip creates a private key and never reveals it unencrypted. Outside the chip there is
//       only the wrapped key, which is useless with another chip.
//   (2) Every use of a key requires its authorization value. The keychain seals this value; the
//       blob of a key contains it next to the wrapped key.
//   (3) A chip returns the x coordinate of a shared point, but the crypto library creates a shared
//       secret only by key agreement. Key agreement with the private key 1 yields the x coordinate
//       of the peer's public key. Therefore a point with the x coordinate from the chip is passed
//       as the peer's public key. It doesn't matter which of the two points with this x coordinate
//       is passed.

package import Crypto
package import FoundationEssentials
package import KeychainCore

/// Hardware for keys. All functions can be called concurrently from any thread.
package protocol KeyHardware: Sendable {
    /// The manufacturer and kind of the hardware, to show to a user.
    var name: String { get }

    /// `false` only for simulated hardware that a test has removed. A real chip counts as present
    /// even if it doesn't respond, which is known only when it is used.
    var isPresent: Bool { get }

    /// Creates a P-256 key for signing and key agreement. Every use of it requires the
    /// authorization value, 32 random bytes.
    func makeKey(authorization: SecretBytes) throws(KeychainFailure) -> HardwareKey

    /// Signs 32 bytes with ECDSA.
    /// - Returns: r ‖ s, 64 bytes.
    /// - Throws: `decode` if the key is damaged or belongs to another chip.
    func sign(
        digest: Data, with wrapped: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> Data

    /// Multiplies a peer's public key, 04 ‖ X ‖ Y, by the wrapped private key and returns the x
    /// coordinate of the product, 32 bytes.
    /// - Throws: `param` if the public key is not a point on the curve.
    func sharedSecret(
        of wrapped: Data, with publicKey: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> SecretBytes

    /// Encrypts 1 to 128 bytes so that only this chip can decrypt them.
    func seal(_ secret: SecretBytes) throws(KeychainFailure) -> Data

    /// - Throws: `decode` if the bytes are damaged or belong to another chip.
    func unseal(_ sealed: Data) throws(KeychainFailure) -> SecretBytes

    /// The names of the chip's storage keys. They distinguish the chip from all others, and no
    /// other hardware can impersonate the chip. Empty if the hardware has no such keys.
    func identity() throws(KeychainFailure) -> [Data]

    /// Returns the same hardware, usable only while it has one of these names. Otherwise each use
    /// throws `decode` with the cause `otherMachine`, before any secret is sent to the hardware.
    /// The default implementation, for hardware without names, returns the hardware itself.
    func bound(to identity: [Data]) -> any KeyHardware
}

extension KeyHardware {
    package var isPresent: Bool { true }

    package func identity() throws(KeychainFailure) -> [Data] { [] }

    package func bound(to identity: [Data]) -> any KeyHardware { self }
}

/// A key that the hardware created.
package struct HardwareKey: Hashable, Sendable {
    /// The key, wrapped by the chip.
    package let wrapped: Data
    /// 04 ‖ X ‖ Y, 65 bytes.
    package let publicKey: Data

    package init(wrapped: Data, publicKey: Data) {
        self.wrapped = wrapped
        self.publicKey = publicKey
    }
}

// MARK: - Points

extension SharedSecret {
    /// Creates the shared secret that is the x coordinate of a point on P-256, 32 bytes.
    ///
    /// - Throws: The library's error if no point has this coordinate.
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
