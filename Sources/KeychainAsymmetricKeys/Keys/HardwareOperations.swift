// HardwareOperations: what is to be done around the two operations of a chip on a key on P-256: ECDSA
// of 32 bytes, and the x coordinate of a product.

package import FoundationEssentials
import Crypto
import KeychainCore

extension SignatureAlgorithm {
    /// What the chip signs for an input, 32 bytes, and how its answer is written.
    ///
    /// - Throws: `parameter` for an algorithm that isn't ECDSA, or a digest of a wrong size.
    package func forHardware(
        _ input: Data
    ) throws(KeyOperationFailure) -> (digest: Data, form: ECDSAForm) {
        guard case .ecdsa(let algorithm, let kind, let form) = self else {
            throw .parameter("The key is of another kind than the algorithm.")
        }
        let digest = try algorithm.digest(of: input, kind)
        return (MadeSecureEnclaveKey.signedBytes(of: Data(digest)), form)
    }
}

extension ECDSAForm {
    /// A signature of r ‖ s, 64 bytes, in this form.
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
            throw .parameter("The hardware gave no signature.")
        }
    }
}

extension KeyExchangeAlgorithm {
    /// What is derived from the x coordinate that the chip gave.
    ///
    /// - Throws: `parameter` where the algorithm derives and the size is missing or impossible.
    package func derive(
        fromHardware secret: Data, _ parameters: KeyExchangeParameters
    ) throws(KeyOperationFailure) -> Data {
        try derive(from: Array(secret), parameters)
    }
}

/// A message that was encrypted by ECIES to a key in a chip.
package struct HardwareCiphertext {
    private let parts: ECIESCiphertext
    private let digest: DigestAlgorithm
    private let derivesVector: Bool

    /// - Throws: `parameter` for an algorithm that isn't ECIES, or what is too short.
    package init(
        _ ciphertext: Data, _ algorithm: EncryptionAlgorithm
    ) throws(KeyOperationFailure) {
        guard case .ecies(let digest, let derivesVector) = algorithm else {
            throw .parameter("The key is of another kind than the algorithm.")
        }
        self.parts = try ECIESCiphertext(ciphertext, curve: .p256)
        self.digest = digest
        self.derivesVector = derivesVector
    }

    /// The point that the chip multiplies, 04 ‖ X ‖ Y.
    package var ephemeralPoint: Data { parts.ephemeralPoint }

    /// The message, by the x coordinate that the chip gave.
    ///
    /// - Throws: `parameter` for a message to another key, or one that was changed.
    package func open(_ secret: Data) throws(KeyOperationFailure) -> Data {
        try parts.open(Array(secret), digest, derivesVector: derivesVector)
    }
}
