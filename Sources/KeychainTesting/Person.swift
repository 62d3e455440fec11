// Person: who sits in front of a test keychain, and what they do when they are asked.

#if !canImport(Darwin)

public import KeychainAuthentication

extension TestKeychain {
    /// A person who is asked for the passcode, for an application password, or for a finger.
    public struct Person: Hashable, Sendable {
        /// What they enter when asked for the passcode: one after the other, then the last again
        /// and again. Empty: they decline.
        public var passcodes: [Entry]

        /// What they enter when asked for the application password of an item. nil: they decline.
        public var applicationPassword: String?

        /// What happens when they are asked for a finger or face.
        public var touch: Touch

        /// Makes a person.
        ///
        /// - Parameters:
        ///   - passcodes: What they enter when asked for the passcode; see ``passcodes``.
        ///   - applicationPassword: What they enter when asked for that. nil: they decline.
        ///   - touch: What happens when they are asked for a finger or face.
        public init(
            passcodes: [Entry] = [.right], applicationPassword: String? = nil,
            touch: Touch = .recognized
        ) {
            self.passcodes = passcodes
            self.applicationPassword = applicationPassword
            self.touch = touch
        }

        /// Knows the passcode and is recognized, and declines to enter an application password.
        public static let owner = Person()

        /// Enters a wrong passcode whenever asked, and isn't recognized.
        public static let stranger = Person(passcodes: [.wrong], touch: .notRecognized)

        /// Declines everything.
        public static let declining = Person(passcodes: [], touch: .declines)
    }

    /// What a person enters for a passcode.
    public struct Entry: Hashable, Sendable, ExpressibleByStringLiteral {
        enum Kind: Hashable, Sendable {
            case right
            case text(String)
        }

        let kind: Kind

        /// The passcode of the keychain.
        public static let right = Entry(kind: .right)

        /// Something that is not the passcode.
        public static let wrong = Entry(kind: .text("\u{0}not the passcode"))

        /// Some text.
        ///
        /// - Parameter text: The text, 0 bytes and up.
        /// - Returns: The entry.
        public static func text(_ text: String) -> Entry { Entry(kind: .text(text)) }

        /// Some text.
        public init(stringLiteral text: String) { kind = .text(text) }

        private init(kind: Kind) { self.kind = kind }
    }

    /// What happens when a person is asked for a finger or face.
    public struct Touch: Hashable, Sendable {
        private let number: Int

        /// They are recognized.
        public static let recognized = Touch(number: 0)
        /// The hardware doesn't know them.
        public static let notRecognized = Touch(number: 1)
        /// They decline.
        public static let declines = Touch(number: 2)
        /// They would rather enter the passcode.
        public static let prefersPasscode = Touch(number: 3)
    }

    /// Biometric hardware, with what is enrolled.
    public struct Biometry: Hashable, Sendable {
        /// The kind of the hardware.
        public var type: LABiometryType

        /// A name for what is enrolled now. Change it as if a finger was added or removed: that
        /// shuts the items that ask for `biometryCurrentSet`.
        /// nil: nothing is.
        public var enrollment: String?

        /// Whether it failed too often and waits for the passcode.
        public var isLockedOut: Bool

        /// Describes hardware.
        ///
        /// - Parameters:
        ///   - type: The kind; anything but `none`, which stands for no hardware.
        ///   - enrollment: A name for what is enrolled. nil: nothing is.
        ///   - isLockedOut: Whether it failed too often.
        public init(
            type: LABiometryType = .touchID, enrollment: String? = "enrolled",
            isLockedOut: Bool = false
        ) {
            self.type = type
            self.enrollment = enrollment
            self.isLockedOut = isLockedOut
        }
    }

    /// Something that a person was asked.
    public struct AskedQuestion: Hashable, Sendable {
        /// What was asked for.
        public struct Subject: Hashable, Sendable {
            private let number: Int

            /// The passcode of the keychain.
            public static let passcode = Subject(number: 0)
            /// The application password of an item.
            public static let applicationPassword = Subject(number: 1)
            /// An application password for an item to be. It is asked for twice.
            public static let newApplicationPassword = Subject(number: 2)
            /// A finger or face.
            public static let biometry = Subject(number: 3)
        }

        /// What was asked for.
        public let subject: Subject
        /// The reason that was told, as the program gave it. May be empty.
        public let reason: String
    }
}

#endif
