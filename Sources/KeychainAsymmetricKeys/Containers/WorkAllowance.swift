// WorkAllowance: how much work the data of one import may ask for.
//   (1) Work is taken off before it is done.
//
// What one key or container asks for is bounded where it is read. Without this, data with a thousand
// of them could ask for that a thousand times.

package import KeychainCore

/// The work that one import may still do.
package struct WorkAllowance {
    /// What an import begins with, in rounds of PBKDF2: a minute at the most. Tests lower it.
    @TaskLocal package static var initialRounds = 10 * PasswordHash.roundLimit

    /// What it takes to check the numbers of a private key, in rounds: some milliseconds.
    package static let roundsPerKey = 10_000

    private var rounds: Int

    package init() {
        rounds = Self.initialRounds
    }

    /// Takes work off.
    ///
    /// - Parameter count: Rounds, 0 and up.
    /// - Throws: `unsupportedFormat` if less is left.
    package mutating func take(_ count: Int) throws(KeychainFailure) {
        guard count <= rounds else {
            throw KeychainFailure(
                .unsupportedFormat, "The keys in the data ask for too much work together.")
        }
        rounds -= count
    }
}
