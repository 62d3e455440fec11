// KeychainError.Cause: tells apart what one code stands for.

extension KeychainError {
    /// Why the keychain could not do something, coarsely: who has to act next.
    ///
    /// One code can stand for several causes: ``Code/notAvailable`` for a damaged database as
    /// well as for one that another process keeps busy.
    ///
    /// Only the named causes exist. It is a structure and no enumeration, so that a later version
    /// can add one without breaking a `switch`.
    public struct Cause: Hashable, Sendable, CustomStringConvertible {
        /// The cause in a word, such as "damage".
        public let rawValue: String

        private init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Stored bytes are not what was written, or they are missing. A person has to look.
        public static let damage = Cause(rawValue: "damage")
        /// The program or its user may not: files belong to another user or are open to others, or
        /// an entitlement is missing. A person has to correct that.
        public static let permission = Cause(rawValue: "permission")
        /// Another process uses the keychain. A later attempt can succeed.
        public static let contention = Cause(rawValue: "contention")
        /// The keychain service didn't answer, or the connection to it broke. It is not known whether
        /// the change was made: look before you try again.
        public static let interruption = Cause(rawValue: "interruption")
        /// The item stays on its device, and this is another machine. A person has to use the first
        /// one, or the recovery code.
        public static let otherMachine = Cause(rawValue: "otherMachine")
        /// What the code says.
        public static let other = Cause(rawValue: "other")

        /// The raw value.
        public var description: String { rawValue }

        /// The cause that a code stands for where nothing more is known.
        init(_ code: Code) {
            switch code {
            case .decode, .invalidKeychain: self = .damage
            case .missingEntitlement: self = .permission
            default: self = .other
            }
        }
    }

    /// Why, where one code stands for several causes.
    ///
    /// Apple's functions give a status and nothing else: on Apple platforms this is what follows
    /// from the code, and ``Cause/other`` for most codes.
    public var cause: Cause {
        get { reportedCause ?? Cause(code) }
        set { reportedCause = newValue }
    }
}
