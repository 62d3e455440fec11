// CircleModel: what the machines of a circle must agree on in the end.
//   (1) An account that only one machine changes has its last acknowledged value, or that of a
//       later change whose acknowledgement was lost, whatever the clocks say.
//   (2) An account that several machines change has one of the versions that were written. If a
//       machine is known to have had or written a version before it wrote another one, the earlier
//       version isn't allowed.
//   (3) Deletions of an account are different versions, though all look alike. A machine without
//       the item may have any of them. If it had a value before, it now has a deletion that it
//       didn't have then.
//   (4) Until a change of an account is acknowledged, the account may also have no item.

#if Synchronization

struct CircleModel {
    private struct Version {
        /// `nil` stands for no item.
        let value: String?
        /// The numbers of the versions that this version is later than.
        let earlier: Set<Int>
    }

    private struct Account {
        /// The first version stands for the state before all changes, without the item.
        var versions = [Version(value: nil, earlier: [])]
        /// The numbers of the versions that another version certainly supersedes.
        var superseded: Set<Int> = []
        /// For each machine, the numbers of the versions that it certainly has or had, and of all
        /// versions that are earlier than those.
        var known: [Int: Set<Int>] = [:]
        /// The value that each machine had last.
        var last: [Int: String] = [:]

        var allowed: Set<String?> {
            Set(versions.indices.filter { !superseded.contains($0) }.map { versions[$0].value })
        }

        /// Notes what a machine has.
        mutating func see(_ value: String?, on machine: Int) {
            var known = known[machine, default: [0]]
            var candidates = versions.indices.filter { versions[$0].value == value }
            if value == nil {
                candidates = candidates.filter { !known.contains($0) }
                if last[machine] == nil { candidates = [] }
            }
            // If several deletions are possible, it isn't known which one the machine has.
            if candidates.count == 1 {
                known.insert(candidates[0])
                known.formUnion(versions[candidates[0]].earlier)
            }
            self.known[machine] = known
            last[machine] = value
        }
    }

    private var accounts: [String: Account] = [:]

    /// Notes a change that was carried out.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - value: `nil` for a deletion.
    ///   - machine: The number of the machine.
    ///   - seen: What the machine had before. `nil` if no other machine changes the account. The
    ///     change then supersedes all earlier versions.
    mutating func note(
        _ account: String, _ value: String?, by machine: Int, insteadOf seen: String??
    ) {
        var noted = accounts[account, default: Account()]
        defer { accounts[account] = noted }
        if let seen { noted.see(seen, on: machine) }
        let earlier =
            seen == nil ? Set(noted.versions.indices) : noted.known[machine, default: [0]]
        noted.superseded.formUnion(earlier)
        noted.known[machine] = earlier.union([noted.versions.count])
        noted.last[machine] = value
        noted.versions.append(Version(value: value, earlier: earlier))
    }

    /// Notes a change that may have been carried out, or may not.
    mutating func noteUnanswered(_ account: String, _ value: String?) {
        accounts[account, default: Account()].versions.append(Version(value: value, earlier: [0]))
    }

    /// The accounts whose values aren't allowed.
    func violations(in values: [String: String]) -> [String] {
        Set(accounts.keys).union(values.keys).filter { account in
            !accounts[account, default: Account()].allowed.contains(values[account])
        }.sorted()
    }
}

#endif
