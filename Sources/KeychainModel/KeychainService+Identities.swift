// KeychainService+Identities: what a service does about identities that knows nothing of them.

extension KeychainService {
    /// A search for certificates, then for the key of each.
    package func findIdentities(
        _ query: IdentityQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity] {
        let limit = retrieval.limit ?? .max
        var every = retrieval
        every.limit = nil
        // With a limit of nothing the caller is checked all the same.
        let certificates = try find(query.certificate, limit > 0 ? every : retrieval, as: caller)
        var found: [Identity] = []
        for certificate in certificates where found.count < limit {
            guard let keyQuery = query.key.ofKey(to: certificate.attributes) else { continue }
            do {
                for key in try find(keyQuery, every, as: caller) where found.count < limit {
                    found.append(Identity(certificate: certificate, key: key))
                }
            } catch {
                guard error.status == .itemNotFound else { throw error }
            }
        }
        guard !found.isEmpty else { throw .itemNotFound }
        return found
    }

    /// For services that can't change two items at once.
    package func add(
        certificate: NewItem, key: NewItem, as caller: AccessGroups
    ) throws(KeychainFailure) -> Identity {
        throw KeychainFailure(.unimplemented, "This keychain doesn't add identities.")
    }

    package func updateIdentities(
        _ query: IdentityQuery, _ changes: IdentityChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        throw KeychainFailure(.unimplemented, "This keychain doesn't change identities.")
    }

    package func deleteIdentities(
        _ query: IdentityQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        throw KeychainFailure(.unimplemented, "This keychain doesn't delete identities.")
    }
}

extension ItemQuery {
    /// A query for keys, narrowed to the private key that belongs to a certificate.
    ///
    /// - Returns: nil where the certificate has no hash of its public key, or the query asks for
    ///   another key.
    package func ofKey(to certificate: Attributes) -> ItemQuery? {
        guard let hash = certificate[.publicKeyHash] else { return nil }
        if let wanted = attributes[.applicationLabel], !wanted.isEqual(to: hash) { return nil }
        var query = self
        query.attributes[.applicationLabel] = hash
        query.attributes[.isPrivate] = .number(1)
        return query
    }
}
