// KeychainEngine+Put: an addition that becomes a change where the item is there already.
//   (1) Both are one transaction: no read sees the item missing, and no change comes in between.
//   (2) A change that names no access group is of the group of the addition alone, never of an item
//       that another group shares.

import KeychainCrypto
package import KeychainCore
import KeychainSQLite

extension KeychainEngine {
    package func execute(
        _ request: PutItem, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        do throws(KeychainFailure) {
            let item = request.item
            let group = try group(of: item, for: caller)
            var query = request.query
            query.accessGroup = query.accessGroup ?? group
            try write { transaction throws(KeychainFailure) in
                // The lock is reported before a duplicate would be.
                try transaction.requireGuardedTier()
                let keys = try keys(for: item.protection)
                do throws(KeychainFailure) {
                    _ = try insert(
                        item, group: group, by: caller.program, keys: keys, into: &transaction)
                } catch {
                    // Nothing has changed then.
                    guard error.status == .duplicateItem else { throw error }
                    try transaction.noteExistingItem()
                    _ = try change(query, request.changes, caller, in: &transaction)
                }
            }
            note(request)
            return Done()
        } catch {
            note(request, error)
            throw error
        }
    }
}
