// RowCondition: how much of a row is as it was written, as far as the keys at hand tell.

import KeychainCrypto
import KeychainCore
import KeychainSQLite

enum RowCondition {
    /// Both halves open, under the labels that are its own.
    case whole(ItemRecord)
    /// The attributes open, so the labels are authentic; the secret doesn't.
    case withoutSecret
    case damaged
    /// Its class is locked.
    case locked
}

extension SealedRow {
    /// Opens both halves.
    func condition(
        keychainID: [UInt8], index: BlindIndex, keys: ClassKeys
    ) -> RowCondition {
        guard
            let record = try? RowSealing.openMetadata(
                of: self, keychainID: keychainID, keys: keys),
            RowLabels(record, index: index) == labels
        else { return .damaged }
        let isWhole =
            record.secretTag == nil
            ? secret == nil
            : (try? RowSealing.openSecret(
                of: self, record: record, keychainID: keychainID, keys: keys)) != nil
        return isWhole ? .whole(record) : .withoutSecret
    }
}
