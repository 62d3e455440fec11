// Keychain.Availability: whether a keychain or an item can be read, and if not, why.
//   (1) "Absent" is what the keychain answered. An error is never shown as absence.

extension Keychain {
    /// Whether a keychain or an item can be read at the moment.
    public struct Availability: Sendable {
        /// What a probe found. A later version can add a state.
        public struct State: Hashable, Sendable, CustomStringConvertible {
            /// The state in a word, such as "locked".
            public let rawValue: String

            private init(rawValue: String) {
                self.rawValue = rawValue
            }

            /// It can be read.
            public static let available = State(rawValue: "available")
            /// There is no such item. The keychain itself can be read.
            public static let absent = State(rawValue: "absent")
            /// It is there and locked. Wait for an unlock.
            public static let locked = State(rawValue: "locked")
            /// This program or its user may not read it. Waiting doesn't help.
            public static let denied = State(rawValue: "denied")
            /// It is damaged. Nothing was deleted; waiting doesn't help.
            public static let damaged = State(rawValue: "damaged")
            /// Another process keeps it busy. Try again.
            public static let busy = State(rawValue: "busy")
            /// It can't be read for another reason; ``Availability/error`` has it.
            public static let failed = State(rawValue: "failed")

            /// The raw value.
            public var description: String { rawValue }
        }

        /// What was found.
        public let state: State

        /// Why it can't be read. nil if it can, or is absent.
        public let error: KeychainError?

        /// Whether a read gives an answer: a value, or that there is none.
        public var isAnswer: Bool { error == nil }

        /// Whether the state can pass by itself, or by an unlock.
        ///
        /// True if locked or busy, and if the keychain isn't there at all yet, which happens while
        /// a system starts.
        public var isPassing: Bool {
            switch state {
            case .locked, .busy: true
            case .failed: error?.code == .notAvailable
            default: false
            }
        }

        static let available = Availability(state: .available, error: nil)
        static let absent = Availability(state: .absent, error: nil)

        private init(state: State, error: KeychainError?) {
            self.state = state
            self.error = error
        }

        /// What an error of a read says.
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
    /// The state and, if there is one, the error. No name and no value.
    public var description: String {
        if let error { "\(state) (\(error))" } else { "\(state)" }
    }
}
