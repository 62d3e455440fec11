// Keychain.Availability: whether a keychain or an item can be read, and if not, the reason.
//   (1) The state is "absent" only if the keychain reported that the item does not exist. An error
//       is never reported as absence.

extension Keychain {
    /// Whether a keychain or an item can be read now, and if not, the reason.
    public struct Availability: Sendable {
        /// The result of a probe. A later version can add states.
        public struct State: Hashable, Sendable, CustomStringConvertible {
            /// The name of the state, such as "locked".
            public let rawValue: String

            private init(rawValue: String) {
                self.rawValue = rawValue
            }

            /// The keychain or item can be read.
            public static let available = State(rawValue: "available")
            /// The item does not exist. The keychain itself can be read.
            public static let absent = State(rawValue: "absent")
            /// The keychain or item is locked: wait for an unlock. Or the item requires
            /// authentication. On Linux, it is unknown before the first unlock whether the item
            /// exists.
            public static let locked = State(rawValue: "locked")
            /// The program or its user lacks permission to read it, or the context that was passed
            /// to `authenticating(with:)` is invalid or has a wrong application password. Waiting
            /// does not help.
            public static let denied = State(rawValue: "denied")
            /// The keychain or item is damaged. Nothing was deleted. Waiting does not help.
            public static let damaged = State(rawValue: "damaged")
            /// The keychain, its service or its hardware is busy or can't be reached. Retry later.
            public static let busy = State(rawValue: "busy")
            /// The keychain or item can't be read for another reason; see ``Availability/error``.
            public static let failed = State(rawValue: "failed")

            /// The raw value.
            public var description: String { rawValue }
        }

        /// The result of the probe.
        public let state: State

        /// The reason that the keychain or item can't be read, or `nil` if it can be read or the
        /// item does not exist.
        public let error: KeychainError?

        /// Whether a read gives a definite result: a value, or the information that none exists.
        public var isAnswer: Bool { error == nil }

        /// Whether waiting can help: the state can end by itself or with an unlock.
        ///
        /// This is `true` if the keychain or item is locked or busy, and if the keychain is not
        /// available yet, as can happen while a system boots. It is also `true` if the item
        /// requires authentication, although waiting doesn't help then: load the item instead. It
        /// is `false` if the keychain or item can be read only on another machine.
        public var isPassing: Bool {
            switch state {
            case .locked, .busy: true
            case .failed: error?.code == .notAvailable && error?.cause != .otherMachine
            default: false
            }
        }

        static let available = Availability(state: .available, error: nil)
        static let absent = Availability(state: .absent, error: nil)

        private init(state: State, error: KeychainError?) {
            self.state = state
            self.error = error
        }

        /// The availability that follows from the error of a read.
        init(_ error: KeychainError) {
            state =
                switch (error.code, error.cause) {
                case (.interactionNotAllowed, _): .locked
                case (_, .damage): .damaged
                case (_, .contention): .busy
                case (_, .permission), (.authFailed, _), (.userCanceled, _): .denied
                default: .failed
                }
            self.error = error
        }
    }
}

extension Keychain.Availability: CustomStringConvertible {
    /// The state and, if there is one, the error. No names or values are included.
    public var description: String {
        if let error { "\(state) (\(error))" } else { "\(state)" }
    }
}
