// KeychainError.Cause: distinguishes the causes that share one code.

extension KeychainError {
    /// The general cause of a failure, which determines who has to act next.
    ///
    /// One code can have several causes. For example, ``Code/notAvailable`` stands for a damaged
    /// database as well as for a database that another process keeps busy.
    ///
    /// Only the causes declared here exist. This type is a structure rather than an enumeration so
    /// that a later version can add causes without breaking `switch` statements.
    public struct Cause: Hashable, Sendable, CustomStringConvertible {
        /// The name of the cause, such as "damage".
        public let rawValue: String

        private init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Stored bytes are missing or differ from what was written. The user has to investigate.
        public static let damage = Cause(rawValue: "damage")
        /// Permissions are wrong: a file or socket of the keychain belongs to another user, is
        /// accessible to other users or is not accessible to this one, the program lacks an
        /// entitlement, or the TPM's storage hierarchy has a password. The user has to correct
        /// this.
        public static let permission = Cause(rawValue: "permission")
        /// The keychain, its service or its hardware is busy or can't be reached. A retry can
        /// succeed.
        public static let contention = Cause(rawValue: "contention")
        /// The keychain service did not respond, the connection to it broke, or the change could
        /// not be synchronized to the disk. The change may or may not have been made: check before
        /// you retry.
        public static let interruption = Cause(rawValue: "interruption")
        /// The keychain, or the item or key, is bound to a machine or chip. The current machine is
        /// a different one, its identity has changed, or its chip can't be used. The user has to
        /// use the original machine or the recovery code. A Secure Enclave key with this cause
        /// may also belong to another keychain; the program has to create a new one.
        public static let otherMachine = Cause(rawValue: "otherMachine")
        /// None of the other causes. Only the code describes the failure.
        public static let other = Cause(rawValue: "other")

        /// The raw value.
        public var description: String { rawValue }

        /// The cause that follows from a code alone.
        init(_ code: Code) {
            switch code {
            case .decode, .invalidKeychain: self = .damage
            case .missingEntitlement: self = .permission
            default: self = .other
            }
        }
    }

    /// The cause of the failure, which distinguishes failures that have the same code.
    ///
    /// Apple's functions return only a status. On Apple platforms, the cause therefore follows from
    /// the code, and is ``Cause/other`` for most codes.
    public var cause: Cause {
        get { reportedCause ?? Cause(code) }
        set { reportedCause = newValue }
    }
}
