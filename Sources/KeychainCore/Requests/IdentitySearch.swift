// IdentitySearch: finds identities by searching for certificates and keys.

extension RequestExecutor {
    /// Searches for certificates, then for the keys of each certificate. Data are read last, and
    /// only those of certificates with a key and of their keys. So the user is not asked to
    /// authenticate for a certificate without a key.
    package func search(
        _ request: FindIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity] {
        let query = request.query
        let retrieval = request.retrieval
        let limit = retrieval.limit ?? .max
        let opens = retrieval.includesData
        let pairs = try pairs(
            query, limit: opens && retrieval.skipsConstrained ? .max : limit, as: caller)
        var found: [Identity] = []
        for pair in pairs where found.count < limit {
            guard opens else {
                found.append(pair)
                continue
            }
            guard
                let certificate = try opened(
                    pair.certificate, query.certificate, retrieval, as: caller),
                let key = try opened(pair.key, query.key, retrieval, as: caller)
            else { continue }
            found.append(Identity(certificate: certificate, key: key))
        }
        guard !found.isEmpty else { throw .itemNotFound }
        return found
    }

    /// Finds identities without their data.
    private func pairs(
        _ query: IdentityQuery, limit: Int, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity] {
        // Even with a limit of 0, a search is carried out. It finds nothing, but checks the
        // caller's permission.
        let certificates = try execute(
            FindItems(query.certificate, Retrieval(limit: limit > 0 ? nil : 0)), as: caller)
        var pairs: [Identity] = []
        for certificate in certificates where pairs.count < limit {
            guard let keyQuery = query.key.ofKey(to: certificate.attributes) else { continue }
            for key in try findAny(keyQuery, Retrieval(limit: nil), as: caller)
            where pairs.count < limit {
                pairs.append(Identity(certificate: certificate, key: key))
            }
        }
        return pairs
    }

    /// Returns a found item with its data; `nil` if the item has been deleted in the meantime, or
    /// is skipped because the query's authorization doesn't open it.
    private func opened(
        _ item: ItemSnapshot, _ query: ItemQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot? {
        var retrieval = retrieval
        retrieval.limit = 1
        let query = ItemQuery(
            itemClass: item.itemClass, isSynchronizable: nil, isTombstone: item.isTombstone,
            reference: item.reference, authorization: query.authorization)
        return try findAny(query, retrieval, as: caller).first
    }

    private func findAny(
        _ query: ItemQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        do {
            return try execute(FindItems(query, retrieval), as: caller)
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return []
        }
    }
}
