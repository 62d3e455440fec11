// SalvagedRow: a row as it was found in damaged files: a candidate, not yet proven.

/// A row that was found in a database file or its log. Nothing in it is verified: the tags over
/// its metadata and its secret tell a row from a chance hit.
package struct SalvagedRow: Hashable, Sendable {
    package var row: SealedRow
    /// When and why it was set aside; nil for a row of `items`.
    package var aside: Aside?
    /// Whether a cell of its page leads to it. Otherwise it may be the remains of a row.
    package var isInCell = false

    package struct Aside: Hashable, Sendable {
        package let moment: Double
        package let reason: String
    }

    init(row: SealedRow, aside: Aside?) {
        self.row = row
        self.aside = aside
    }
}
