// IdentityRequests: requests about identities, and the values in these requests.
//   (1) An identity is not stored. It exists if there are a private key and a certificate, both in
//       groups of the caller, and the key's application label equals the certificate's public key
//       hash.
//   (2) The reference of an identity is that of its certificate.

/// A certificate and its private key.
package struct Identity: Hashable, Sendable {
    package var certificate: ItemSnapshot
    package var key: ItemSnapshot

    package init(certificate: ItemSnapshot, key: ItemSnapshot) {
        self.certificate = certificate
        self.key = key
    }
}

/// The conditions that select identities. The certificate and the key each have to match their own
/// query. The classes of the two queries are `certificate` and `key`.
package struct IdentityQuery: Hashable, Sendable {
    package var certificate: ItemQuery
    package var key: ItemQuery

    package init(certificate: ItemQuery, key: ItemQuery) {
        self.certificate = certificate
        self.key = key
    }
}

/// The changes that an update makes to the certificate and the key of an identity.
package struct IdentityChanges: Hashable, Sendable {
    package var certificate: ItemChanges
    package var key: ItemChanges

    package init(certificate: ItemChanges, key: ItemChanges) {
        self.certificate = certificate
        self.key = key
    }
}

// MARK: The requests

/// Finds identities, in the order in which their certificates were added; with a limit of one, any
/// matching identity. If data are requested, the certificate and the key are both returned with
/// their data. Throws `itemNotFound` if there is no matching identity.
package struct FindIdentities: Request {
    package static let code = RequestCode.findIdentities
    package var query: IdentityQuery
    package var retrieval: Retrieval

    package init(_ query: IdentityQuery, _ retrieval: Retrieval = Retrieval()) {
        self.query = query
        self.retrieval = retrieval
    }

    package var authorization: Authorization {
        get { query.authorization }
        set { query.authorization = newValue }
    }
    package var purpose: AuthorizationPurpose? { .use }
    package var shape: String? { query.shape }
    package var showsPassword: Bool { query.showsPassword }
    package var effort: RequestEffort { retrieval.effort(derives: showsPassword) }

    package func usedUnlockedKeys(_ answer: [Identity]) -> Bool {
        answer.contains { $0.key.neededUnlock }
    }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity] {
        try executor.execute(self, as: caller)
    }
}

/// Changes the certificate and the key of all matching identities, or of none of them. The answer
/// is the number of identities, at least 1.
package struct UpdateIdentities: Request {
    package static let code = RequestCode.updateIdentities
    package var query: IdentityQuery
    package var changes: IdentityChanges

    package init(_ query: IdentityQuery, _ changes: IdentityChanges) {
        self.query = query
        self.changes = changes
    }

    package var authorization: Authorization {
        get { query.authorization }
        set { query.authorization = newValue }
    }
    package var purpose: AuthorizationPurpose? { changes.key.purpose }
    package var shape: String? { query.shape }
    package var showsPassword: Bool { query.showsPassword }
    package var effort: RequestEffort { .survey }

    package func usedUnlockedKeys(_ answer: Int) -> Bool {
        changes.key.needUnlock(of: query.key.protection)
    }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try executor.execute(self, as: caller)
    }
}

/// Deletes the certificate of each matching identity, and its key unless another certificate has
/// the same public key. The answer is the number of identities, at least 1.
package struct DeleteIdentities: UnauthorizedRequest {
    package static let code = RequestCode.deleteIdentities
    package var query: IdentityQuery
    package var tombstones: TombstonePolicy

    package init(_ query: IdentityQuery, tombstones: TombstonePolicy) {
        self.query = query
        self.tombstones = tombstones
    }

    package var shape: String? { query.shape }
    package var effort: RequestEffort { .survey }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try executor.execute(self, as: caller)
    }
}

extension IdentityQuery {
    /// The authorization for the certificate. Setting it also sets that for the key.
    package var authorization: Authorization {
        get { certificate.authorization }
        set {
            certificate.authorization = newValue
            key.authorization = newValue
        }
    }

    /// Whether either query contains an application password. A client can send different
    /// authorizations for the certificate and the key.
    package var showsPassword: Bool {
        certificate.authorization.applicationPassword != nil
            || key.authorization.applicationPassword != nil
    }

    package var shape: String { "\(certificate.shape), \(key.shape)" }
}

extension ItemQuery {
    /// Narrows a query for keys to the private key that belongs to a certificate.
    ///
    /// - Returns: `nil` if the certificate has no public key hash, or the query is for another key.
    package func ofKey(to certificate: Attributes) -> ItemQuery? {
        guard let hash = certificate[.publicKeyHash] else { return nil }
        if let wanted = attributes[.applicationLabel], !wanted.isEqual(to: hash) { return nil }
        var query = self
        query.attributes[.applicationLabel] = hash
        query.attributes[.isPrivate] = .number(1)
        return query
    }
}
