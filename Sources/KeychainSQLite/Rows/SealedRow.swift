// SealedRow: a row of the items table as it stands on disk, how it is read out of a result, and why
// one is kept apart from the items.
//   (1) Nothing in a row was checked.
//   (2) Reading one doesn't trap, whatever a column holds.

package import FoundationEssentials
package import KeychainCore
package import KeychainCrypto

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
    /// The parts of a server, all together, and further attributes that are set and have an index
    /// entry.
    package var terms: [Label]

    package init(group: Label, first: Label, second: Label, rest: Label, terms: [Label]) {
        self.group = group
        self.first = first
        self.second = second
        self.rest = rest
        self.terms = terms
    }

    /// The labels under which an item must stand. In version 1 a server had none.
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
    /// Whether group and primary key are those of others.
    package func haveKey(of others: RowLabels) -> Bool {
        group == others.group && first == others.first && second == others.second
            && rest == others.rest
    }
}

package struct SealedRow: Hashable, Sendable {
    package var id: Int64
    package var reference: ItemReference
    /// The number in the file; a damaged row may hold any.
    package var protection: UInt8
    package var labels: RowLabels
    /// "KCM2" ‖ length ‖ sealed record.
    package var metadata: Data
    /// "KCS2" ‖ length ‖ sealed row key ‖ sealed secret. nil: no secret, or not read.
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

    /// Seals a record. `secret` is sealed for the same binding, or nil: there is none, or it stays.
    package init(
        id: Int64 = 0, _ binding: RowBinding, _ record: ItemRecord, keys: ClassKeys, secret: Data?
    ) {
        self.init(
            id: id, reference: binding.reference, protection: binding.protection,
            labels: binding.labels,
            metadata: RowSealing.seal(record, for: binding, keys: keys), secret: secret)
    }

    /// Whose keys find it and vouch for it. A damaged row may name any class, or none.
    package var tier: Tier { ProtectionClass(rawValue: protection)?.tier ?? .guarded }

    /// The tag of the sealed metadata: it vouches for the whole row, since the metadata's
    /// associated data hold the labels and its plaintext the secret's tag.
    package var metadataTag: [UInt8] { Array(metadata.suffix(16)) }

    /// Whether the row is short enough to be on one page, without pages of its own for the rest.
    package var isOnOnePage: Bool {
        metadata.count + (secret?.count ?? 0) + BlindIndex.labelByteCount * labels.terms.count
            < 3800
    }

    package func contribution(_ authenticator: StoreAuthenticator) -> StoreDigest {
        authenticator.contribution(reference: reference.bytes, metadataTag: metadataTag)
    }
}

// MARK: - Reading

/// A row that doesn't have the shape of one. `id` says which.
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

/// Why a row was set aside. The raw value stands in the database.
package enum SetAsideReason: Int64, CaseIterable, Sendable {
    case foundByCheck = 1
    case foundByRecovery = 2
    case doubtfulInRecovery = 3
    /// No row of an item: it stands for all that a recovery didn't find and can't name.
    case lostByRecovery = 4
    case replaced = 5
    case deleted = 6

    /// For people to read. In version 1 of the database it stood there.
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

    /// What a text of version 1 has become. Of one that isn't known, nothing is known: the row goes back
    /// by name only, and a miss of its labels is damage.
    static func number(ofVersion1 text: String) -> Int64 {
        (allCases.first { $0.text == text } ?? .doubtfulInRecovery).rawValue
    }

    /// Whether the row was an item when it was set aside. Any other may be one that the user wanted
    /// gone.
    package var isOfItem: Bool { self == .foundByCheck || self == .foundByRecovery }

    /// Whether a look-up of the row's labels may miss an item because of it. What was deleted or
    /// replaced is not missed; of a reason that this version doesn't know, nothing is known.
    package static func meansLoss(_ reason: Int64) -> Bool {
        switch SetAsideReason(rawValue: reason) {
        case .replaced, .deleted: false
        case .foundByCheck, .foundByRecovery, .doubtfulInRecovery, .lostByRecovery, nil: true
        }
    }
}

extension SealedRow {
    /// The row that stands for what a recovery lost: of no item, and under no item's labels.
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
    /// Authenticates a row of `set_aside`, which counts for no digest: HMAC(integrity key, "aside" ‖ at ‖
    /// reason ‖ the row's columns, each behind its length). A length of 2^64 - 1 stands for NULL.
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
