// RowReading: rows of a result to values, without a trap for whatever a column holds.

import FoundationEssentials
import GRDB
import KeychainCrypto
import KeychainModel

/// A row that doesn't have the shape of one. `id` says which.
struct MisshapenRow: Error {
    let id: Int64?
}

extension SealedRow {
    /// Reads the columns id, uuid, protection, grp, k1, k2, k3, meta, terms[, secret].
    init(_ row: Row, includesSecret: Bool) throws(MisshapenRow) {
        let id = Int64.fromDatabaseValue(row[0])
        func label(_ column: Int) -> Label? {
            guard let data = blob(row, column), data.count == BlindIndex.labelByteCount else {
                return nil
            }
            return Label(data)
        }
        guard let id, let uuid = blob(row, 1), let reference = ItemReference(bytes: Array(uuid)),
            let protection = UInt8.fromDatabaseValue(row[2]), let group = label(3),
            let first = label(4), let second = label(5), let rest = label(6),
            let metadata = blob(row, 7), let terms = blob(row, 8),
            terms.count % BlindIndex.labelByteCount == 0
        else { throw MisshapenRow(id: id) }
        self.init(
            id: id, reference: reference, protection: protection,
            labels: RowLabels(
                group: group, first: first, second: second, rest: rest,
                terms: Self.split(terms)),
            metadata: metadata, secret: includesSecret ? blob(row, 9) : nil)
    }

    static func split(_ terms: Data) -> [Label] {
        guard !terms.isEmpty else { return [] }
        let bytes = Array(terms)
        return stride(from: 0, to: bytes.count, by: BlindIndex.labelByteCount).map {
            Label(bytes[$0..<$0 + BlindIndex.labelByteCount])
        }
    }

    /// The columns of `StoreSchema.rowColumns` and `secret`.
    var columnValues: [(any DatabaseValueConvertible)?] {
        [
            Data(reference.bytes), Int64(protection), Data(labels.group), Data(labels.first),
            Data(labels.second), Data(labels.rest), metadata, Data(labels.terms.joined()), secret,
        ]
    }
}

/// The blob in a column; nil for any other type.
func blob(_ row: Row, _ column: Int) -> Data? {
    let value: DatabaseValue = row[column]
    guard case .blob(let data) = value.storage else { return nil }
    return data
}
