// AccessGroups+Claim: what becomes of the groups that a client claims.

import KeychainCore

extension AccessGroups {
    /// The groups of this entitlement that a client means that claims others: those that are in
    /// both, in the order of the claim, which says where new items go.
    ///
    /// A claim narrows and never widens. A claim of every group means every group of the
    /// entitlement; an entitlement to every group allows any claim. A claim says nothing of the
    /// program.
    func granted(to claim: AccessGroups) -> AccessGroups {
        var names = claim.names.filter { contains($0) }
        guard claim.includesAll else { return AccessGroups(names, program: program) }
        names += self.names
        return AccessGroups(
            includesAll ? names + [Self.wildcard] : names, program: program)
    }
}
