// KeychainDatabase+Status: the state of a database, and a check of its integrity.

#if !canImport(Darwin)

public import Foundation
import KeychainEngine
import KeychainCore

extension KeychainDatabase {
    /// The lock state of a database. A later version can add states.
    public struct LockState: Hashable, Sendable, CustomStringConvertible {
        /// The name of the state.
        public let rawValue: String

        init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The process that has the database open is the current one or the keychain service. This
        /// process has not unlocked the database yet, or not since `keychainctl lock --all`, or not
        /// since another process replaced the database's keys.
        public static let beforeFirstUnlock = LockState(rawValue: "before first unlock")
        /// Items that are accessible after the first unlock can be read. Items that are accessible
        /// only while unlocked can't.
        public static let locked = LockState(rawValue: "locked")
        /// Items of every accessibility can be read.
        public static let unlocked = LockState(rawValue: "unlocked")

        /// The raw value.
        public var description: String { rawValue }
    }

    /// The state of a database.
    public struct Status: Hashable, Sendable {
        /// The folder of the database. For a database in memory, the path is `:memory:`, which is
        /// not a folder.
        public let directory: URL
        /// The lock state in the process that has the database open, which is the current one or
        /// the keychain service.
        public let lockState: LockState
        /// Whether a passcode or another way to unlock the database is set, such as a credential of
        /// a keychain service.
        public let hasPasscode: Bool
        /// The number of items of all classes and access groups, including the tombstones that
        /// deleted synchronizable items leave.
        public let itemCount: Int
        /// The number of items that were set aside, for example because they are damaged, or
        /// because a recovery couldn't tell whether they had been deleted.
        public let setAsideCount: Int
        /// The size of the database file and its log in bytes, or 0 for a database in memory.
        public let byteCount: Int
        /// Whether all keys are kept out of swap space, in the process that has the database open.
        public let isMemoryLocked: Bool
    }

    /// The result of a check.
    public struct CheckReport: Hashable, Sendable {
        /// An item, or an earlier version of one, whose stored bytes differ from what was written.
        public struct DamagedItem: Hashable, Sendable {
            /// The persistent reference without the class, if it can still be determined.
            public let reference: Data?
            /// A description of the damage, without names or values.
            public let reason: String
        }

        /// The number of items that were counted, including damaged ones and the tombstones that
        /// deleted synchronizable items leave.
        public let itemCount: Int
        /// The number of items that were locked, or are bound to another machine, and were
        /// therefore not checked completely.
        public let lockedCount: Int
        /// The damaged items. The check leaves them in place.
        public let damagedItems: [DamagedItem]
        /// Descriptions of damage to the database's structure.
        public let problems: [String]
        /// The number of pages of the file that differ from what was written.
        public let damagedPageCount: Int

        /// Whether the check found no damage.
        public var isSound: Bool {
            damagedItems.isEmpty && problems.isEmpty && damagedPageCount == 0
        }
    }

    /// Returns the state of the database.
    ///
    /// - Throws: ``KeychainError`` if the database can't be opened, or if the keychain service does
    ///   not permit this program to administer the database.
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

    /// Reads the whole database and reports what differs from what was written.
    ///
    /// No item is changed. Items whose keys are not in memory can't be checked completely: see
    /// ``CheckReport/lockedCount``.
    ///
    /// - Parameter progress: A closure that is called periodically with the number of items checked
    ///   so far and the total number of items.
    /// - Returns: The result of the check.
    /// - Throws: ``KeychainError`` if the database can't be opened, or if the keychain service does
    ///   not permit this program to administer the database.
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

    /// Returns the state of the database, without blocking the caller.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func status() async throws -> Status {
        try await BlockingPool.shared.run { try status() }
    }

    /// Reads the whole database and reports what differs from what was written, without blocking
    /// the caller.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func check() async throws -> CheckReport {
        try await BlockingPool.shared.run { try check() }
    }
}

#endif
