// SoftwareChip: a simulated chip without real secrecy, for tests of a sealed device key.

package import Foundation
package import KeychainCrypto
package import KeychainCore
import Synchronization

/// Hardware that seals by XORing a secret with its own bytes and adding a hash. It has no other
/// function.
package final class SoftwareChip: KeyHardware {
    package let name = "a chip of the tests"
    private let pad: [UInt8]
    /// Whether unsealing returns something other than what was sealed.
    private let isBroken: Bool
    private let count = Mutex(0)

    /// A chip that every process shares: each can unseal what another has sealed.
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
        // A TPM refuses this, too.
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
