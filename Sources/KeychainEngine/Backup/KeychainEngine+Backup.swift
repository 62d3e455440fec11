// KeychainEngine+Backup: writes every item of a keychain as a line of a backup. For an item that is
// left out, the line has its name, or only its reference if the item can't be opened.
//   (1) All rows are from one point in time: they are read in one transaction.
//   (2) A locked item ends the backup with an error, because a backup without items that could be
//       read after an unlock would be incomplete.
//   (3) The database is verified while it is read. If it differs from its last commit, it is not
//       backed up. If only the content of an item is damaged, the item is listed among those left
//       out.

import FoundationEssentials
package import KeychainCore
package import KeychainCrypto
import KeychainSQLite
import Synchronization

/// The contents of a backup.
package struct BackupSummary: Sendable {
    package internal(set) var itemCount = 0
    /// The number of *this device only* items in the file. `itemCount` includes the *this device
    /// only* items that can be restored on this machine. `leftOut` lists those that can be restored
    /// only on another machine.
    package internal(set) var deviceItemCount = 0
    package internal(set) var leftOut: [BackupName] = []
    /// The time of the backup, in seconds since 2001-01-01.
    package internal(set) var created: Double = 0
}

extension KeychainEngine {
    /// Writes a backup to an age file: every item that a backup may contain, and the names of the
    /// items that are left out.
    ///
    /// - Parameters:
    ///   - writer: The file, begun and not finished. This function finishes it.
    ///   - progress: Called now and then with the number of items done and the total number.
    /// - Returns: The contents of the file, and the items that were left out.
    /// - Throws: `interactionNotAllowed` if an item is locked; `diskFull` if the file can't be
    ///   written, for whatever reason; the errors that report damage; the errors of the machine's
    ///   chip. After any error the file is unusable.
    package func backUp(
        to writer: AgeWriter, progress: (RequestProgress) -> Void = { _ in }
    ) throws(KeychainFailure) -> BackupSummary {
        try attempt { () throws(KeychainFailure) in
            try reloadKeybag()
            var backup = RunningBackup(self, writer)
            try backup.begin()
            var failure: KeychainFailure?
            let verification = try store.verify(notingAt: options.now, includesSecrets: true) {
                found, position, total in
                if position % 100 == 0 { progress(RequestProgress(done: position, total: total)) }
                do throws(KeychainFailure) {
                    try backup.add(found)
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
            if let failure { throw failure }
            if let problem = verification.problem { throw .damagedStore(problem) }
            return try backup.end()
        }
    }
}

/// A backup in progress.
private struct RunningBackup {
    private let engine: KeychainEngine
    private let writer: AgeWriter
    private var summary = BackupSummary()
    private var machineKey: SecretBytes?

    init(_ engine: KeychainEngine, _ writer: AgeWriter) {
        self.engine = engine
        self.writer = writer
    }

    mutating func begin() throws(KeychainFailure) {
        summary.created = engine.options.now()
        try write(
            BackupLine(
                head: BackupHead(
                    created: summary.created, keychain: Data(engine.store.keychainID))))
    }

    mutating func end() throws(KeychainFailure) -> BackupSummary {
        try write(
            BackupLine(
                end: BackupEnd(
                    items: summary.itemCount - summary.deviceItemCount,
                    deviceItems: summary.deviceItemCount, leftOut: summary.leftOut.count)))
        do {
            try writer.finish()
        } catch {
            throw .unwritten
        }
        return summary
    }

    mutating func add(_ found: Store.Found) throws(KeychainFailure) {
        guard case .row(let row) = found else {
            throw .damagedStore("a row has columns of the wrong kind")
        }
        guard let protection = ProtectionClass(rawValue: row.protection) else {
            return try leaveOut(row.reference)
        }
        let keys: ClassKeys
        do throws(KeychainFailure) {
            keys = try engine.keys(for: protection)
        } catch {
            guard error.cause == .otherMachine else { throw error }
            return try leaveOut(row.reference, .otherMachine)
        }
        guard
            let record = try? RowSealing.openMetadata(
                of: row, keychainID: engine.store.keychainID, keys: keys)
        else { return try leaveOut(row.reference) }
        // A tombstone is not an item.
        guard !record.isTombstone else { return }
        if let reason = omission(of: record, protection) {
            return try leaveOut(BackupItem(record, row.reference, protection, data: nil), reason)
        }
        var item = BackupItem(record, row.reference, protection, data: nil)
        if record.secretTag != nil {
            let opened = OpenedRow(row: row, record: record, protection: protection, keys: keys)
            guard let content = engine.openContent(opened) else {
                return try leaveOut(row.reference)
            }
            item = BackupItem(record, row.reference, protection, data: content)
        }
        guard protection.isThisDeviceOnly else {
            summary.itemCount += 1
            return try write(BackupLine(item: item))
        }
        try addForThisDevice(item)
    }

    private func omission(
        of record: ItemRecord, _ protection: ProtectionClass
    ) -> BackupOmission? {
        if protection == .whenPasscodeSetThisDeviceOnly { return .passcodeBound }
        if record.isOfSecureEnclave || record.attributes[.tokenID] != nil { return .hardware }
        if case .number(let number) = record.attributes[.systemBound], number != 0 {
            return .systemBound
        }
        return record.accessGroup == "lockdown-identities" ? .systemBound : nil
    }

    private mutating func addForThisDevice(_ item: BackupItem) throws(KeychainFailure) {
        if machineKey == nil {
            guard let made = try BackupMachine.make(for: engine.options.machine) else {
                return try leaveOut(item, .unidentifiedMachine)
            }
            machineKey = made.key
            try write(BackupLine(machine: made.place))
        }
        guard let machineKey, var plaintext = try? BackupLine(item: item).encoded() else {
            throw .unwritten
        }
        defer { plaintext.resetBytes(in: plaintext.startIndex..<plaintext.endIndex) }
        let sealed = BackupMachine.seal(
            plaintext, as: BackupDeviceItem.binding(item.reference), using: machineKey)
        summary.itemCount += 1
        summary.deviceItemCount += 1
        try write(BackupLine(deviceItem: BackupDeviceItem(name: item.name, sealed: sealed)))
    }

    private mutating func leaveOut(
        _ item: BackupItem, _ reason: BackupOmission
    ) throws(KeychainFailure) {
        guard let restored = item.restored else { throw .unwritten }
        summary.leftOut.append(restored.name(reason))
        try write(
            BackupLine(
                leftOut: BackupLeftOut(
                    name: item.name, reference: item.reference, reason: reason)))
    }

    private mutating func leaveOut(
        _ reference: ItemReference, _ reason: BackupOmission = .damaged
    ) throws(KeychainFailure) {
        summary.leftOut.append(BackupName(item: nil, reference: reference, omission: reason))
        try write(
            BackupLine(
                leftOut: BackupLeftOut(
                    name: nil, reference: reference.description, reason: reason)))
    }

    private func write(_ line: BackupLine) throws(KeychainFailure) {
        do {
            var bytes = try line.encoded()
            defer { bytes.resetBytes(in: bytes.startIndex..<bytes.endIndex) }
            try writer.write(bytes)
        } catch {
            throw .unwritten
        }
    }
}

extension KeychainFailure {
    fileprivate static let unwritten = KeychainFailure(
        .diskFull, "The backup could not be written. Free some space, or choose another location.")
}
