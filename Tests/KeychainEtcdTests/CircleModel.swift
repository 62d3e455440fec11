// CircleModel: what the machines of a circle must agree on in the end.
//   (1) An account that only one machine changes has its last acknowledged value, or that of a later
//       change whose acknowledgement was lost, whatever the clocks say.
//   (2) An account that several machines change has a value that was written, but none that a
//       machine had when it wrote another one.

#if Synchronization

struct CircleModel {
    /// `nil` stands for no item.
    private var allowed: [String: Set<String?>] = [:]

    /// Notes a change that was carried out.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - value: `nil` for a deletion.
    ///   - seen: What the machine had before. `nil` if no other machine changes the account, so that
    ///     the change replaces all before it.
    mutating func note(_ account: String, _ value: String?, insteadOf seen: String??) {
        switch seen {
        case .none: allowed[account] = [value]
        case .some(let seen):
            allowed[account, default: [nil]].remove(seen)
            allowed[account, default: []].insert(value)
        }
    }

    /// Notes a change that may have been carried out, or may not.
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
