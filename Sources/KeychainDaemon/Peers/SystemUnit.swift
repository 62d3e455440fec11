// SystemUnit: which unit of the system a process belongs to, and whether its user id is its own.
//   (1) The unit is read from the process's cgroup in the hierarchy of version 2, which only root can
//       change below system.slice, or to whom root gave a part of it. Everything else is no unit.
//   (2) A unit is an identity only where no other unit and no login has its user id: processes of one
//       user id can be each other. What was seen once stays seen while the service runs.

import FoundationEssentials
import Glibc
import KeychainCrypto
import Synchronization

enum SystemUnit {
    /// The path of a process's cgroup in the hierarchy of version 2, as /proc/PID/cgroup has it.
    static func path(in text: String) -> String? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("0::/") }
        return line.map { String($0.dropFirst("0::".count)) }
    }

    /// The name of the unit, of which the cgroup may have parts of its own: the first part below
    /// system.slice, and slices of it, that ends in `.service`.
    static func name(inPath path: String) -> String? {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard parts.popFirst() == "system.slice", !parts.contains("..") else { return nil }
        while let part = parts.popFirst() {
            if part.hasSuffix(".service"), part.count > ".service".count { return String(part) }
            guard part.hasSuffix(".slice") else { return nil }
        }
        return nil
    }

    /// User ids that the system gives to one unit after another, and the one for what has none.
    static func isShortLived(_ user: uid_t) -> Bool {
        (61184...65519).contains(user) || user == 65534
    }
}

/// Where processes of a user id were seen: the names of units, and the cgroups of what is none.
final class UnitCensus: Sendable {
    private let seen = Mutex<[uid_t: Set<String>]>([:])
    /// The processes that are there: the user ids of each, and its cgroup.
    private let processes: @Sendable () -> [(users: Set<uid_t>, cgroup: String)]

    init(
        processes: @escaping @Sendable () -> [(users: Set<uid_t>, cgroup: String)] = {
            Processes.all()
        }
    ) {
        self.processes = processes
    }

    /// Why the unit isn't an identity. nil: it is one.
    func objection(to unit: String, of user: uid_t) -> String? {
        guard user != 0 else {
            return "\(unit) runs as root, whose user id is no unit's own. Give it a User="
        }
        var places: Set<String> = []
        for process in processes() where process.users.contains(user) {
            places.insert(SystemUnit.name(inPath: process.cgroup) ?? process.cgroup)
        }
        let all = seen.withLock { seen in
            seen[user, default: []].formUnion(places)
            return seen[user, default: []]
        }
        guard let other = all.filter({ $0 != unit }).min() else { return nil }
        return "the user id \(user) of \(unit) is also that of \(other). A unit is an identity "
            + "only where its user id is its own: give it another User=, or a socket of its own"
    }
}
