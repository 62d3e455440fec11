// KeychainEngine+Check: reads the whole keychain once and reports everything that differs from what
// was written.
//   (1) The database is verified as a whole, see `Verification`, and the outcome is recorded.
//   (2) Nothing is changed, with two exceptions: rows are set aside on request, and a keybag file
//       that is missing or differs from the keybag in the database is rewritten.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto
import KeychainSQLite
import Synchronization

extension KeychainEngine {
    /// Checks structure, header, labels, and the attributes and secret of every row and earlier
    /// version whose keys are available.
    ///
    /// - Parameters:
    ///   - settingAside: Pass `true` to set damaged rows aside, so that their primary keys can be
    ///     used again. Nothing is set aside if the database as a whole, a page or a row that was
    ///     set aside earlier is damaged. A row with columns of the wrong types is never set aside.
    ///   - progress: Called before the first row, then before every 1000th further row, and after
    ///     the last row, with the number of rows checked and the total number. Return `false` to
    ///     cancel the check. After the last row, the returned value has no effect.
    /// - Returns: The problems found, if any.
    /// - Throws: `userCanceled` if `progress` returned `false`; the error if earlier versions can't
    ///   be read; the error if anything else can't be read, unless a problem with the database as a
    ///   whole was found before it; the error if a row can't be set aside, although others may have
    ///   been. Damage can be the reason for these errors.
    package func check(
        settingAside: Bool = false, progress: (RequestProgress) -> Bool = { _ in true }
    ) throws(KeychainFailure) -> CheckReport {
        try attempt { () throws(KeychainFailure) in
            try checkSession(settingAside: settingAside, progress)
        }
    }

    private func checkSession(
        settingAside: Bool, _ progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> CheckReport {
        var report = CheckReport()
        let differs = try Bootstrap.keybagCopyDiffers(store.file)
        try reloadKeybag()
        if differs {
            Bootstrap.updateKeybagCopy(store, session.ring.withLock { $0.hierarchy }, log)
        }
        if differs || keybagCopyDiffered {
            let stays = try Bootstrap.keybagCopyDiffers(store.file)
            report.notices.append(
                "the file `keybag` was missing or not a copy of the keybag in the database, and "
                    + (stays
                        ? "can't be rewritten: remove it, or make the keychain's folder writable"
                        : "was rewritten"))
        }
        var damagedRows: [SealedRow] = []
        var isWanted = true
        let verification = try store.verify(notingAt: options.now, includesSecrets: true) {
            found, position, total in
            if position % 1000 == 0 {
                isWanted = progress(RequestProgress(done: position, total: total))
            }
            if isWanted { check(found, &report, &damagedRows) }
            return isWanted
        }
        guard isWanted else { throw KeychainFailure(.userCanceled, "The check was canceled.") }
        _ = progress(RequestProgress(done: report.itemCount, total: report.itemCount))
        report.problems = (verification.problem ?? verification.setAsideProblem).map { [$0] } ?? []
        report.damagedPages = store.damagedPages
        for reference in try damagedVersions() {
            report.damagedItems.append(.earlierVersion(of: reference))
        }
        // A damaged page is never written, so rows on a damaged page can only be set aside by a
        // recovery.
        if settingAside, report.problems.isEmpty, report.damagedPages.isEmpty {
            for row in damagedRows {
                try write { transaction throws(KeychainFailure) in
                    try transaction.setAside(
                        row, reason: .foundByCheck, at: options.now())
                }
                report.setAsideCount += 1
            }
        }
        return report
    }

    private func check(
        _ found: Store.Found, _ report: inout CheckReport, _ damagedRows: inout [SealedRow]
    ) {
        report.itemCount += 1
        guard case .row(let row) = found else {
            report.damagedItems.append(
                .init(
                    reference: nil,
                    what: "its columns have invalid "
                        + "values"))
            return
        }
        guard let what = damage(of: row, &report.lockedCount) else { return }
        report.damagedItems.append(.init(reference: row.reference, what: what))
        damagedRows.append(row)
    }

    /// A description of the damage of a row; `nil` if there is none, or if the row is locked and
    /// can't be examined.
    private func damage(of row: SealedRow, _ lockedCount: inout Int) -> String? {
        guard let protection = ProtectionClass(rawValue: row.protection) else {
            return "its protection class is unknown"
        }
        guard let keys = try? keys(for: protection) else {
            lockedCount += 1
            return nil
        }
        guard
            let record = try? RowSealing.openMetadata(
                of: row, keychainID: store.keychainID, keys: keys)
        else { return "its attributes can't be opened" }
        guard let index = try? store.tiers.keys(of: row.tier).index,
            RowLabels(record, index: index) == row.labels
        else {
            return "its labels don't match its attributes"
        }
        let opened = OpenedRow(row: row, record: record, protection: protection, keys: keys)
        guard record.secretTag != nil else {
            return row.secret == nil
                ? nil
                : "it has a secret, but its attributes say that it has "
                    + "none"
        }
        guard let content = openContent(opened) else { return "its secret can't be opened" }
        if record.isOfSecureEnclave {
            return SecureEnclaveBlob(decoding: content) == nil
                ? "its secret isn't a key of the Secure Enclave" : nil
        }
        guard
            !record.constraints.requiresApplicationPassword
                || PasswordSealing.isWellFormed(content)
        else { return "its secret isn't sealed with an application password" }
        return nil
    }
}
