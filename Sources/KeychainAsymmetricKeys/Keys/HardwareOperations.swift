// HardwareOperations: SecKey operations built on the two operations that a chip offers for a P-256
// key: ECDSA over 32 bytes, and the x coordinate of a scalar multiplication.

package import FoundationEssentials
import Crypto
import KeychainCore

extension SignatureAlgorithm {
    /// The 32 bytes that the chip signs for an input, and the encoding of the resulting signature.
    ///
    /// - Throws: `parameter` if the algorithm isn't ECDSA, or the digest has the wrong size or is
    ///   empty.
    package func forHardware(
        _ input: Data
    ) throws(KeyOperationFailure) -> (digest: Data, form: ECDSAForm) {
        guard case .ecdsa(let algorithm, let kind, let form) = self else {
            throw .parameter("The algorithm can't be used with a key of this kind.")
        }
        let digest = try algorithm.digest(of: input, kind)
        return (MadeSecureEnclaveKey.signedBytes(of: Data(digest)), form)
    }
}

extension ECDSAForm {
    /// Converts a signature from r ‖ s, 64 bytes, to this encoding.
    ///
    /// - Throws: `parameter` for other bytes.
    package func encoded(_ signature: Data) throws(KeyOperationFailure) -> Data {
        do {
            let parsed = try P256.Signing.ECDSASignature(rawRepresentation: signature)
            return switch self {
            case .x962: parsed.derRepresentation
            case .rfc4754: parsed.rawRepresentation
            }
        } catch {
            throw .parameter("The hardware returned no valid signature.")
        }
    }
}

extension KeyExchangeAlgorithm {
    /// Derives the result of the exchange from the x coordinate that the chip returned.
    ///
    /// - Throws: `parameter` if the algorithm includes a key derivation and the requested size is
    ///   missing or out of range.
    package func derive(
        fromHardware secret: Data, _ parameters: KeyExchangeParameters
    ) throws(KeyOperationFailure) -> Data {
        try derive(from: Array(secret), parameters)
    }
}

/// A message encrypted with ECIES to a key in a chip.
package struct HardwareCiphertext {
    private let parts: ECIESCiphertext
    private let digest: DigestAlgorithm
    private let derivesVector: Bool

    /// - Throws: `parameter` if the algorithm isn't ECIES, or the ciphertext is too short.
    package init(
        _ ciphertext: Data, _ algorithm: EncryptionAlgorithm
    ) throws(KeyOperationFailure) {
        guard case .ecies(let digest, let derivesVector) = algorithm else {
            throw .parameter("The algorithm can't be used with a key of this kind.")
        }
        self.parts = try ECIESCiphertext(ciphertext, curve: .p256)
        self.digest = digest
        self.derivesVector = derivesVector
    }

    /// The point that the chip multiplies by the private scalar, as 04 ‖ X ‖ Y.
    package var ephemeralPoint: Data { parts.ephemeralPoint }

    /// Decrypts the message, given the x coordinate that the chip returned.
    ///
    /// - Throws: `parameter` if the message was encrypted to another key or was changed.
    package func open(_ secret: Data) throws(KeyOperationFailure) -> Data {
        try parts.open(Array(secret), digest, derivesVector: derivesVector)
    }
}
