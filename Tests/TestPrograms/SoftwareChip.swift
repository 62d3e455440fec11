// SoftwareChip: a simulated chip without real secrecy, for tests of device keys and key slots that
// a chip seals.

package import Foundation
package import KeychainCrypto
package import KeychainCore
import Synchronization

/// Hardware that seals a secret by XORing the secret with a pad and adding a hash. This hardware
/// has no other function.
package final class SoftwareChip: KeyHardware {
    package let name = "a chip of the tests"
    private let pad: [UInt8]
    /// Whether unsealing returns a secret that differs from the sealed secret.
    private let isBroken: Bool
    private let count = Mutex(0)

    /// A chip that all processes share: each process can unseal secrets that another process has
    /// sealed.
    package static let ofAllProcesses = SoftwareChip(pad: Array(repeating: 0xFF, count: 128))

    /// A chip that unseals only what it has sealed itself.
    package convenience init(isBroken: Bool = false) {
        self.init(pad: (0..<128).map { _ in .random(in: 0...255) }, isBroken: isBroken)
    }

    private init(pad: [UInt8], isBroken: Bool = false) {
        self.pad = pad
        self.isBroken = isBroken
    }

    package var unsealedCount: Int { count.withLock { $0 } }

    package func seal(_ secret: SecretBytes) throws(KeychainFailure) -> Data {
        // A TPM also refuses a secret that is too long.
        guard secret.plainBytes.count <= pad.count else {
            throw KeychainFailure(.param, "The secret is longer than \(pad.count) bytes.")
        }
        let hidden = zip(secret.plainBytes, pad).map { $0 ^ $1 }
        return Data(SecretBytes(copying: pad + hidden).sha256 + hidden)
    }

    package func unseal(_ sealed: Data) throws(KeychainFailure) -> SecretBytes {
        count.withLock { $0 += 1 }
        let hidden = Array(sealed.dropFirst(32))
        guard SecretBytes(copying: pad + hidden).sha256 == Array(sealed.prefix(32)) else {
            throw KeychainFailure(.decode, "Another chip sealed this.", cause: .damage)
        }
        let secret = zip(hidden, pad).map { $0 ^ $1 }
        return SecretBytes(copying: isBroken ? secret.map { $0 ^ 1 } : secret)
    }

    package func makeKey(authorization: SecretBytes) throws(KeychainFailure) -> HardwareKey {
        throw .secureEnclaveUnavailable
    }

    package func sign(
        digest: Data, with wrapped: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> Data {
        throw .secureEnclaveUnavailable
    }

    package func sharedSecret(
        of wrapped: Data, with publicKey: Data, authorization: SecretBytes
    ) throws(KeychainFailure) -> SecretBytes {
        throw .secureEnclaveUnavailable
    }
}
