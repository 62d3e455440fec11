// RowSealingVersion1: opens rows of version 1, which are sealed again when a keychain is converted.
// Documentation/Formats/row-v1.md.

package import FoundationEssentials
package import KeychainCrypto
import KeychainCore

package enum RowSealingVersion1 {
    private static let metadataMagic = Array("KCM1".utf8)
    private static let secretMagic = Array("KCS1".utf8)
    private static let rowKeyMagic = Array("KCRK".utf8)
    private static let metadataHeadByteCount = 8
    private static let secretHeadByteCount = 12

    // MARK: Metadata

    package static func openMetadata(
        of row: SealedRow, keychainID: [UInt8], keys: ClassKeys
    ) throws(RowSealing.Damaged) -> ItemRecord {
        guard row.metadata.count > metadataHeadByteCount,
            row.metadata.prefix(metadataHeadByteCount)
                == Data(metadataHead(byteCount: row.metadata.count))
        else { throw RowSealing.Damaged() }
        do {
            let plaintext = try AuthenticatedEncryption.open(
                row.metadata.dropFirst(metadataHeadByteCount), using: keys.metadataKey,
                authenticating: metadataBinding(
                    row.reference, row.protection, row.labels, keychainID))
            guard let record = ItemRecord(decoding: Array(plaintext)) else {
                throw RowSealing.Damaged()
            }
            return record
        } catch {
            throw RowSealing.Damaged()
        }
    }

    private static func metadataHead(byteCount: Int) -> [UInt8] {
        var writer = ByteWriter(capacity: metadataHeadByteCount)
        writer.bytes(metadataMagic)
        writer.number(UInt32(truncatingIfNeeded: byteCount))
        return writer.result
    }

    private static func metadataBinding(
        _ reference: ItemReference, _ protection: UInt8, _ labels: RowLabels,
        _ keychainID: [UInt8]
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: 128 + 16 * labels.terms.count)
        writer.bytes(metadataMagic)
        writer.bytes(keychainID)
        reference.value.write(to: &writer)
        writer.number(protection)
        labels.group.write(to: &writer)
        labels.first.write(to: &writer)
        labels.second.write(to: &writer)
        labels.rest.write(to: &writer)
        for term in labels.terms { term.write(to: &writer) }
        return writer.result
    }

    // MARK: Secret

    package static func openSecret(
        of row: SealedRow, record: ItemRecord, keychainID: [UInt8], keys: ClassKeys
    ) throws(RowSealing.Damaged) -> Data {
        let wrappedByteCount = AuthenticatedEncryption.wrappedKeyByteCount
        guard let secret = row.secret, let tag = record.secretTag,
            secret.count >= secretHeadByteCount + wrappedByteCount,
            secret.suffix(tag.count) == Data(tag),
            secret.prefix(secretHeadByteCount) == Data(secretHead(byteCount: secret.count))
        else { throw RowSealing.Damaged() }
        let binding = secretBinding(row.reference, row.protection, record.itemClass, keychainID)
        let start = secret.startIndex + secretHeadByteCount
        do {
            let rowKey = try AuthenticatedEncryption.unwrap(
                secret[start..<start + wrappedByteCount], using: keys.classKey,
                authenticating: rowKeyMagic + binding)
            return try AuthenticatedEncryption.open(
                secret[(start + wrappedByteCount)...], using: rowKey,
                authenticating: secretMagic + binding)
        } catch {
            throw RowSealing.Damaged()
        }
    }

    private static func secretHead(byteCount: Int) -> [UInt8] {
        var writer = ByteWriter(capacity: secretHeadByteCount)
        writer.bytes(secretMagic)
        writer.number(UInt64(byteCount))
        return writer.result
    }

    private static func secretBinding(
        _ reference: ItemReference, _ protection: UInt8, _ itemClass: ItemClass,
        _ keychainID: [UInt8]
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: 40)
        writer.bytes(keychainID)
        reference.value.write(to: &writer)
        writer.number(protection)
        writer.number(itemClass.rawValue)
        return writer.result
    }
}
