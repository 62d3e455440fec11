// EngineOptions: what of the outside world an engine is given.

import FoundationEssentials
package import KeychainCrypto
package import Logging

package struct EngineOptions: Sendable {
    /// Now, in seconds since 2001-01-01 00:00:00 UTC.
    package var now: @Sendable () -> Double
    /// The cost of new passcode slots. Existing ones keep theirs.
    package var passcodeCost: PasscodeCost
    /// The cost of application passwords, which is paid with each secret that is opened. What is
    /// stored keeps its own.
    package var applicationPasswordCost: PasscodeCost
    /// The chip that keeps keys, where there is one.
    package var hardware: (any KeyHardware)?
    /// The folder without a keychain that an empty one in memory stands in for. Its status is that of
    /// the folder.
    package var absentFolder: String?
    /// Told of each operation, the shape of its query and its status.
    package var log: Logger

    package init(
        now: @escaping @Sendable () -> Double = { Date().timeIntervalSinceReferenceDate },
        passcodeCost: PasscodeCost = .standard,
        applicationPasswordCost: PasscodeCost = .applicationPassword,
        hardware: (any KeyHardware)? = nil, absentFolder: String? = nil,
        log: Logger = Logger(label: "keychain")
    ) {
        self.now = now
        self.passcodeCost = passcodeCost
        self.applicationPasswordCost = applicationPasswordCost
        self.hardware = hardware
        self.absentFolder = absentFolder
        self.log = log
    }

    /// For tests: derivations that cost nearly nothing and protect nothing.
    package static let testing = EngineOptions(
        passcodeCost: PasscodeCost(logN: 4, blockSize: 8, parallelism: 1),
        applicationPasswordCost: PasscodeCost(logN: 4, blockSize: 8, parallelism: 1))
}
