// KeychainEngine+Identities: identities, each a private key and a certificate with the same public
// key.
//   (1) Certificates are searched first, by their labels; then the key of each, by its application
//       label. A query that doesn't identify a certificate has to examine every certificate.
//   (2) A change to both parts is one transaction.
//   (3) If the queries identify no particular items, a program without entitlements changes and
//       deletes only identities whose certificate and key it added itself, see
//       `AccessGroups.isConfined`.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import KeychainSQLite

extension KeychainEngine {
    package func execute(
        _ request: FindIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity] {
        let found = try search(request, as: caller)
        TouchedItems.note(found.flatMap { [$0.certificate.reference, $0.key.reference] })
        return found
    }

    package func execute(
        _ request: UpdateIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try logged(request) { () throws(KeychainFailure) in
            let query = request.query
            let changes = request.changes
            let groups = [
                query.certificate.accessGroup, query.key.accessGroup,
                changes.certificate.accessGroup, changes.key.accessGroup,
            ]
            for group in groups { try authorizeWrite(caller, group: group) }
            return try write { transaction throws(KeychainFailure) in
                try keepVersions(isRequested: false, in: &transaction)
                return try changePairs(query, changes, caller, in: &transaction)
            }
        }
    }

    package func execute(
        _ request: DeleteIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try logged(request) { () throws(KeychainFailure) in
            let query = request.query
            for group in [query.certificate.accessGroup, query.key.accessGroup] {
                try authorizeWrite(caller, group: group)
            }
            return try write { transaction throws(KeychainFailure) in
                try keepVersions(isRequested: false, in: &transaction)
                return try deletePairs(query, request.tombstones, caller, in: &transaction)
            }
        }
    }

    // MARK: Parts

    private func changePairs(
        _ query: IdentityQuery, _ changes: IdentityChanges, _ caller: AccessGroups,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> Int {
        let pairs = try pairs(query, caller, in: &transaction)
        // A certificate or key that is part of several identities is changed once.
        var changed: Set<ItemReference> = []
        for (certificate, key) in pairs {
            if changed.insert(certificate.row.reference).inserted {
                try changeOne(
                    certificate, changes.certificate, query.certificate.authorization, caller,
                    in: &transaction)
            }
            if changed.insert(key.row.reference).inserted {
                try changeOne(key, changes.key, query.key.authorization, caller, in: &transaction)
            }
        }
        return pairs.count
    }

    private func deletePairs(
        _ query: IdentityQuery, _ tombstones: TombstonePolicy, _ caller: AccessGroups,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> Int {
        try transaction.requireGuardedTier()
        let pairs = try pairs(query, caller, in: &transaction)
        var certificates: Set<ItemReference> = []
        for (certificate, _) in pairs
        where certificates.insert(certificate.row.reference).inserted {
            try delete(certificate, tombstones, in: &transaction)
        }
        var keys: Set<ItemReference> = []
        for (_, key) in pairs where keys.insert(key.row.reference).inserted {
            guard try !hasCertificate(key.record, in: &transaction) else { continue }
            try delete(key, tombstones, in: &transaction)
        }
        return pairs.count
    }

    /// Certificates and their keys. A certificate is listed once for each of its keys.
    /// - Throws: `interactionNotAllowed` if a row that is searched is locked. If nothing is found:
    ///   before the first unlock, also `interactionNotAllowed`; after it, the error for damage or
    ///   for a row that is bound to another machine, or else `itemNotFound`.
    private func pairs(
        _ query: IdentityQuery, _ caller: AccessGroups, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> [(certificate: OpenedRow, key: OpenedRow)] {
        let isConfined = caller.isConfined(by: query.certificate, query.key)
        var pairs: [(OpenedRow, OpenedRow)] = []
        var damaged = DamagedRows()
        for certificate in try opened(query.certificate, caller, noting: &damaged, in: &transaction)
        {
            guard let keyQuery = query.key.ofKey(to: certificate.record.attributes)
            else { continue }
            for key in try opened(keyQuery, caller, noting: &damaged, in: &transaction)
            where !isConfined
                || caller.hasAdded(certificate.record) && caller.hasAdded(key.record)
            {
                pairs.append((certificate, key))
            }
        }
        guard !pairs.isEmpty else {
            try transaction.requireGuardedTier()
            if let failure = damaged.failure { throw failure }
            try store.requireSound()
            throw .itemNotFound
        }
        return pairs
    }

    /// Every row that matches, with its metadata opened. Rows that are damaged or bound to another
    /// machine are skipped and recorded in `damaged`.
    func opened(
        _ query: ItemQuery, _ caller: AccessGroups, noting damaged: inout DamagedRows,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> [OpenedRow] {
        let search = transaction.search(query, visibleTo: caller)
        var rows: [OpenedRow] = []
        for candidate in try transaction.rows(search, includesSecret: false) {
            guard let row = try open(candidate, for: search, noting: &damaged),
                row.record.matches(query, search, row.protection, caller: caller)
            else { continue }
            rows.append(row)
        }
        return rows
    }

    private func changeOne(
        _ opened: OpenedRow, _ changes: ItemChanges, _ authorization: Authorization,
        _ caller: AccessGroups, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        let query = ItemQuery(
            itemClass: opened.record.itemClass, isSynchronizable: nil,
            isTombstone: opened.record.isTombstone, reference: opened.row.reference,
            authorization: authorization)
        _ = try change(query, changes, caller, in: &transaction)
    }

    /// Whether any certificate, in any access group, belongs to a key. A certificate with the right
    /// labels counts even if it can't be opened here: it may become readable again, but a deleted
    /// key is lost.
    private func hasCertificate(
        _ key: ItemRecord, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> Bool {
        guard let label = key.attributes[.applicationLabel] else { return false }
        let query = ItemQuery(
            itemClass: .certificate, attributes: [.publicKeyHash: label], isSynchronizable: nil)
        let everybody = AccessGroups([AccessGroups.wildcard])
        var damaged = DamagedRows()
        let certificates = try opened(query, everybody, noting: &damaged, in: &transaction)
        return !certificates.isEmpty || damaged.failure != nil
    }
}
