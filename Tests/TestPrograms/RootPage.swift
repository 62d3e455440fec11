// RootPage: where the tables and indexes of a keychain's database begin.

import KeychainSQLite

/// The pages that tables and indexes begin with, in the order in which they are made. A small one is
/// on this page alone.
package enum RootPage: Int, Sendable {
    case schema = 1
    case header
    case keybag
    case items
    case itemsUUID
    case itemsKey
    case itemsK2
    case itemsGroup
    case terms
    case setAside

    package static let indexes: [RootPage] = [.itemsUUID, .itemsKey, .itemsK2, .itemsGroup, .terms]

    /// Where the page ends in the database, in bytes.
    package var end: Int { rawValue * PageFormat.pageByteCount }
    package var bytes: Range<Int> { end - PageFormat.pageByteCount..<end }
}
