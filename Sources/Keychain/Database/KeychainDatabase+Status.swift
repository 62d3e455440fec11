// What a person wants to know about a database: its state, and whether it is whole.

#if !canImport(Darwin)

public import Foundation
import KeychainEngine
import KeychainCore

extension KeychainDatabase {
    /// What can be read at a time. A later version can add a state.
    public struct LockState: Hashable, Sendable, CustomStringConvertible {
        /// The state in words.
        public let rawValue: String

        init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A passcode is set, and the process that has the database open, this one or the
        /// keychain service, has not been given it.
        public static let beforeFirstUnlock = LockState(rawValue: "before first unlock")
        /// Items that are readable after the first unlock are, others aren't.
        public static let locked = LockState(rawValue: "locked")
        /// Every item is readable.
        public static let unlocked = LockState(rawValue: "unlocked")

        /// The raw value.
        public var description: String { rawValue }
    }

    /// The state of a database.
    public struct Status: Hashable, Sendable {
        /// The folder. `:memory:`, which is no folder, for one in memory.
        public let directory: URL
        /// What can be read in the process that has the database open: this one, or the keychain
        /// service.
        public let lockState: LockState
        /// Whether a passcode is set.
        public let hasPasscode: Bool
        /// How many items there are, of all services and groups.
        public let itemCount: Int
        /// How many damaged items were set aside.
        public let setAsideCount: Int
        /// The size of the files in bytes; 0 for a database in memory.
        public let byteCount: Int
        /// Whether all keys are kept out of swap space, in the process that has the database open.
        public let isMemoryLocked: Bool
    }

    /// What a check found.
    public struct CheckReport: Hashable, Sendable {
        /// An item that is not as it was written.
        public struct DamagedItem: Hashable, Sendable {
            /// Its persistent reference without the class, where that can still be told.
            public let reference: Data?
            /// What is wrong with it. Holds no name and no value.
            public let reason: String
        }

        /// How many items there are.
        public let itemCount: Int
        /// How many were locked and could not be checked in full.
        public let lockedCount: Int
        /// The damaged ones. They were left where they are.
        public let damagedItems: [DamagedItem]
        /// What is wrong with the structure, in words.
        public let problems: [String]
        /// How many pages of the file are not as they were written.
        public let damagedPageCount: Int

        /// Whether nothing is wrong.
        public var isSound: Bool {
            damagedItems.isEmpty && problems.isEmpty && damagedPageCount == 0
        }
    }

    /// The state of the database.
    ///
    /// - Throws: ``KeychainError`` if it can't be opened, or the keychain service doesn't let this
    ///   program look at the database as a whole.
    public func status() throws(KeychainError) -> Status {
        let status = try administer { keychain throws(KeychainFailure) in
            try keychain.perform(ReadStatus())
        }
        return Status(
            directory: URL(filePath: status.directory, directoryHint: .isDirectory),
            lockState: LockState(rawValue: status.lockState.rawValue),
            hasPasscode: status.hasPasscode, itemCount: Int(clamping: status.itemCount),
            setAsideCount: Int(clamping: status.setAsideCount), byteCount: status.byteCount,
            isMemoryLocked: status.isMemoryLocked)
    }

    /// Reads everything once and reports what is not as it was written.
    ///
    /// Nothing is changed.
    ///
    /// - Parameter progress: Called now and then with the number of items checked so far and
    ///   the number of all.
    /// - Returns: What was found.
    /// - Throws: ``KeychainError`` if it can't be opened.
    public func check(
        progress: (_ checked: Int, _ all: Int) -> Void = { _, _ in }
    ) throws(KeychainError) -> CheckReport {
        let report = try administer { keychain throws(KeychainFailure) in
            try keychain.stream(CheckKeychain()) {
                progress($0.done, $0.total)
                return true
            }
        }
        return CheckReport(
            itemCount: report.itemCount, lockedCount: report.lockedCount,
            damagedItems: report.damagedItems.map {
                .init(reference: $0.reference.map { Data($0.bytes) }, reason: $0.what)
            },
            problems: report.problems, damagedPageCount: report.damagedPages.count)
    }

    /// The state of the database, without blocking the caller.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func status() async throws -> Status {
        try await BlockingPool.shared.run { try status() }
    }

    /// Reads everything once and reports what is not as it was written, without blocking the
    /// caller.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func check() async throws -> CheckReport {
        try await BlockingPool.shared.run { try check() }
    }
}

#endif
