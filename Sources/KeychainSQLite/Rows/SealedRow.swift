// SealedRow: a row of the items table as stored, how it is read from a result, the reasons for
// setting a row aside, and the tag of such a row.
//   (1) Reading a row authenticates none of its content.
//   (2) Reading a row doesn't trap, whatever a column contains.

package import FoundationEssentials
package import KeychainCore
package import KeychainCrypto

/// The labels of an item, by which it is found.
package struct RowLabels: Hashable, Sendable {
    /// The access group, the class, and whether the item is synchronizable or a tombstone.
    package var group: Label
    /// The first key attribute: service, server, issuer, or application label.
    package var first: Label
    /// The second key attribute: account, serial number, or application tag.
    package var second: Label
    /// The rest of the primary key.
    package var rest: Label
    /// One label for each further attribute that is set and indexed. An internet password also has
    /// one label for all attributes that distinguish the servers on one host.
    package var terms: [Label]

    package init(group: Label, first: Label, second: Label, rest: Label, terms: [Label]) {
        self.group = group
        self.first = first
        self.second = second
        self.rest = rest
        self.terms = terms
    }

    /// Computes the labels of an item. In version 1 of the database, the terms of an internet
    /// password have no label for the attributes that distinguish the servers on one host.
    package init(_ record: ItemRecord, index: BlindIndex, isVersion1: Bool = false) {
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
            terms: (isVersion1 || record.itemClass != .internetPassword
                ? [] : [index.serverLabel(record.attributes, in: space)])
                + record.itemClass.searchTerms.filter { record.attributes[$0] != nil }.map(label))
    }
}

extension RowLabels {
    /// Whether group and primary key equal those of `others`.
    package func haveKey(of others: RowLabels) -> Bool {
        group == others.group && first == others.first && second == others.second
            && rest == others.rest
    }
}

package struct SealedRow: Hashable, Sendable {
    package var id: Int64
    package var reference: ItemReference
    /// The number of the protection class in the file. A damaged row may have any number.
    package var protection: UInt8
    package var labels: RowLabels
    /// "KCM2" (in version 1 "KCM1") ‖ length ‖ sealed record.
    package var metadata: Data
    /// "KCS2" (in version 1 "KCS1") ‖ length ‖ sealed row key ‖ sealed secret. `nil` if there is no
    /// secret, or it was not read.
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

    /// Seals a record. `secret` must already be sealed, for the same binding. It is `nil` if there
    /// is none, or if the stored secret stays.
    package init(
        id: Int64 = 0, _ binding: RowBinding, _ record: ItemRecord, keys: ClassKeys, secret: Data?
    ) {
        self.init(
            id: id, reference: binding.reference, protection: binding.protection,
            labels: binding.labels,
            metadata: RowSealing.seal(record, for: binding, keys: keys), secret: secret)
    }

    /// The tier whose keys find and authenticate the row. A damaged row may have an unknown class
    /// number; the row then counts as one of the guarded tier.
    package var tier: Tier { ProtectionClass(rawValue: protection)?.tier ?? .guarded }

    /// The tag of the sealed metadata. It authenticates the whole row except `id` and the sealed
    /// row key, since the AAD of the metadata contains the labels, and the plaintext of the
    /// metadata contains the secret's tag.
    package var metadataTag: [UInt8] { Array(metadata.suffix(16)) }

    /// Whether the row is certainly small enough to be on one page, without overflow pages.
    package var isOnOnePage: Bool {
        metadata.count + (secret?.count ?? 0) + BlindIndex.labelByteCount * labels.terms.count
            < Self.byteLimitOnOnePage
    }

    static let byteLimitOnOnePage = 3800

    package func contribution(_ authenticator: StoreAuthenticator) -> StoreDigest {
        authenticator.contribution(reference: reference.bytes, metadataTag: metadataTag)
    }
}

// MARK: - Reading

/// The error for a row whose columns have the wrong types.
struct MisshapenRow: Error {
    let id: Int64?
}

