// SystemUnit: the system unit that a process belongs to, and whether the unit's user id is
// exclusive to it.
//   (1) The unit is read from the process's cgroup in the version 2 hierarchy. Below system.slice,
//       only root, and a process to which root delegated a subtree, can change cgroups. A process
//       outside system.slice has no unit.
//   (2) A unit is an identity only if no other unit and no login uses its user id, since processes
//       with the same user id can impersonate each other. A unit or login that was once seen to
//       use the user id counts for as long as the service runs, even if it has ended.

import FoundationEssentials
import Glibc
import KeychainCrypto
import Synchronization

enum SystemUnit {
    /// The path of a process's cgroup in the version 2 hierarchy, from the text of
    /// /proc/PID/cgroup.
    static func path(in text: String) -> String? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("0::/") }
        return line.map { String($0.dropFirst("0::".count)) }
    }

    /// The name of the unit in a path: the first component after system.slice and the slices nested
    /// in it, if this component ends in `.service`. Further components are cgroups inside the unit.
    static func name(inPath path: String) -> String? {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard parts.popFirst() == "system.slice", !parts.contains("..") else { return nil }
        while let part = parts.popFirst() {
            if part.hasSuffix(".service"), part.count > ".service".count { return String(part) }
            guard part.hasSuffix(".slice") else { return nil }
        }
        return nil
    }

    /// Whether a user id is one that systemd assigns to one unit after another (`DynamicUser=`), or
    /// that of `nobody`.
    static func isShortLived(_ user: uid_t) -> Bool {
        (61184...65519).contains(user) || user == 65534
    }
}

/// Where processes of each user id have been seen: the names of units, and the cgroups of processes
/// without a unit.
final class UnitCensus: Sendable {
    private let seen = Mutex<[uid_t: Set<String>]>([:])
    /// Returns the running processes: the user ids of each, and its cgroup. `nil` if they can't all
    /// be examined.
    private let processes: @Sendable () -> [(users: Set<uid_t>, cgroup: String)]?

    init(
        processes: @escaping @Sendable () -> [(users: Set<uid_t>, cgroup: String)]? = {
            Processes.all()
        }
    ) {
        self.processes = processes
    }

    /// Returns the reason why a unit can't serve as an identity; `nil` if it can.
    func objection(to unit: String, of user: uid_t) -> String? {
        guard user != 0 else {
            return "\(unit) runs as root, whose user id isn't exclusive to a unit. Give it a User="
        }
        guard let processes = processes() else {
            return "the processes in /proc can't all be examined"
        }
        var places: Set<String> = []
        for process in processes where process.users.contains(user) {
            places.insert(SystemUnit.name(inPath: process.cgroup) ?? process.cgroup)
        }
        let all = seen.withLock { seen in
            seen[user, default: []].formUnion(places)
            return seen[user, default: []]
        }
        guard places.contains(unit) else {
            return "no process of \(unit) with the user id \(user) can be seen in /proc"
        }
        guard let other = all.filter({ $0 != unit }).min() else { return nil }
        return "the user id \(user) of \(unit) is also that of \(other). A unit is an identity "
            + "only if its user id is exclusive: give it another User=, or a dedicated "
            + "socket"
    }
}
