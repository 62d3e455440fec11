// KeychainEngine+Put: adds an item, or updates it if it already exists.
//   (1) The look-up and the change are one transaction: no reader sees the item missing, and no
//       other change comes in between.
//   (2) The update changes only the existing item that has the same primary key as the new item.
//       The access group in that key is the one to which the new item would be added. The engine
//       uses nothing of the request's query except the proofs in the query's authorization. Only
//       the adapter for Apple's functions searches with the query.

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
            try write { transaction throws(KeychainFailure) in
                // Before the first unlock, or while the protection class of the new item is locked,
                // the request fails before the existing item is looked up.
                try transaction.requireGuardedTier()
                let keys = try keys(for: item.protection)
                let (record, labels) = try record(
                    of: item, group: group, by: caller.program, transaction)
                guard
                    let occupant = try occupant(
                        of: record, labels, in: item.protection.tier, &transaction)
                else {
                    _ = try insert(record, labels, item, keys: keys, into: &transaction)
                    return
                }
                try transaction.noteExistingItem()
                try keepVersions(isRequested: request.keepsVersions, in: &transaction)
                let proof = proof(request.query.authorization)
                if case .opened(let opened) = occupant,
                    !needsSecret(request.changes, proof, of: item.itemClass)
                {
                    try apply(request.changes, to: opened, proof, in: &transaction)
                } else {
                    let query = ItemQuery(
                        primaryKeyOf: item, in: group, request.query.authorization)
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
