// SetAsideReason: why a row is kept apart from the items.

import FoundationEssentials
import KeychainCrypto
import KeychainCore

/// Why a row was set aside. The raw value stands in the database, for people to read.
package enum SetAsideReason: String, CaseIterable, Sendable {
    case foundByCheck = "found damaged by a check"
    case foundByRecovery = "found damaged by a recovery"
    case doubtfulInRecovery = "found whole by a recovery; it may have been deleted"
    /// No row of an item: it stands for all that a recovery didn't find and can't name.
    case lostByRecovery = "lost by a recovery"
    case replaced = "replaced by a new item with the same key"
    case deleted = "damaged when it was deleted"

    /// Whether the row was an item when it was set aside. Any other may be one that the user wanted
    /// gone.
    package var isOfItem: Bool { self == .foundByCheck || self == .foundByRecovery }

    /// Whether a look-up of the row's labels may miss an item because of it. What was deleted or
    /// replaced is not missed; of a reason that this version doesn't know, nothing is known.
    static func meansLoss(_ reason: String) -> Bool {
        switch SetAsideReason(rawValue: reason) {
        case .replaced, .deleted: false
        case .foundByCheck, .foundByRecovery, .doubtfulInRecovery, .lostByRecovery, nil: true
        }
    }
}

extension SealedRow {
    /// The row that stands for what a recovery lost: of no item, and under no item's labels.
    package static func ofLoss() -> SealedRow {
        let none = Label(high: 0, low: 0)
        return SealedRow(
            id: 0, reference: .random(), protection: 0,
            labels: RowLabels(group: none, first: none, second: none, rest: none, terms: []),
            metadata: Data(), secret: nil)
    }
}
