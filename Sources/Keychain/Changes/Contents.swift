// Keychain.Contents: the items of a keychain at a moment, and what became of them since before.

import Foundation

extension Keychain {
    /// The items of a keychain at a moment, and how they differ from those of the moment before.
    ///
    /// No secret is in it, and none was read for it.
    public struct Contents: Sendable {
        /// All items, by account. While they can't be listed, those that were listed last.
        public let items: [Item]

        /// How `items` differ from those of the element before, in the order in which the items
        /// were changed; deletions come first. Empty in the first element.
        public let changes: [Change]

        /// Why the items can't be listed now; nil if they can. With code
        /// ``KeychainError/Code/interactionNotAllowed`` at least one of them is locked.
        public let error: KeychainError?
    }

    /// What became of one item.
    public struct Change: Hashable, Sendable {
        /// The kinds of changes.
        public enum Kind: String, Hashable, Sendable {
            /// The item was not there before. An item that was deleted and added again is one
            /// that was deleted and another that was added.
            case added
            /// The item was saved over, or its attributes were changed.
            case updated
            /// The item is gone.
            case deleted
        }

        /// What happened.
        public let kind: Kind

        /// The item as it is now or, if it was deleted, as it was last seen.
        public let item: Item

        /// Whose item it is.
        public var account: String { item.account }
    }
}

extension Keychain.Change {
    /// The changes that lead from one list of items to another.
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
