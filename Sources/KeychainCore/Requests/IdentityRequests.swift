// IdentityRequests: requests about identities, and their values.
//   (1) An identity is not stored. It is there when a private key and a certificate are, both in
//       groups of the caller, with the key's application label as the certificate's public key
//       hash.
//   (2) Its reference is the certificate's.

/// A certificate and the private key that it is about.
package struct Identity: Hashable, Sendable {
    package var certificate: ItemSnapshot
    package var key: ItemSnapshot

    package init(certificate: ItemSnapshot, key: ItemSnapshot) {
        self.certificate = certificate
        self.key = key
    }
}

/// What identifies the identities a request is about: both halves must hold. The classes of the
/// halves are `certificate` and `key`.
package struct IdentityQuery: Hashable, Sendable {
    package var certificate: ItemQuery
    package var key: ItemQuery

    package init(certificate: ItemQuery, key: ItemQuery) {
        self.certificate = certificate
        self.key = key
    }
}

/// What an update sets in both halves of an identity.
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
/// of them. Data are those of certificate and key. `itemNotFound` is thrown when there are none.
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

/// Changes certificate and key of all identities that match, or none of them. The answer is how many
/// identities, 1 and up.
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

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try executor.execute(self, as: caller)
    }
}

/// Deletes the certificate of every identity that matches and, unless another certificate has its
/// public key, the key. The answer is how many identities, 1 and up.
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
    /// One for both halves.
    package var authorization: Authorization {
        get { certificate.authorization }
        set {
            certificate.authorization = newValue
            key.authorization = newValue
        }
    }

    /// A client can send another authorization with each half.
    package var showsPassword: Bool {
        certificate.authorization.applicationPassword != nil
            || key.authorization.applicationPassword != nil
    }

    package var shape: String { "\(certificate.shape), \(key.shape)" }
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
