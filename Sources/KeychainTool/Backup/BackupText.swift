// BackupText: describes a backup's contents and the changes of a restore, without secrets.

import KeychainCore
import KeychainEngine

enum BackupText {
    /// The maximum number of items that the plan of a restore shows in each list of changes. The
    /// items that the restore leaves out are always all shown.
    private static let shownCount = 20

    static func text(of summary: BackupSummary) -> String {
        var lines = [
            "Created \(timestamp(summary.created)): \(counted(summary.itemCount, "item"))."
        ]
        let elsewhere = summary.leftOut.count { $0.omission == .otherMachine && $0.item != nil }
        let count = summary.deviceItemCount - elsewhere
        if count > 0 {
            lines[0] += " \(count) of them can be restored only on this machine."
        }
        lines += leftOut(summary.leftOut)
        return lines.joined(separator: "\n")
    }

    /// The lines for all items that were left out.
    static func leftOut(_ names: [BackupName]) -> [String] {
        guard !names.isEmpty else { return [] }
        return ["Left out: \(counted(names.count, "item"))."] + rows(names)
    }

    static func text(of restoration: BackupRestoration, isPlan: Bool) -> String {
        var lines: [String] = []
        for (names, done, planned) in [
            (restoration.added, "added", "would be added"),
            (
                restoration.updated, "replaced by the backup's version",
                "would be replaced by the backup's version"
            ),
            (restoration.deleted, "deleted", "would be deleted"),
        ] where !names.isEmpty {
            lines.append("\(counted(names.count, "item")) \(isPlan ? planned : done).")
            guard isPlan else { continue }
            lines += rows(names.prefix(shownCount))
            if names.count > shownCount {
                lines.append("  and \(names.count - shownCount) more, which --json lists")
            }
        }
        if restoration.keptCount > 0 {
            lines.append(
                "\(counted(restoration.keptCount, "item")) unchanged: the keychain's version is "
                    + "the same or newer, or can't be replaced on this machine."
            )
        }
        if lines.isEmpty { lines.append("The backup has nothing to restore.") }
        return (lines + leftOut(restoration.summary.leftOut)).joined(separator: "\n")
    }

    private static func rows(_ names: some Collection<BackupName>) -> [String] {
        table(names.map(cells)).split(separator: "\n").map(String.init)
    }

    private static func cells(_ name: BackupName) -> [String] {
        guard let item = name.item else {
            return ["  " + name.reference.description, "", "", "", why(name)]
        }
        return [
            "  " + ClassName(item.itemClass).rawValue, item.text(of: item.itemClass.firstKey),
            item.text(of: item.itemClass.secondKey), printable(item.accessGroup), why(name),
        ]
    }

    private static func why(_ name: BackupName) -> String {
        switch name.omission {
        case nil: ""
        case .passcodeBound: "exists only on its device and only while a passcode is set"
        case .hardware: "its key is in hardware, or the item belongs to a token"
        case .systemBound: "the attribute `sysb` or its group binds it to its system"
        case .unidentifiedMachine: "this-device-only, but its machine has no identity"
        case .otherMachine:
            "this-device-only, but the backup or the keychain is bound to another machine, or to a "
                + "chip that can't be used now"
        case .applicationPassword:
            "its application password works only in its own keychain and under its own reference"
        case .passcodeNeeded:
            "requires presence or the passcode, but neither a passcode nor a credential is set"
        case .damaged: "damaged"
        }
    }

    // MARK: JSON

    static func json(of summary: BackupSummary) -> [(String, JSON)] {
        [
            ("created", .string(timestamp(summary.created))), ("items", .count(summary.itemCount)),
            ("deviceItems", .count(summary.deviceItemCount)),
            ("leftOut", .array(summary.leftOut.map(json))),
        ]
    }

    static func json(of restoration: BackupRestoration, isDone: Bool) -> JSON {
        .object(
            [
                ("done", .bool(isDone)), ("added", .array(restoration.added.map(json))),
                ("updated", .array(restoration.updated.map(json))),
                ("deleted", .array(restoration.deleted.map(json))),
                ("kept", .count(restoration.keptCount)),
            ] + json(of: restoration.summary))
    }

    private static func json(_ name: BackupName) -> JSON {
        var members: [(String, JSON)] = [("reference", .string(name.reference.description))]
        if let item = name.item {
            let key = item.itemClass
            members += [
                ("class", .string(ClassName(key).rawValue)),
                ("name", .array([key.firstKey, key.secondKey].map { .string(item.text(of: $0)) })),
                ("group", .string(item.accessGroup)),
            ]
        }
        if let omission = name.omission { members.append(("why", .string(omission.rawValue))) }
        return .object(members)
    }
}
