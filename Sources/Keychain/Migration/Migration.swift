// Keychain.Migration: types that describe a migration: the values to move, the rule for conflicts,
// and the outcome.
//   (1) None of these types contains a value. A report contains only the names of values, their
//       outcomes and errors, so it can be logged wherever the names may be logged.

import Foundation

extension Keychain {
    /// The types that describe a migration to a keychain.
    ///
    /// Migrations are methods of ``Keychain/Keychain``. `migrate(_:from:onConflict:)` and
    /// `migrate(_:fromDefaultsOf:onConflict:)` move values from `UserDefaults`.
    /// `migrate(_:from:account:onConflict:)` and `migrateAll(from:onConflict:)` move values from
    /// another keychain.
    public enum Migration {
        /// What to do if the destination already contains a value that differs from the source's.
        public enum ConflictRule: Hashable, Sendable {
            /// Changes neither value and reports the conflict.
            case report
            /// Keeps the destination's value and removes the source's.
            case keepDestination
            /// Replaces the destination's value with the source's.
            case keepSource
        }

        /// The outcome for one value. A later version can add outcomes.
        public struct Outcome: Hashable, Sendable, CustomStringConvertible {
            /// The name of the outcome, such as "nothing to migrate".
            public let rawValue: String

            private init(rawValue: String) {
                self.rawValue = rawValue
            }

            /// The value was saved in the destination, read back, and removed from the source.
            public static let migrated = Outcome(rawValue: "migrated")
            /// The item already belonged to the destination, and only its accessibility, label or
            /// access control differed from those specified. It was changed in place.
            public static let changedInPlace = Outcome(rawValue: "changed in place")
            /// The destination already had the value. The destination's item was changed in place
            /// if it lacked the required access control, which is that of the key or, if the key
            /// specifies none, that of the source's item. The source's value was removed, unless
            /// source and destination are the same item.
            public static let alreadyThere = Outcome(rawValue: "already there")
            /// The source has no value.
            public static let nothingToMigrate = Outcome(rawValue: "nothing to migrate")
            /// The destination has a different value. Nothing was changed.
            public static let conflict = Outcome(rawValue: "conflict")
            /// The destination had a different value, which was kept. The source's value was
            /// removed.
            public static let destinationKept = Outcome(rawValue: "destination kept")
            /// The destination had a different value, which was replaced by the source's.
            public static let destinationReplaced = Outcome(rawValue: "destination replaced")
            /// The value could not be removed from the source. The destination has the value or,
            /// with ``ConflictRule/keepDestination``, has kept a different one. Either the file of
            /// the defaults can't be written, or the value is a registered default or comes from a
            /// domain that this program can't change.
            public static let sourceRemains = Outcome(rawValue: "source remains")
            /// The migration failed. ``Record/error`` contains the reason. The source still has the
            /// value, except possibly after an ``KeychainError/Cause/interruption`` of its removal.
            public static let failed = Outcome(rawValue: "failed")

            /// Whether nothing is left to do.
            public var isComplete: Bool {
                ![.conflict, .sourceRemains, .failed].contains(self)
            }

            /// The raw value.
            public var description: String { rawValue }
        }

        /// The outcome for one value, and where it was moved from and to.
        public struct Record: Sendable {
            /// The key in the defaults, or the account in the source keychain.
            public let source: String
            /// The account in the destination.
            public let account: String
            /// The outcome.
            public let outcome: Outcome
            /// The error if the migration failed. Its ``KeychainError/storedData`` and
            /// ``KeychainError/underlyingError`` are `nil`, because they could contain a value.
            public let error: KeychainError?

            init(source: String, account: String, outcome: Outcome) {
                self.source = source
                self.account = account
                self.outcome = outcome
                self.error = nil
            }

            init(source: String, account: String, error: KeychainError) {
                self.source = source
                self.account = account
                self.outcome = .failed
                var error = error
                error.storedData = nil
                error.underlyingError = nil
                self.error = error
            }
        }

