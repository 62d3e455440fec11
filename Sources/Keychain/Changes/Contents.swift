// Keychain.Contents: the items of a keychain at one time, and the changes since the previous time.

import Foundation

extension Keychain {
    /// The items of a keychain at one time, and how they differ from the previous element of the
    /// sequence that `changes()` returns.
    ///
    /// It contains no secrets, and none are read for it.
    public struct Contents: Sendable {
        /// All items, sorted by account. While the items can't be listed, those of the last
        /// successful listing.
        public let items: [Item]

        /// The differences from the items of the previous element: first the deletions and then the
        /// other changes, both in the order of modification dates. Empty in an element that
        /// contains an error, and in the element with the sequence's first successful listing.
        public let changes: [Change]

        /// The reason that the items can't be listed now, or `nil` if they can. Code
        /// ``KeychainError/Code/interactionNotAllowed`` means that at least one of the items is
        /// locked. On Linux before the first unlock, the code can also mean only that a locked item
        /// may exist.
        public let error: KeychainError?
    }

    /// A change of one item.
    public struct Change: Hashable, Sendable {
        /// A kind of change.
        public enum Kind: String, Hashable, Sendable {
            /// The item is new. An item that was deleted and added again is reported as the
            /// deletion of one item and the addition of another.
            case added
            /// A value was saved over the item, or its attributes were changed.
            case updated
            /// The item was deleted.
            case deleted
        }

        /// The kind of change.
        public let kind: Kind

        /// The item as it is now or, if it was deleted, as it was last listed.
        public let item: Item

        /// The account of the item.
        public var account: String { item.account }
    }
}

extension Keychain.Change {
    /// The differences between two lists of items, by persistent reference.
    static func changes(
        from old: [Data: Keychain.Item], to new: [Data: Keychain.Item]
    ) -> [Keychain.Change] {
        var deleted: [Keychain.Change] = []
        for (reference, item) in old where new[reference] == nil {
            deleted.append(Keychain.Change(kind: .deleted, item: item))
        }
        var others: [Keychain.Change] = []
        for (reference, item) in new where old[reference] != item {
            let kind: Kind = old[reference] == nil ? .added : .updated
            others.append(Keychain.Change(kind: kind, item: item))
        }
        return deleted.sorted(by: precedes) + others.sorted(by: precedes)
    }

    private static func precedes(_ one: Keychain.Change, _ other: Keychain.Change) -> Bool {
        (one.item.modificationDate, one.account) < (other.item.modificationDate, other.account)
    }
}
