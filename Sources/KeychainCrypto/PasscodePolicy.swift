// PasscodePolicy: the minimum length of passcodes, and the cost of deriving a key from one.
//   (1) Unless hardware seals the device key, a file beside the keybag contains it unencrypted.
//       Only the passcode and its cost then protect the items from an attacker with a copy of the
//       folder.
//   (2) A process measures the cost once, when it is first needed. The result is never below
//       scrypt's N = 2^17, r = 8, p = 1, the minimum that OWASP recommends.

import FoundationEssentials
import Glibc
package import KeychainCore

package enum PasscodePolicy: Hashable, Sendable {
    case floor
    /// For users who accept the risk: any passcode of at least one byte.
    case weak

    package static let leastCharacterCount = 12
    package static let leastWordCount = 5

    /// - Throws: `param` if the passcode is shorter than the policy permits.
    package func check(_ passcode: SecretBytes) throws(KeychainFailure) {
        guard self == .floor else { return }
        let (characters, words) = passcode.textCounts
        guard characters >= Self.leastCharacterCount || words >= Self.leastWordCount else {
            throw .param(
                "The passcode is too short: it needs \(Self.leastCharacterCount) characters or "
                    + "\(Self.leastWordCount) words. Nothing was changed.")
        }
    }
}

// MARK: - Cost

extension PasscodeCost {
    /// Returns the highest cost, from N = 2^17 to N = 2^19, that takes at most `time` and at most
    /// an eighth of `memory`, which is in bytes. N = 2^19 takes 512 MiB. Only N = 2^17 is measured;
    /// the times of higher costs are computed from it. If N = 2^17 itself exceeds a limit, the
    /// result is still N = 2^17.
    package static func calibrated(
        toward time: Duration = .seconds(1), memory: Int = physicalMemory,
        measuring measure: (PasscodeCost) -> Duration = Self.measured
    ) -> PasscodeCost {
        var cost = standard
        var expected = measure(standard)
        while cost.logN < 19 {
            expected *= 2
            guard expected <= time, cost.memoryByteCount * 2 <= memory / 8 else { break }
            cost.logN += 1
        }
        return cost
    }

    /// The calibrated cost, measured once per process.
    package static let ofThisMachine = calibrated()

    package static let physicalMemory =
        sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))

    package static func measured(_ cost: PasscodeCost) -> Duration {
        ContinuousClock().measure {
            _ = try? cost.deriveKey(
                from: SecretBytes(copying: [0]), salt: [UInt8](repeating: 0, count: 16))
        }
    }
}
