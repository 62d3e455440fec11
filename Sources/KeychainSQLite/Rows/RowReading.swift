// RowReading: rows of a result to values, without a trap for whatever a column holds.

import FoundationEssentials
import KeychainCrypto
import KeychainCore

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
