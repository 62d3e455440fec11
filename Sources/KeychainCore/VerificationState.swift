// VerificationState: whether a keychain is known to be as its last commit left it.

package struct VerificationState: Hashable, Sendable {
    package enum Standing: CaseIterable, Hashable, Sendable {
        /// There are no files to verify.
        case unneeded
        /// The keychain was verified since the machine started.
        case verified
        /// This process verified the keychain, but other processes don't know that, because there
        /// is no usable runtime folder in which to record the verification.
        case verifiedHere
        /// A verification is in progress, and no earlier one shows the present state of the files.
        case running
        /// The keychain has not been verified since the machine started, or since a killed process
        /// left a write-ahead log behind.
        case never
        /// Since the last verification, the files were changed by something other than the commits
        /// of the processes that use the keychain.
        case changed
        /// A verification failed, or this process has found a damaged page or log: the keychain is
        /// not as its last commit left it.
        case failed
    }

    package let standing: Standing
    /// The time of the last verification, in seconds since 2001-01-01; `nil` if it is unknown.
    package let moment: Double?
    /// A description of the damage; `nil` unless `standing` is `failed`.
    package let problem: String?

    package init(_ standing: Standing, at moment: Double? = nil, problem: String? = nil) {
        self.standing = standing
        self.moment = moment
        self.problem = problem
    }

    package var isVerified: Bool { standing == .verified || standing == .verifiedHere }

    /// Whether a new verification would give more information.
    package var isNeeded: Bool { standing == .never || standing == .changed }
}
