// SetAsideReason: why a row is kept apart from the items.

/// Why a row was set aside. The raw value stands in the database, for people to read.
package enum SetAsideReason: String, CaseIterable, Sendable {
    case foundByCheck = "found damaged by a check"
    case foundByRecovery = "found damaged by a recovery"
    case doubtfulInRecovery = "found whole by a recovery; it may have been deleted"
    case beforeRecovery = "set aside before a recovery"
    case replaced = "replaced by a new item with the same key"
    case deleted = "damaged when it was deleted"

    /// Whether the row was an item when it was set aside. Any other may be one that somebody
    /// wanted gone.
    package var isOfItem: Bool { self == .foundByCheck || self == .foundByRecovery }
}
