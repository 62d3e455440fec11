// RowKeys: keys that open and seal the rows of a keychain, and the resealing of all rows of one
// database into another under other keys.
//   (1) An item's row keeps its reference, its id, its dates and every byte of its secret.
//   (2) If a row of the items table doesn't open, resealing fails.
//   (3) If an earlier version of an item doesn't open, it is left out.
//   (4) If the attributes of a row that was set aside don't open, the row is kept unchanged, and a
//       search under the new keys can't find it. If the row's reason means that an item may be
//       lost, a row that represents unknown losses (`lostByRecovery`) is added, unless the database
//       already has such a row.

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainSQLite

enum RowCondition {
    /// Attributes and secret both open, and the row's labels are those of its attributes.
    case whole(ItemRecord, secret: Data?)
    /// The attributes open, so the labels are authentic. The secret doesn't open, or there is one
    /// although the attributes say that there is none.
    case withoutSecret(ItemRecord)
    case damaged
    /// The keys of the row's class or tier aren't available.
    case locked
}

struct RowKeys {
    let keychainID: [UInt8]
    let tiers: StoreTiers
    let classes: [ProtectionClass: ClassKeys]

    /// The keys that are in a key ring.
    init(_ ring: KeyRing) {
        self.init(
            keychainID: ring.hierarchy.keybag.keychainID, tiers: ring.tiers, classes: ring.classes)
    }

    init(keychainID: [UInt8], tiers: StoreTiers, classes: [ProtectionClass: ClassKeys]) {
        self.keychainID = keychainID
        self.tiers = tiers
        self.classes = classes
    }

    /// The keys of a keychain of version 1.
    /// - Throws: `interactionNotAllowed` if a required passcode is missing, `authFailed` if it is
    ///   wrong.
    init(
        _ hierarchy: KeyHierarchyVersion1, passcode: SecretBytes?
    ) throws(KeychainFailure) {
        let device = try hierarchy.openDeviceKeys()
        var classes = device.classes
        if hierarchy.keybag.hasPasscode {
            guard let passcode else {
                throw KeychainFailure(
                    .interactionNotAllowed,
                    "This operation requires the keychain's passcode. Nothing was changed.")
            }
            classes.merge(try hierarchy.openPasscodeKeys(passcode).classes) { _, new in new }
        }
        self.init(
            keychainID: hierarchy.keybag.keychainID,
            tiers: StoreTiers(version1: StoreTier(version1: device)), classes: classes)
    }

    /// Opens the attributes and the secret of a row.
    func condition(of row: SealedRow) -> RowCondition {
        guard let protection = ProtectionClass(rawValue: row.protection) else { return .damaged }
        guard let keys = classes[protection],
            let index = try? tiers.keys(of: tiers.tier(of: row)).index
        else { return .locked }
        let isVersion1 = tiers.isVersion1
        let opened =
            isVersion1
            ? try? RowSealingVersion1.openMetadata(of: row, keychainID: keychainID, keys: keys)
            : try? RowSealing.openMetadata(of: row, keychainID: keychainID, keys: keys)
        guard let record = opened,
            RowLabels(record, index: index, isVersion1: isVersion1) == row.labels
        else { return .damaged }
        guard record.secretTag != nil else {
            return row.secret == nil ? .whole(record, secret: nil) : .withoutSecret(record)
        }
        let secret =
            isVersion1
            ? try? RowSealingVersion1.openSecret(
                of: row, record: record, keychainID: keychainID, keys: keys)
            : try? RowSealing.openSecret(
                of: row, record: record, keychainID: keychainID, keys: keys)
        return secret.map { .whole(record, secret: $0) } ?? .withoutSecret(record)
    }

    /// Seals attributes and a secret under these keys, in a row that replaces `row`. If `secret` is
    /// `nil`, the sealed secret of `row` is copied unchanged.
    ///
    /// - Returns: `nil` if a required key is not available.
    private func seal(_ record: ItemRecord, _ secret: Data?, inPlaceOf row: SealedRow) -> SealedRow?
    {
        guard let protection = ProtectionClass(rawValue: row.protection),
            let keys = classes[protection], let index = try? tiers.keys(of: protection.tier).index
        else { return nil }
        var record = record
        let binding = RowBinding(
            keychainID: keychainID, reference: row.reference, protection: row.protection,
            labels: RowLabels(record, index: index))
        let sealed = secret.map {
            RowSealing.seal(
                secret: $0, itemClass: record.itemClass, constraints: record.constraints,
                for: binding, keys: keys)
        }
        if let sealed { record.secretTag = sealed.tag }
        return SealedRow(
            id: row.id, binding, record, keys: keys, secret: sealed?.bytes ?? row.secret)
    }

    /// Opens a row with these keys and seals it under other keys; `nil` if the row doesn't open, or
    /// if one of the other keys is not available.
    func row(_ row: SealedRow, for new: RowKeys) -> SealedRow? {
        guard case .whole(let record, let secret) = condition(of: row) else { return nil }
        return new.seal(record, secret, inPlaceOf: row)
    }

    /// Opens a row that was set aside and seals it under other keys.
    ///
    /// - Returns: The row, and whether it has the labels that a search with the new keys computes.
    func setAsideRow(
        _ row: SealedRow, for new: RowKeys
    ) -> (row: SealedRow, areLabelsKnown: Bool) {
        let sealed: SealedRow? =
            switch condition(of: row) {
            case .whole(let record, let secret): new.seal(record, secret, inPlaceOf: row)
            case .withoutSecret(let record): new.seal(record, nil, inPlaceOf: row)
            case .damaged, .locked: nil
            }
        return (sealed ?? row, sealed != nil)
    }

    /// Seals every row of a database again, including earlier versions and the rows set aside.
    /// `advance` is called before each row of the items table.
    func resealAll(
        of old: Store, _ aside: [SetAsideRow], into transaction: inout StoreTransaction,
        for new: RowKeys, at moment: Double,
        _ advance: () throws(KeychainFailure) -> Void = {}
    ) throws(KeychainFailure) {
        try old.forEachRow { row throws(KeychainFailure) in
            try advance()
            guard let sealed = self.row(row, for: new) else { throw .damagedItem(row.reference) }
            try transaction.insert(sealed, keepingID: true)
        }
        try old.forEachVersion(includesSecret: true) { version throws(KeychainFailure) in
            guard let version, let sealed = self.row(version.row, for: new) else { return }
            try transaction.insert(version, as: sealed)
        }
        var isLossNamed = false
        var isLossUnknown = false
        for row in aside {
            let (sealed, areLabelsKnown) = setAsideRow(row.row, for: new)
            try transaction.addSetAside(
                sealed, reason: row.number, at: row.moment, isVouchedFor: row.isAuthentic)
            if row.reason == .lostByRecovery {
                isLossNamed = true
            } else if !areLabelsKnown, SetAsideReason.meansLoss(row.number) {
                isLossUnknown = true
            }
        }
        if isLossUnknown, !isLossNamed {
            try transaction.addSetAside(
                .ofLoss(), reason: SetAsideReason.lostByRecovery.rawValue, at: moment)
        }
    }
}
