// SalvagedRow: a row, or a keybag, as it was found in damaged files: a candidate, not yet proven.

/// The columns of an item row that was found in a database file or its WAL.
///
/// Nothing in it is verified. The seals over `meta` and `secret` tell a row from a chance hit, a
/// wrong guess at a damaged pointer or a mixture of two rows.
package struct SalvagedRow: Hashable, Sendable {
    /// How the bytes that a candidate was read from stand to the committed database.
    package enum Standing: Hashable, Sendable {
        /// The newest committed image of its page.
        case current
        /// A WAL frame behind the last commit: a transaction that did not end.
        case uncommitted
        /// An image that a newer committed one replaced.
        case superseded
        /// Leftover bytes in a page whose structure is whole and does not count them in.
        case residue
    }

    /// How a candidate was found.
    package enum Evidence: Hashable, Sendable {
        /// By a cell of a table-leaf page whose record header fits its length.
        case cell
        /// By the magic of its metadata, its cell being damaged.
        case magic
        /// Like one of the others, with the overflow chain pieced together from lost pages.
        case splicedChain
    }

    /// The rowid, nil if the bytes in front of the record did not tell it.
    package var rowid: Int64?
    package var uuid: [UInt8]
    package var protection: UInt8
    package var grp: [UInt8]
    package var k1: [UInt8]
    package var k2: [UInt8]
    package var k3: [UInt8]
    package var meta: [UInt8]
    package var terms: [UInt8]
    package var secret: [UInt8]?

    package var standing: Standing
    package var evidence: Evidence
    /// The columns in front of `uuid`: 1 in `items`, 3 in `set_aside`, nil if unknown.
    package var leadingColumnCount: Int?
    /// The page that holds the start of the row; 0 where a WAL frame did not tell.
    package var page: UInt32
    /// The WAL frame, counted from 0, nil for the main file. A higher one is newer.
    package var frame: Int?

    /// Whether the row is part of the newest committed state, as far as the files tell.
    package var isCurrent: Bool {
        standing == .current
    }
}

/// A keybag body that was found in a database file or its WAL. Nothing in it is verified.
package struct SalvagedKeybag: Hashable, Sendable {
    /// The blob from its magic on, as long as it says it is.
    package var body: [UInt8]
    package var standing: SalvagedRow.Standing
    package var page: UInt32
    /// The WAL frame, counted from 0, nil for the main file. A higher one is newer.
    package var frame: Int?

    package var isCurrent: Bool {
        standing == .current
    }
}
