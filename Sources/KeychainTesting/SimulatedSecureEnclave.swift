// SimulatedSecureEnclave: software that takes the place of a chip in a test keychain.
//   (1) The keys are in the memory of this process, encrypted with a key of the simulation. This
//       protects nothing from a program that can read that memory, so the simulation is available
//       only to tests.
//   (2) As with a chip, a wrapped key is of no use to another instance of the simulation, and can
//       be used only with the authorization with which it was wrapped.

#if !canImport(Darwin)

package import FoundationEssentials
import KeychainAsymmetricKeys
package import KeychainCrypto
package import KeychainCore
import Synchronization

/// A software simulation of hardware for keys.
package final class SimulatedSecureEnclave: KeyHardware {
    private let present = Atomic(true)
    private let storageKey = SecretBytes.random(byteCount: AuthenticatedEncryption.keyByteCount)

    package init() {}

    /// `false` simulates that the hardware was removed.
    package var isPresent: Bool {
        get { present.load(ordering: .relaxed) }
        set { present.store(newValue, ordering: .relaxed) }
    }

    package var name: String { "a simulation in software, for tests" }

    package func makeKey(
        authorization: SecretBytes
    ) throws(KeychainFailure) -> HardwareKey {
        let key: AsymmetricPrivateKey
        do {
            key = try AsymmetricPrivateKey(random: .elliptic(.p256))
        } catch {
            throw KeychainFailure(.internalError, "The key could not be created.")
        }
        return HardwareKey(
            wrapped: AuthenticatedEncryption.seal(
                key.externalRepresentation, using: storageKey,
                authenticating: authorization.sha256),
            publicKey: key.publicKey.externalRepresentation)
    }

    package func sign(
        digest: Data, with wrapped: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> Data {
        let key = try unwrap(wrapped, authorization)
        do {
            return try key.sign(digest, using: .ecdsa(nil, .digest, .rfc4754))
        } catch {
            throw .param("The digest can't be signed.")
        }
    }

    package func sharedSecret(
        of wrapped: Data, with publicKey: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> SecretBytes {
        let key = try unwrap(wrapped, authorization)
        do {
            let peer = try AsymmetricPublicKey(
                externalRepresentation: publicKey, kind: .elliptic)
            return SecretBytes(
                copying: try key.exchange(with: peer, using: .ecdh, KeyExchangeParameters()))
        } catch {
            throw .param("The peer's public key is not a point on P-256.")
        }
    }

    package func seal(_ secret: SecretBytes) throws(KeychainFailure) -> Data {
        AuthenticatedEncryption.seal(secret.data, using: storageKey, authenticating: [])
    }

    package func unseal(_ sealed: Data) throws(KeychainFailure) -> SecretBytes {
        do {
            return SecretBytes(
                copying: try AuthenticatedEncryption.open(
                    sealed, using: storageKey, authenticating: []))
        } catch {
            throw .damagedSecureEnclaveKey
        }
    }

    private func unwrap(
        _ wrapped: Data, _ authorization: SecretBytes
    ) throws(KeychainFailure) -> AsymmetricPrivateKey {
        do {
            let bytes = try AuthenticatedEncryption.open(
                wrapped, using: storageKey, authenticating: authorization.sha256)
            return try AsymmetricPrivateKey(externalRepresentation: bytes, kind: .elliptic)
        } catch {
            throw .foreignSecureEnclaveKey
        }
    }
}

#endif
