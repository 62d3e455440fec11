// CheckReport: what a check of a keychain found.

/// What a check found.
package struct CheckReport: Hashable, Sendable {
    package struct DamagedItem: Hashable, Sendable {
        /// nil: the row is too damaged to tell.
        package let reference: ItemReference?
        package let what: String

        package init(reference: ItemReference?, what: String) {
            self.reference = reference
            self.what = what
        }
    }

    package var itemCount = 0
    /// Items whose class was locked; of these only the labels' consistency was checked.
    package var lockedCount = 0
    package var damagedItems: [DamagedItem] = []
    /// What is wrong with the structure, in words.
    package var problems: [String] = []
    /// Pages of the database whose checksum was wrong.
    package var damagedPages: [UInt32] = []
    /// Rows that this check has set aside.
    package var setAsideCount = 0
    /// What is worth knowing and no damage.
    package var notices: [String] = []

    package init() {}

    package var isSound: Bool { damagedItems.isEmpty && problems.isEmpty && damagedPages.isEmpty }
}
