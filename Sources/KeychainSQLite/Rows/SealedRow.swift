// SealedRow: a row of the items table as it stands on disk. Nothing in it was checked.

package import FoundationEssentials
package import KeychainCrypto
package import KeychainCore

/// The labels of an item: what it is found by.
package struct RowLabels: Hashable, Sendable {
    /// Class, flags and access group.
    package var group: Label
    /// The first key attribute: service, server, issuer, or application label.
    package var first: Label
    /// The second key attribute: account, serial number, or application tag.
    package var second: Label
    /// The rest of the primary key.
    package var rest: Label
    /// Further attributes that are set and have an index entry.
    package var terms: [Label]

    package init(group: Label, first: Label, second: Label, rest: Label, terms: [Label]) {
        self.group = group
        self.first = first
        self.second = second
        self.rest = rest
        self.terms = terms
    }

    /// The labels under which an item must stand.
    package init(_ record: ItemRecord, index: BlindIndex) {
        let space = BlindIndex.Space(
            itemClass: record.itemClass, isSynchronizable: record.isSynchronizable,
            isTombstone: record.isTombstone)
        func label(_ attribute: Attribute) -> Label {
            index.label(
                of: attribute, record.attributes[attribute] ?? .empty(of: attribute.kind),
                in: space)
        }
        self.init(
            group: index.label(ofAccessGroup: record.accessGroup, in: space),
            first: label(record.itemClass.firstKey), second: label(record.itemClass.secondKey),
            rest: index.remainingKeyLabel(
                record.attributes, accessGroup: record.accessGroup, in: space),
            terms: record.itemClass.searchTerms.filter { record.attributes[$0] != nil }
                .map(label))
    }
}

package struct SealedRow: Hashable, Sendable {
    package var id: Int64
    package var reference: ItemReference
    /// The number in the file; a damaged row may hold any.
    package var protection: UInt8
    package var labels: RowLabels
    /// "KCM1" ‖ length ‖ sealed record.
    package var metadata: Data
    /// "KCS1" ‖ length ‖ wrapped row key ‖ sealed secret. nil: no secret, or not read.
    package var secret: Data?

    package init(
        id: Int64, reference: ItemReference, protection: UInt8, labels: RowLabels,
        metadata: Data, secret: Data?
    ) {
        self.id = id
        self.reference = reference
        self.protection = protection
        self.labels = labels
        self.metadata = metadata
        self.secret = secret
    }

    /// The tag of the sealed metadata: it vouches for the whole row, since the metadata's
    /// associated data hold the labels and its plaintext the secret's tag.
    package var metadataTag: [UInt8] { Array(metadata.suffix(16)) }

    package func contribution(_ authenticator: StoreAuthenticator) -> StoreDigest {
        authenticator.contribution(reference: reference.bytes, metadataTag: metadataTag)
    }
}
