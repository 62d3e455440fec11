// PasscodePolicy: which passcodes are long enough, and what opening one costs.
//   (1) The device key is in a file beside the keybag: an attacker with a copy of the folder is held
//       up by the passcode and its cost alone.
//   (2) The cost is measured where the passcode is set; it is never below scrypt's N = 2^17, r = 8,
//       p = 1, the least that OWASP recommends.

import FoundationEssentials
import Glibc
package import KeychainCore

package enum PasscodePolicy: Hashable, Sendable {
    case floor
    /// For those who know what they do: any passcode of a byte and more.
    case weak

    package static let leastCharacterCount = 12
    package static let leastWordCount = 5

    /// - Throws: `param` for a passcode below the floor.
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
    /// The highest N of 2^17 to 2^19, and so at most 512 MiB of memory, that takes no longer than
    /// the time and an eighth of the machine's memory, in bytes. 2^17 in any case, which is what is
    /// measured.
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

    /// Measured once in a process.
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