        /// The outcome for each value, in the order in which the values were specified or found.
        public struct Report: Sendable {
            /// One record per value.
            public let records: [Record]

            /// Whether nothing is left to do. If `false`, resolve the problems in the records and
            /// migrate again.
            public var isComplete: Bool { records.allSatisfy(\.outcome.isComplete) }

            /// Returns the records with a given outcome.
            public func records(_ outcome: Outcome) -> [Record] {
                records.filter { $0.outcome == outcome }
            }
        }

        /// A value to move from `UserDefaults`.
        public struct Entry: Sendable {
            /// The key in the defaults.
            public let defaultsKey: String
            /// The account in the destination.
            public var account: String { form.account }

            let form: StoredForm
            /// Converts an object from the defaults to the bytes to store.
            let bytes: @Sendable (Any) throws -> Data

            /// Creates an entry for a value that a closure converts.
            ///
            /// - Parameters:
            ///   - defaultsKey: The key in the defaults.
            ///   - key: The key of the value in the keychain.
            ///   - value: Converts the result of `object(forKey:)` to a value. If it throws, the
            ///     outcome is ``Outcome/failed`` and the defaults stay unchanged.
            public init<Value: Sendable>(
                _ defaultsKey: String, to key: KeychainKey<Value>,
                value: @escaping @Sendable (Any) throws -> Value
            ) {
                self.defaultsKey = defaultsKey
                form = StoredForm(key)
                bytes = { try key.encode(try value($0)) }
            }

            /// Creates an entry for a value.
            ///
            /// The object in the defaults may be a value of the key's type. It may also be bytes or
            /// text in the form in which the value would be stored in the keychain, such as the
            /// JSON of a `Codable` type or the text of a `UUID`. For any other object, the
            /// migration fails and the defaults stay unchanged.
            ///
            /// - Parameters:
            ///   - defaultsKey: The key in the defaults.
            ///   - key: The key of the value in the keychain.
            public init<Value: Sendable>(_ defaultsKey: String, to key: KeychainKey<Value>) {
                self.init(defaultsKey, to: key) { object in
                    if let value = object as? Value { return value }
                    if let data = object as? Data { return try key.decode(data) }
                    if let text = object as? String { return try key.decode(Data(text.utf8)) }
                    throw KeychainError(.invalidData)
                }
            }
        }
    }
}

/// How a value is stored in the destination, and how its bytes are compared.
struct StoredForm: Sendable {
    let account: String
    var label: String?
    let accessibility: Keychain.Accessibility?
    /// If `nil`, the access control of the source's item is used, if there is one.
    var accessControl: Keychain.AccessControl?
    private let hasSameValue: @Sendable (Data, Data) -> Bool

    /// Creates the form for a value of a `KeychainKey`.
    ///
    /// `isSame` compares bytes and, if they differ, the decoded values if these are equatable:
    /// an encoder may write a set's elements in a different order each time.
    init<Value: Sendable>(_ key: KeychainKey<Value>) {
        account = key.account
        label = key.label
        accessibility = key.accessibility
        accessControl = key.accessControl
        hasSameValue = { first, second in
            guard let first = try? key.decode(first) as? any Equatable,
                let second = try? key.decode(second)
            else { return false }
            return Self.areEqual(first, second)
        }
    }

    /// Creates the form for a value of unknown type: its bytes are stored unchanged under
    /// `account`, and compared without decoding.
    init(account: String, label: String?, accessibility: Keychain.Accessibility?) {
        self.account = account
        self.label = label
        self.accessibility = accessibility
        hasSameValue = { _, _ in false }
    }

    func isSame(_ first: Data, _ second: Data) -> Bool {
        first == second || hasSameValue(first, second)
    }

    private static func areEqual<Value: Equatable>(_ first: Value, _ second: Any) -> Bool {
        first == second as? Value
    }
}
