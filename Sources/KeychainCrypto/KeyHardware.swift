// KeyHardware: what a chip can do that keeps keys, such as a TPM 2.0, and the points of the curve
// on which it has them.
//   (1) A private key is made in the chip and never leaves it in the clear; what is kept outside is
//       wrapped by the chip and of no use to another one.
//   (2) Every use of a key takes its authorization value, which the keychain keeps.
//   (3) A chip gives the x coordinate of a product, but the crypto library makes a shared secret by
//       a key agreement alone. Agreeing as the owner of the private key 1 gives the other side's x
//       coordinate, so the other side is a point with the x coordinate that the chip gave. The
//       point's sign doesn't matter.

package import Crypto
package import FoundationEssentials
package import KeychainCore

/// Hardware that keeps keys. Safe to call from many threads at once.
package protocol KeyHardware: Sendable {
    /// Its maker and kind, for people.
    var name: String { get }

    /// Whether it can be used. A simulation can be taken out.
    var isPresent: Bool { get }

    /// Makes a key on P-256 that signs and agrees. Every use of it will take the authorization,
    /// 32 random bytes.
    func makeKey(authorization: SecretBytes) throws(KeychainFailure) -> HardwareKey

    /// Signs 32 bytes with ECDSA.
    /// - Returns: r ‖ s, 64 bytes.
    /// - Throws: `decode` for a key that is damaged or another chip's.
    func sign(
        digest: Data, with wrapped: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> Data

    /// The x coordinate of the product with another's public key, 04 ‖ X ‖ Y; 32 bytes.
    /// - Throws: `param` for what is no point of the curve.
    func sharedSecret(
        of wrapped: Data, with publicKey: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> SecretBytes

    /// Encrypts 1 to 128 bytes so that this chip alone gives them back.
    func seal(_ secret: SecretBytes) throws(KeychainFailure) -> Data

    /// - Throws: `decode` for what is damaged or another chip's.
    func unseal(_ sealed: Data) throws(KeychainFailure) -> SecretBytes

    /// What tells this chip from every other, and that nobody else can pass for it: the names of
    /// its storage keys. Empty: it has nothing of the kind.
    func identity() throws(KeychainFailure) -> [Data]

    /// The same hardware for as long as it has one of these names. Else each use throws `decode`
    /// with the cause `otherMachine`, before anything secret was sent to it.
    func bound(to identity: [Data]) -> any KeyHardware
}

extension KeyHardware {
    package var isPresent: Bool { true }

    package func identity() throws(KeychainFailure) -> [Data] { [] }

    package func bound(to identity: [Data]) -> any KeyHardware { self }
}

/// A key that hardware has made.
package struct HardwareKey: Hashable, Sendable {
    /// The key as the chip wrapped it.
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
