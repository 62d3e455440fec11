// WireRequest+Identities: in messages, requests about identities.

import KeychainModel
import SwiftProtobuf

extension WireRequest.OneOf_Operation {
    /// The request about identities; nil for any other.
    init?(identities operation: ServiceOperation) {
        switch operation {
        case .findIdentities(let query, let retrieval):
            self = .findIdentities(
                .with {
                    $0.query = WireIdentityQuery(query)
                    $0.retrieval = WireRetrieval(retrieval)
                })
        case .updateIdentities(let query, let changes):
            self = .updateIdentities(
                .with {
                    $0.query = WireIdentityQuery(query)
                    $0.certificate = WireItemChanges(changes.certificate)
                    $0.key = WireItemChanges(changes.key)
                })
        case .deleteIdentities(let query, let policy):
            self = .deleteIdentities(
                .with {
                    $0.query = WireIdentityQuery(query)
                    $0.tombstones = WireTombstonePolicy(policy)
                })
        default: return nil
        }
    }

    /// The request about identities; nil for any other.
    func identityOperation() throws(KeychainFailure) -> ServiceOperation? {
        switch self {
        case .findIdentities(let message):
            .findIdentities(
                try message.query.query(),
                try message.retrieval.retrieval(isThere: message.hasRetrieval))
        case .updateIdentities(let message):
            .updateIdentities(
                try message.query.query(),
                IdentityChanges(
                    certificate: try message.certificate.changes(isThere: message.hasCertificate),
                    key: try message.key.changes(isThere: message.hasKey)))
        case .deleteIdentities(let message):
            .deleteIdentities(try message.query.query(), try message.tombstones.policy())
        default: nil
        }
    }
}