extension SealedRow {
    /// Reads the columns id, uuid, protection, grp, k1, k2, k3, meta, terms[, secret].
    init(_ cursor: borrowing RowCursor, includesSecret: Bool) throws(MisshapenRow) {
        let id = cursor.integer(0)
        guard let id, let reference = cursor.bytes16(1),
            let protection = cursor.integer(2).flatMap({ UInt8(exactly: $0) }),
            let group = cursor.bytes16(3), let first = cursor.bytes16(4),
            let second = cursor.bytes16(5), let rest = cursor.bytes16(6),
            let metadata = cursor.data(7), let terms = cursor.list16(8)
        else { throw MisshapenRow(id: id) }
        self.init(
            id: id, reference: ItemReference(reference), protection: protection,
            labels: RowLabels(
                group: group, first: first, second: second, rest: rest, terms: terms),
            metadata: metadata, secret: includesSecret ? cursor.data(9) : nil)
    }

    /// The columns of `StoreSchema.rowColumns` and `secret`.
    var columnValues: [StatementValue] {
        [
            .label(reference.value), .integer(Int64(protection)), .label(labels.group),
            .label(labels.first), .label(labels.second), .label(labels.rest), .blob(metadata),
            termValue, secretValue,
        ]
    }

    var termValue: StatementValue { .blob(Data(labels.terms.flatMap(\.bytes))) }

    var secretValue: StatementValue { secret.map { .blob($0) } ?? .null }
}

// MARK: - Rows that are set aside

/// The reason for setting a row aside. The raw value is stored in the database.
package enum SetAsideReason: Int64, CaseIterable, Sendable {
    case foundByCheck = 1
    case foundByRecovery = 2
    case doubtfulInRecovery = 3
    /// Not a row of an item: it represents all items that a recovery didn't find and can't name.
    case lostByRecovery = 4
    case replaced = 5
    case deleted = 6

    /// A text for the user. In version 1 of the database it was stored as the reason.
    package var text: String {
        switch self {
        case .foundByCheck: "found damaged by a check"
        case .foundByRecovery: "found damaged by a recovery"
        case .doubtfulInRecovery: "found whole by a recovery; it may have been deleted"
        case .lostByRecovery: "lost by a recovery"
        case .replaced: "replaced by a new item with the same key"
        case .deleted: "damaged when it was deleted"
        }
    }

    /// The number for a text of version 1. A row with an unknown text is treated as doubtful: it is
    /// restored only if the caller names it, and a search for its labels that finds nothing fails
    /// with damage.
    static func number(ofVersion1 text: String) -> Int64 {
        (allCases.first { $0.text == text } ?? .doubtfulInRecovery).rawValue
    }

    /// Whether the row was set aside only because it was damaged. If there was another reason, the
    /// user may have wanted to delete the item.
    package var isOfItem: Bool { self == .foundByCheck || self == .foundByRecovery }

    /// Whether a look-up of the row's labels may miss an item that should exist. An item that was
    /// deleted or replaced should not exist. A reason that this version doesn't know is treated as
    /// a loss.
    package static func meansLoss(_ reason: Int64) -> Bool {
        switch SetAsideReason(rawValue: reason) {
        case .replaced, .deleted: false
        case .foundByCheck, .foundByRecovery, .doubtfulInRecovery, .lostByRecovery, nil: true
        }
    }
}

extension SealedRow {
    /// The row that represents the items that a recovery lost. It contains neither an item nor an
    /// item's labels.
    package static func ofLoss() -> SealedRow {
        let none = Label(high: 0, low: 0)
        return SealedRow(
            id: 0, reference: .random(), protection: 0,
            labels: RowLabels(group: none, first: none, second: none, rest: none, terms: []),
            metadata: Data(), secret: nil)
    }
}

// MARK: - The tag of a row that is set aside

extension SealedRow {
    /// Authenticates a row of `set_aside`, which no digest covers: HMAC(integrity key, "aside" ‖ at
    /// ‖ reason ‖ the row's columns, each preceded by its length). A length of 2^64 - 1 represents
    /// NULL.
    package func asideTag(
        reason: Int64, at moment: Double, _ authenticator: StoreAuthenticator
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes(Array("aside".utf8))
        writer.number(moment.bitPattern)
        writer.number(UInt64(bitPattern: reason))
        func add(_ column: some Collection<UInt8>) {
            writer.number(UInt64(column.count))
            writer.bytes(Array(column))
        }
        add(reference.bytes)
        add([protection])
        for label in [labels.group, labels.first, labels.second, labels.rest] { add(label.bytes) }
        add(metadata)
        add(labels.terms.flatMap(\.bytes))
        if let secret { add(secret) } else { writer.number(UInt64.max) }
        return authenticator.tag(of: writer.result)
    }
}
