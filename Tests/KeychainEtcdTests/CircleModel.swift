// CircleModel: what the machines of a circle must agree on in the end.
//   (1) An account that only one machine changes has its last acknowledged value, or that of a later
//       change whose acknowledgement was lost, whatever the clocks say.
//   (2) An account that several machines change has one of the values that were written, except
//       those that a machine had when it replaced them by another value.

#if Synchronization

struct CircleModel {
    /// The values that each account may have in the end. `nil` stands for no item.
    private var allowed: [String: Set<String?>] = [:]

    /// Notes a change that was carried out.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - value: `nil` for a deletion.
    ///   - seen: The value that the machine had before; `.some(nil)` if it had no item. `.none` if
    ///     no other machine changes the account, so that the change replaces all earlier values.
    mutating func note(_ account: String, _ value: String?, insteadOf seen: String??) {
        switch seen {
        case .none: allowed[account] = [value]
        case .some(let seen):
            allowed[account, default: [nil]].remove(seen)
            allowed[account, default: []].insert(value)
        }
    }

    /// Notes a change that may or may not have been carried out.
    mutating func noteUnanswered(_ account: String, _ value: String?) {
        allowed[account, default: [nil]].insert(value)
    }

    /// The accounts whose values aren't allowed.
    func violations(in values: [String: String]) -> [String] {
        Set(allowed.keys).union(values.keys).filter { account in
            !allowed[account, default: [nil]].contains(values[account])
        }.sorted()
    }
}

#endif
