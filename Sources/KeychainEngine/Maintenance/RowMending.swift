// RowMending: finds the one byte that makes a damaged row verify again.
//   (1) What comes back has both its tags verified, so it is what was written.
//   (2) The work is bounded: every value of a byte is tried in rows of a few kilobytes, flipped
//       bits in somewhat larger ones, nothing in large ones.

import FoundationEssentials
import KeychainCrypto
import KeychainModel
import KeychainStore

struct RowMending {
    let keychainID: [UInt8]
    let protection: ProtectionClass
    let keys: ClassKeys

    /// A row with both halves verified.
    struct WholeRow {
        let row: SealedRow
        let record: ItemRecord
    }

    /// The longest half, in bytes, of which every value of every byte is tried.
    private static let longestForBytes = 2 << 10
    /// The longest half, in bytes, of which every bit is tried.
    private static let longestForBits = 16 << 10

    /// The row as it was written; nil where more than one byte of a half has changed.
    func whole(_ row: SealedRow) -> WholeRow? {
        var row = row
        row.protection = protection.rawValue
        guard let (row, record) = openingMetadata(of: row) else { return nil }
        return openingSecret(of: row, record)
    }

    // MARK: The two halves

    private func openingMetadata(of row: SealedRow) -> (SealedRow, ItemRecord)? {
        func open(_ row: SealedRow) -> (SealedRow, ItemRecord)? {
            (try? RowSealing.openMetadata(of: row, keychainID: keychainID, keys: keys))
                .map { (row, $0) }
        }
        if let opened = open(row) { return opened }
        var candidate = row
        if let opened = Self.mend(
            row.metadata,
            { bytes in
                candidate.metadata = bytes
                return open(candidate)
            })
        {
            return opened
        }
        // What the metadata are bound to: reference and labels.
        return Self.mend(Data(row.bindingBytes)) { bytes in
            row.replacingBinding(by: Array(bytes)).flatMap(open)
        }
    }

    private func openingSecret(of row: SealedRow, _ record: ItemRecord) -> WholeRow? {
        guard record.secretTag != nil else {
            return row.secret == nil ? WholeRow(row: row, record: record) : nil
        }
        guard let secret = row.secret else { return nil }
        var candidate = row
        func open(_ bytes: Data) -> WholeRow? {
            candidate.secret = bytes
            let isWhole =
                (try? RowSealing.openSecret(
                    of: candidate, record: record, keychainID: keychainID, keys: keys)) != nil
            return isWhole ? WholeRow(row: candidate, record: record) : nil
        }
        return open(secret) ?? Self.mend(secret, open)
    }

    // MARK: Trying

    /// The result for the first change of one byte that has one.
    private static func mend<Result>(_ bytes: Data, _ open: (Data) -> Result?) -> Result? {
        guard bytes.count <= longestForBits else { return nil }
        let changes: [UInt8] =
            bytes.count <= longestForBytes
            ? Array(1...255) : (0..<8).map { 1 << $0 }
        var candidate = bytes
        for index in candidate.indices {
            for change in changes {
                candidate[index] ^= change
                if let result = open(candidate) { return result }
                candidate[index] ^= change
            }
        }
        return nil
    }
}

extension SealedRow {
    /// Reference and labels, one after the other.
    fileprivate var bindingBytes: [UInt8] {
        reference.bytes
            + ([labels.group, labels.first, labels.second, labels.rest] + labels.terms)
            .flatMap(\.bytes)
    }

    fileprivate func replacingBinding(by bytes: [UInt8]) -> SealedRow? {
        let parts = stride(from: 0, to: bytes.count, by: 16).compactMap {
            Label(bytes[$0..<$0 + 16])
        }
        guard parts.count == 5 + labels.terms.count,
            let reference = ItemReference(
                bytes: Array(bytes[..<16]))
        else { return nil }
        var row = self
        row.reference = reference
        row.labels = RowLabels(
            group: parts[1], first: parts[2], second: parts[3], rest: parts[4],
            terms: Array(parts[5...]))
        return row
    }
}
