// EngineOptions: what of the outside world an engine is given.

import Foundation
package import KeychainCrypto
package import Logging

package struct EngineOptions: Sendable {
    /// Now, in seconds since 2001-01-01 00:00:00 UTC.
    package var now: @Sendable () -> Double
    /// The cost of new passcode slots. Existing ones keep theirs.
    package var passcodeCost: PasscodeCost
    /// Told of each operation, the shape of its query and its status.
    package var log: Logger

    package init(
        now: @escaping @Sendable () -> Double = { Date().timeIntervalSinceReferenceDate },
        passcodeCost: PasscodeCost = .standard, log: Logger = Logger(label: "keychain")
    ) {
        self.now = now
        self.passcodeCost = passcodeCost
        self.log = log
    }

    /// For tests: a passcode derivation that costs nearly nothing and protects nothing.
    package static let testing = EngineOptions(
        passcodeCost: PasscodeCost(logN: 4, blockSize: 8, parallelism: 1))
}
