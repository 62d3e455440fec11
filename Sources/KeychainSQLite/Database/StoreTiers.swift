// StoreTiers: the keys with which the rows of each tier are found and authenticated. Those of the
// open tier are always available. Those of the guarded tier are available from the first unlock
// until everything is locked, which leads back to the state before the first unlock.
//   (1) A row is found and authenticated with the keys of the tier of its protection class.
//   (2) A database of version 1 has one tier for all rows, the open one.

package import KeychainCore
package import KeychainCrypto

package final class StoreTier: Sendable {
    package let index: BlindIndex
    package let authenticator: StoreAuthenticator

    package init(indexKey: SecretBytes, integrityKey: SecretBytes) {
        index = BlindIndex(key: indexKey)
        authenticator = StoreAuthenticator(key: integrityKey)
    }

    /// The tier of all rows of a database of version 1.
    package convenience init(version1 keys: DeviceKeys) {
        self.init(indexKey: keys.indexKey, integrityKey: keys.integrityKey)
    }
}

package struct StoreTiers: Sendable {
    package let open: StoreTier
    /// `nil` for version 1, and while the keys aren't available: for example, before the first
    /// unlock.
    package let guarded: StoreTier?
    package let isVersion1: Bool

    package init(open: StoreTier, guarded: StoreTier?) {
        self.open = open
        self.guarded = guarded
        isVersion1 = false
    }

    package init(version1 tier: StoreTier) {
        open = tier
        guarded = nil
        isVersion1 = true
    }

    package func tier(of row: SealedRow) -> Tier { isVersion1 ? .open : row.tier }

    /// - Throws: `interactionNotAllowed` for the guarded tier before the first unlock.
    package func keys(of tier: Tier) throws(KeychainFailure) -> StoreTier {
        if tier == .open { return open }
        guard let guarded else { throw .lockedBeforeFirstUnlock }
        return guarded
    }

    /// The contribution of a row to the digests; zero if the keys of its tier are not available.
    package func contribution(of row: SealedRow) -> TierDigests {
        var digests = TierDigests()
        let tier = tier(of: row)
        if let keys = tier == .open ? open : guarded {
            digests[tier] = row.contribution(keys.authenticator)
        }
        return digests
    }

    /// The indexes of all tiers whose keys are available, the guarded one first, because most items
    /// are in it.
    package var indexes: [BlindIndex] { [guarded, open].compactMap { $0?.index } }

    /// The indexes that a query has to search, at least one. Without the keys of the guarded tier,
    /// this is always the index of the open tier. With them, a query for a protection class
    /// searches the index of that class's tier. Any other query searches the indexes of the tiers
    /// that contain items or, if none does, that of the open tier.
    func indexes(for query: ItemQuery, _ header: StoreHeader) -> [BlindIndex] {
        if let protection = query.protection, !isVersion1 {
            return [protection.tier == .open ? open.index : (guarded ?? open).index]
        }
        guard let guarded, header.count(of: .guarded) > 0 else { return [open.index] }
        return header.count(of: .open) > 0 ? [guarded.index, open.index] : [guarded.index]
    }
}

/// A digest for each tier.
package struct TierDigests: Hashable, Sendable {
    private var open = StoreDigest.zero
    private var guarded = StoreDigest.zero

    package init() {}

    package subscript(tier: Tier) -> StoreDigest {
        get { tier == .open ? open : guarded }
        set { if tier == .open { open = newValue } else { guarded = newValue } }
    }

    package static func + (a: TierDigests, b: TierDigests) -> TierDigests {
        var sum = a
        for tier in Tier.allCases { sum[tier] = a[tier] + b[tier] }
        return sum
    }
}

extension KeychainFailure {
    /// The error for a request that needs the guarded tier before the first unlock.
    package static let lockedBeforeFirstUnlock = KeychainFailure(
        .interactionNotAllowed,
        "The keychain hasn't been unlocked since it was opened or `keychainctl lock --all` locked "
            + "it, so it is unknown which items it contains. Keep any value that you were about to "
            + "save, and try again after unlocking the keychain.")
}
