// Recovery: a new database from every item of a damaged one that is whole.
//   (1) Nothing damaged is deleted or written over: the damaged files are moved, as they are,
//       to a folder beside.
//   (2) The new database is complete and synchronized before the old one is moved. An
//       interrupted recovery leaves the old files, or a finished new database that the next
//       recovery puts in place.
//   (3) Only rows of the last commit whose tags verify become items; an older state of an item is
//       never taken for the present one.
//   (4) A row that is damaged, or that may have been deleted, is set aside in the new database: a
//       search for it is answered with damage, not with "not found", and it can be restored.

import Foundation
package import KeychainCrypto
package import KeychainModel
import KeychainStore

/// What a recovery brought back.
package struct RecoveryReport: Hashable, Sendable {
    /// Items that are in the new database.
    package var itemCount = 0
    /// How many there should be, by the newest header found; nil where there is none.
    package var expectedCount: Int?
    /// Rows that are set aside because their bytes are not whole.
    package var damagedItems: [ItemReference] = []
    /// Rows that are set aside because no header tells whether they are items or were deleted.
    package var doubtfulItems: [ItemReference] = []
    /// Whether the items that came back, with a damaged one, are exactly those that a header
    /// vouches for. Otherwise some can be missing.
    package var isVerified = false
    /// The folder with the damaged files.
    package var damagedDirectory = ""

    /// Whether nothing is lost.
    package var isComplete: Bool { isVerified && (expectedCount ?? .max) == itemCount }
}

extension KeychainEngine {
    /// Rebuilds a keychain's database. No program may have it open.
    ///
    /// - Parameters:
    ///   - directory: An absolute path.
    ///   - passcode: Needed where one is set: items of a locked class can't be told from damaged ones.
    ///   - options: The clock, and the hardware that a sealed device key needs.
    ///   - progress: Called now and then with the number of items that are whole so far.
    /// - Returns: What came back, what did not, and where the damaged files are.
    /// - Throws: `interactionNotAllowed` without a needed passcode, `authFailed` for a wrong one,
    ///   `notAvailable` while another process uses the keychain. Nothing is changed then.
    package static func recover(
        directory: String, passcode: SecretBytes? = nil,
        options: EngineOptions = EngineOptions(), progress: (Int) -> Void = { _ in }
    ) throws(KeychainFailure) -> RecoveryReport {
        let folder = StoreFolder(path: directory)
        try folder.checkFolder()
        let lease = try folder.lease(exclusive: true)
        defer { lease.end() }
        let rebuilt = folder.rebuilt
        let deviceKey = try Bootstrap.readDeviceKey(folder, options.hardware)
        var recovery = Recovery(folder: folder, rebuilt: rebuilt, options: options)
        // The old database is moved only when the new one is finished, see (2).
        if folder.exists(.database) || !rebuilt.exists(.database) {
            try recovery.rebuild(deviceKey: deviceKey, passcode: passcode, progress)
        }
        try recovery.putInPlace()
        return recovery.report
    }
}
