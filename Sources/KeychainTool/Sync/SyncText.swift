// SyncText: the state of synchronization as text and as JSON.
//   (1) Notices, and the names of machines, come from other machines and from the server. They are
//       escaped.

#if Synchronization

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainSynchronization

enum SyncText {
    // MARK: Text

    static func text(_ status: CircleStatus, problem: String?, now: Int64) -> String {
        var rows = [["state:", words(for: status.state)]]
        if let problem { rows.append(["server:", problem]) }
        guard [.restoring, .comparing, .current].contains(status.state) else {
            return KeychainTool.table(rows)
        }
        rows += [
            ["circle:", Hexadecimal.text(status.circle)],
            ["recovery code:", status.hasRecoveryCode ? "yes" : "no"],
            ["waiting:", waiting(status)],
        ]
        if status.isChangeWaiting {
            rows.append(["members:", "a change that this machine made waits to be sent"])
        }
        if status.isOwnLogMissing {
            rows.append([
                "own log:",
                "the server lacks some of what this machine has sent before, and this machine "
                    + "sends nothing until the server has it again. If the server has lost it for "
                    + "good, leave the circle and join again",
            ])
        }
        var lines = [KeychainTool.table(rows), table(status.machines, now: now)]
        let stays = status.staying.map { sentence(for: $0) }
        if !stays.isEmpty { lines.append(stays.joined(separator: "\n") + "\n") }
        let notices = status.notices.map { "Notice: \(printable($0))" }
        if !notices.isEmpty { lines.append(notices.joined(separator: "\n") + "\n") }
        return lines.joined(separator: "\n")
    }

    static func table(_ machines: [CircleStatus.Machine], now: Int64) -> String {
        let rows = machines.map { machine in
            [
                machine.name.isEmpty ? "-" : printable(machine.name),
                Hexadecimal.text(machine.id.bytes), machine.seesAllGroups ? "all" : "some",
                machine.isThisOne
                    ? "this machine"
                    : (machine.seen == 0 ? "never" : SyncMoment.age(machine.seen, now: now))
                        + (machine.isSuspended ? ", suspended" : ""),
                machine.withheldCount == 0 ? "" : "\(machine.withheldCount)",
            ]
        }
        return KeychainTool.table([["NAME", "ID", "GROUPS", "SEEN", "WITHHELD"]] + rows)
    }

    private static func words(for state: Demand.State) -> String {
        switch state {
        case .none:
            "in no circle. `keychainctl sync found` founds one, and `keychainctl sync join` joins "
                + "one"
        case .locked: "unknown, because the keychain is locked"
        case .restoring: "reading what this machine has sent before"
        case .comparing: "reading what other machines have sent"
        case .current: "up to date with the other machines, as far as the server shows"
        case .removed:
            "removed from the circle. `keychainctl sync leave` forgets it; the items stay"
        }
    }

    private static func waiting(_ status: CircleStatus) -> String {
        status.waitingCount == 0
            ? "nothing"
            : "\(counted(status.waitingCount, "item")), the oldest changed at "
                + timestamp(status.waitingSince)
    }

    private static func sentence(for items: StayingItems) -> String {
        let (subject, verb) = (counted(items.count, "item"), items.count == 1 ? "stays" : "stay")
        return "\(subject) \(verb) here: " + reason(items.reason)
    }

    private static func reason(_ reason: SynchronizedItem.ReasonToStay) -> String {
        switch reason {
        case .notSynchronizable: "not marked for synchronization."
        case .thisDeviceOnly: "the protection class is for this device only."
        case .hardwareKey: "the key is in this machine's hardware."
        case .systemBound: "the attribute `sysb` binds the item to this system."
        case .accessControl:
            "the access control requires the user's presence or a password on this machine."
        case .tooLarge:
            "larger than \(SynchronizedItem.byteLimit) bytes, the maximum for synchronization."
        case .groupNotShared: "this machine doesn't share the access group with the circle."
        case .groupNameTooLong:
            "the name of the access group has more than \(GroupKey.groupByteLimit) bytes, the "
                + "maximum for synchronization."
        case .notValid: "an attribute is missing or isn't valid."
        }
    }

    // MARK: JSON

    static func json(_ status: CircleStatus, problem: String?) -> JSON {
        .object([
            ("state", .string("\(status.state)")),
            ("server", .optional(problem)),
            (
                "circle",
                status.circle.isEmpty ? .null : .string(Hexadecimal.text(status.circle))
            ),
            ("recoveryCode", .bool(status.hasRecoveryCode)),
            ("changeWaiting", .bool(status.isChangeWaiting)),
            ("ownLogMissing", .bool(status.isOwnLogMissing)),
            ("machines", .array(status.machines.map(json(_:)))),
            ("waiting", .count(status.waitingCount)),
            (
                "waitingSince",
                status.waitingCount == 0 ? .null : .string(timestamp(status.waitingSince))
            ),
            (
                "staying",
                .array(
                    status.staying.map { items in
                        .object([
                            ("reason", .string(items.reason.rawValue)),
                            ("items", .count(items.count)),
                        ])
                    })
            ),
            ("notices", .array(status.notices.map { .string($0) })),
        ])
    }

    static func json(_ machine: CircleStatus.Machine) -> JSON {
        .object([
            ("name", .optional(machine.name.isEmpty ? nil : machine.name)),
            ("id", .string(Hexadecimal.text(machine.id.bytes))),
            ("thisMachine", .bool(machine.isThisOne)),
            ("allGroups", .bool(machine.seesAllGroups)),
            (
                "seen",
                machine.seen == 0
                    ? .null : .string(timestamp(SyncMoment.seconds(machine.seen)))
            ),
            ("suspended", .bool(machine.isSuspended)),
            ("withheld", .number(Int64(clamping: machine.withheldCount))),
        ])
    }
}

#endif
