// IdentityQuery: requests about identities.
//   (1) An identity is not stored. It is there when a private key and a certificate are, both in
//       groups of the caller, with the key's application label as the certificate's public key
//       hash.
//   (2) Its reference is the certificate's.

/// A certificate and the private key that it is about.
package struct Identity: Hashable, Sendable {
    package var certificate: Item
    package var key: Item

    package init(certificate: Item, key: Item) {
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
