// CheckReport: the result of a check of a keychain.

/// The result of a check.
package struct CheckReport: Hashable, Sendable {
    package struct DamagedItem: Hashable, Sendable {
        /// `nil` if the row, or the earlier version of an item, is too damaged to identify its
        /// item.
        package let reference: ItemReference?
        package let what: String

        package init(reference: ItemReference?, what: String) {
            self.reference = reference
            self.what = what
        }

        /// An entry about an earlier version of an item. If its item is unknown, the version can't
        /// be purged. Only a recovery deletes it, because a recovery keeps no versions.
        package static func earlierVersion(of reference: ItemReference?) -> DamagedItem {
            DamagedItem(
                reference: reference,
                what: beginning
                    + (reference == nil
                        ? "an unknown item has invalid values; `keychainctl recover` deletes it"
                        : "it can't be opened; `keychainctl purge` deletes it"))
        }

        /// Whether the entry is about an earlier version, which is not among the counted items.
        /// This is derived from the text, because the service's answer has no field for it.
        package var isOfEarlierVersion: Bool { what.hasPrefix(Self.beginning) }

        private static let beginning = "an earlier version of "
    }

    package var itemCount = 0
    /// The number of items whose class was locked or is bound to another machine. Their attributes
    /// and secrets were not checked.
    package var lockedCount = 0
    /// The damaged items, followed by an entry for each damaged earlier version.
    package var damagedItems: [DamagedItem] = []
    /// Descriptions of structural problems.
    package var problems: [String] = []
    /// Database pages whose checksum was wrong.
    package var damagedPages: [UInt32] = []
    /// The number of rows that this check has set aside; always 0 for the request
    /// ``CheckKeychain``, which sets none aside.
    package var setAsideCount = 0
    /// Findings that are not damage but worth reporting.
    package var notices: [String] = []

    package init() {}

    package var isSound: Bool { damagedItems.isEmpty && problems.isEmpty && damagedPages.isEmpty }
}
