// Keychain.Migration: the words of a migration: what to move, what to do in a conflict, and what
// was done.
//   (1) Nothing here holds a value: a report can be logged but for the names in it.

import Foundation

extension Keychain {
    /// The types that a migration into a keychain is described with.
    ///
    /// Migrations are methods of ``Keychain/Keychain``: `migrate(_:from:onConflict:)` from
    /// `UserDefaults`, `migrate(_:from:account:onConflict:)` and `migrateAll(from:onConflict:)`
    /// from another keychain.
    public enum Migration {
        /// What happens if the destination has another value than the source already.
        public enum ConflictRule: Hashable, Sendable {
            /// Nothing: both stay as they are, and the conflict is reported.
            case report
            /// The destination's value stays, the source's is removed.
            case keepDestination
            /// The source's value replaces the destination's.
            case keepSource
        }

        /// What was done about one value. A later version can add an outcome.
        public struct Outcome: Hashable, Sendable, CustomStringConvertible {
            /// The outcome in words, such as "nothing to migrate".
            public let rawValue: String

            private init(rawValue: String) {
                self.rawValue = rawValue
            }

            /// The value is in the destination now, was read back there, and is gone from the
            /// source.
            public static let migrated = Outcome(rawValue: "migrated")
            /// The item changed in place: only its accessibility or label was another.
            public static let changedInPlace = Outcome(rawValue: "changed in place")
            /// The destination had the value already; it is gone from the source.
            public static let alreadyThere = Outcome(rawValue: "already there")
            /// There is nothing in the source.
            public static let nothingToMigrate = Outcome(rawValue: "nothing to migrate")
            /// The destination has another value. Nothing was changed.
            public static let conflict = Outcome(rawValue: "conflict")
            /// The destination had another value, which was kept; the source's is gone.
            public static let destinationKept = Outcome(rawValue: "destination kept")
            /// The destination had another value, which the source's has replaced.
            public static let destinationReplaced = Outcome(rawValue: "destination replaced")
            /// The destination has the value, and the source has it still: its file can't be
            /// written, or it is a registered default or of a domain that this program can't
            /// change.
            public static let sourceRemains = Outcome(rawValue: "source remains")
            /// It failed. The source has the value still. ``Record/error`` says why.
            public static let failed = Outcome(rawValue: "failed")

            /// Whether there is nothing left to do.
            public var isComplete: Bool {
                ![.conflict, .sourceRemains, .failed].contains(self)
            }

            /// The raw value.
            public var description: String { rawValue }
        }

        /// What was done about one value.
        public struct Record: Sendable {
            /// The key of the defaults or the account in the source.
            public let source: String
            /// The account in the destination.
            public let account: String
            /// What was done.
            public let outcome: Outcome
            /// Why it failed. Without ``KeychainError/storedData`` and
            /// ``KeychainError/underlyingError``, which could hold a value.
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

        /// What was done, value by value, in the order in which they were given or found.
        public struct Report: Sendable {
            /// What was done about each value.
            public let records: [Record]

            /// Whether nothing is left to do. If not, see to what the records say and migrate again.
            public var isComplete: Bool { records.allSatisfy(\.outcome.isComplete) }

            /// The records with an outcome.
            public func records(_ outcome: Outcome) -> [Record] {
                records.filter { $0.outcome == outcome }
            }
        }

        /// A value to move out of `UserDefaults`.
        public struct Entry: Sendable {
            /// The key of the defaults.
            public let defaultsKey: String
            /// The account in the destination.
            public var account: String { form.account }

            let form: StoredForm
            /// An object of the defaults to stored bytes.
            let bytes: @Sendable (Any) throws -> Data

            /// A value to move out of `UserDefaults`, in a form of your own.
            ///
            /// - Parameters:
            ///   - defaultsKey: The key of the defaults.
            ///   - key: The name of the value in the keychain.
            ///   - value: Turns what `object(forKey:)` gives into a value. If it throws, the
            ///     outcome is ``Outcome/failed`` and the defaults stay as they are.
            public init<Value: Sendable>(
                _ defaultsKey: String, to key: KeychainKey<Value>,
                value: @escaping @Sendable (Any) throws -> Value
            ) {
                self.defaultsKey = defaultsKey
                form = StoredForm(key)
                bytes = { try key.encode(try value($0)) }
            }

            /// A value to move out of `UserDefaults`.
            ///
            /// What the defaults hold may be such a value itself, or bytes or text that a value is
            /// made of as if they had been stored in the keychain: JSON of a `Codable` type, the
            /// text of a `UUID`. Anything else fails, and stays.
            ///
            /// - Parameters:
            ///   - defaultsKey: The key of the defaults.
            ///   - key: The name of the value in the keychain.
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

/// Where a value goes, and when two stored forms are the same value.
struct StoredForm: Sendable {
    let account: String
    var label: String?
    let accessibility: Keychain.Accessibility?
    /// nil: that of the source.
    var accessControl: Keychain.AccessControl?
    private let hasSameValue: @Sendable (Data, Data) -> Bool

    /// A form is the same if its bytes or, where values can be compared, its values are: an
    /// encoder may give a set's elements in another order each time.
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

    /// Bytes of an account, as they are.
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
