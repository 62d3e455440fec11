// RowSealing: seals and opens the two halves of a row.
// Documentation/Formats/row-v1.md.
//   (1) The metadata's associated data bind them to keychain, reference, protection class and
//       labels; the metadata hold the secret's tag; the secret's associated data bind it to
//       keychain, reference, protection class and item class. So no half and no label can be
//       moved to another row, another keychain or an earlier state of the other half.
//   (2) Each secret is sealed under a fresh key, so no nonce is used twice with one.

package import FoundationEssentials
package import KeychainCrypto
package import KeychainCore

package enum RowSealing {
    private static let metadataMagic = Array("KCM1".utf8)
    private static let secretMagic = Array("KCS1".utf8)
    private static let rowKeyMagic = Array("KCRK".utf8)
    private static let metadataHeadByteCount = 8
    private static let secretHeadByteCount = 12

    /// The bytes are not what was sealed.
    package struct Damaged: Error {}

    // MARK: Metadata

    package static func seal(
        _ record: ItemRecord, reference: ItemReference, protection: ProtectionClass,
        labels: RowLabels, keychainID: [UInt8], keys: ClassKeys
    ) -> Data {
        let sealed = AuthenticatedEncryption.seal(
            record.encoded(), using: keys.metadataKey,
            authenticating: metadataBinding(reference, protection.rawValue, labels, keychainID))
        return Data(metadataHead(byteCount: metadataHeadByteCount + sealed.count)) + sealed
    }

    package static func openMetadata(
        of row: SealedRow, keychainID: [UInt8], keys: ClassKeys
    ) throws(Damaged) -> ItemRecord {
        guard row.metadata.count > metadataHeadByteCount,
            row.metadata.prefix(metadataHeadByteCount)
                == Data(metadataHead(byteCount: row.metadata.count))
        else { throw Damaged() }
        do {
            let plaintext = try AuthenticatedEncryption.open(
                row.metadata.dropFirst(metadataHeadByteCount), using: keys.metadataKey,
                authenticating: metadataBinding(
                    row.reference, row.protection, row.labels, keychainID))
            guard let record = ItemRecord(decoding: Array(plaintext)) else { throw Damaged() }
            return record
        } catch {
            throw Damaged()
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

    /// A sealed secret and the tag that the metadata must hold.
    package struct SealedSecret {
        package let bytes: Data
        package let tag: [UInt8]
    }

    package static func seal(
        secret: Data, reference: ItemReference, protection: ProtectionClass,
        itemClass: ItemClass, keychainID: [UInt8], keys: ClassKeys
    ) -> SealedSecret {
        let rowKey = SecretBytes.random(byteCount: AuthenticatedEncryption.keyByteCount)
        let binding = secretBinding(reference, protection.rawValue, itemClass, keychainID)
        let wrapped = AuthenticatedEncryption.wrap(
            rowKey, using: keys.classKey, authenticating: rowKeyMagic + binding)
        let sealed = AuthenticatedEncryption.seal(
            secret, using: rowKey, authenticating: secretMagic + binding)
        let total = secretHeadByteCount + wrapped.count + sealed.count
        var bytes = Data(capacity: total)
        bytes += secretHead(byteCount: total)
        bytes += wrapped
        bytes += sealed
        return SealedSecret(bytes: bytes, tag: Array(sealed.suffix(16)))
    }

    package static func openSecret(
        of row: SealedRow, record: ItemRecord, keychainID: [UInt8], keys: ClassKeys
    ) throws(Damaged) -> Data {
        let wrappedByteCount = AuthenticatedEncryption.wrappedKeyByteCount
        guard let secret = row.secret, let tag = record.secretTag,
            secret.count >= secretHeadByteCount + wrappedByteCount,
            secret.suffix(tag.count) == Data(tag),
            secret.prefix(secretHeadByteCount) == Data(secretHead(byteCount: secret.count))
        else { throw Damaged() }
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
            throw Damaged()
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
