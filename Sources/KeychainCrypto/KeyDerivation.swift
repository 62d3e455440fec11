// KeyDerivation: HKDF-SHA-256 for keys from keys, scrypt for keys from passcodes and passwords.

package import KeychainCore
import Crypto

package enum KeyDerivation {
    /// What a derived key is for. The raw value is HKDF's info.
    package enum Purpose: String {
        case deviceWrapping = "swift-keychain 1 device"
        case passcodeWrapping = "swift-keychain 1 device+passcode"
        case slotWrapping = "swift-keychain 1 slot"
        case keybagAuthentication = "swift-keychain 1 keybag"
    }

    /// HKDF-SHA-256 with the keychain's identifier as salt.
    /// - Returns: 32 bytes.
    package static func derive(
        _ purpose: Purpose, from key: SecretBytes, salt: [UInt8]
    ) -> SecretBytes {
        key.withSymmetricKey {
            SecretBytes(
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: $0, salt: salt, info: Array(purpose.rawValue.utf8),
                    outputByteCount: 32))
        }
    }
}

/// The cost of deriving a key from a passcode or a password (RFC 7914).
package struct PasscodeCost: Hashable, Sendable {
    /// log2 of the CPU and memory cost N.
    package var logN: UInt8
    package var blockSize: UInt8
    package var parallelism: UInt8

    package init(logN: UInt8, blockSize: UInt8, parallelism: UInt8) {
        self.logN = logN
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// N = 2^17, r = 8, p = 1: 128 MiB of memory.
    package static let standard = PasscodeCost(logN: 17, blockSize: 8, parallelism: 1)

    /// N = 2^15, r = 8, p = 1: 32 MiB of memory and a fraction of the time, for it is paid with
    /// every secret that is opened, and the secret is under the keychain's keys besides.
    package static let applicationPassword = PasscodeCost(
        logN: 15, blockSize: 8, parallelism: 1)

    /// 128 · r · N.
    package var memoryByteCount: Int { 128 * Int(blockSize) << Int(logN) }

    /// Whether a reader takes the cost: at most 1 GiB of memory and p = 16, so that an altered
    /// file can't exhaust the machine.
    package var isAcceptable: Bool {
        (1...24).contains(logN) && (1...32).contains(blockSize) && (1...16).contains(parallelism)
            && memoryByteCount <= 1 << 30 && Int(logN) < 16 * Int(blockSize)
    }

    /// - Returns: 32 bytes.
    package func deriveKey(
        from passcode: SecretBytes, salt: [UInt8]
    ) throws(KeychainFailure) -> SecretBytes {
        guard isAcceptable else {
            throw KeychainFailure(
                .notAvailable, "A derivation of a key beyond the limits is asked for.")
        }
        do {
            return try passcode.scrypt(salt: salt, cost: self)
        } catch {
            throw KeychainFailure(
                .allocate, "Deriving a key from a passcode or password failed: too little memory.")
        }
    }
}
