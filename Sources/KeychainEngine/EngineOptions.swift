// EngineOptions: what of the outside world an engine is given.

import Foundation
package import KeychainCrypto

package struct EngineOptions: Sendable {
    /// Now, in seconds since 2001-01-01 00:00:00 UTC.
    package var now: @Sendable () -> Double
    /// The cost of new passcode slots. Existing ones keep theirs.
    package var passcodeCost: PasscodeCost

    package init(
        now: @escaping @Sendable () -> Double = { Date().timeIntervalSinceReferenceDate },
        passcodeCost: PasscodeCost = .standard
    ) {
        self.now = now
        self.passcodeCost = passcodeCost
    }

    /// For tests: a passcode derivation that costs nearly nothing and protects nothing.
    package static let testing = EngineOptions(
        passcodeCost: PasscodeCost(logN: 4, blockSize: 8, parallelism: 1))
}
