// VerificationState: whether a keychain is known to be what its last commit left.

package struct VerificationState: Hashable, Sendable {
    package enum Standing: CaseIterable, Hashable, Sendable {
        /// There are no files.
        case unneeded
        /// It is, by a verification since the machine started.
        case verified
        /// It is, by a verification that only this process knows of.
        case verifiedHere
        /// A verification is under way.
        case running
        /// There was no verification since the machine started.
        case never
        /// Its files were changed since the last one, by anything but a keychain.
        case changed
        /// It isn't.
        case failed
    }

    package let standing: Standing
    /// When it was verified last, in seconds since 2001-01-01.
    package let moment: Double?
    /// What is wrong, in words.
    package let problem: String?

    package init(_ standing: Standing, at moment: Double? = nil, problem: String? = nil) {
        self.standing = standing
        self.moment = moment
        self.problem = problem
    }

    package var isVerified: Bool { standing == .verified || standing == .verifiedHere }

    /// Whether a verification would tell more.
    package var isNeeded: Bool { standing == .never || standing == .changed }
}
