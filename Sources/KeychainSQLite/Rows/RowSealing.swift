// RowSealing: seals and opens the metadata and the secret of a row.
// Documentation/Formats/row-v2.md.
//   (1) The AAD of the metadata binds it to keychain, reference, protection class and labels. The
//       metadata contains the secret's tag. The AAD of the secret binds it to keychain, reference,
//       protection class and item class. Therefore no part and no label can be moved to another
//       row or another keychain. Metadata and secret of different versions of a row can be combined
//       only if the secret was not sealed again between these versions.
//   (2) Each secret is sealed under a new row key, so a nonce is never reused with a key. The
//       constraints are wrapped together with the row key, bound to the labels of the access group
//       and the primary key. The conditions for opening the secret, and the item that it belongs
//       to, can therefore be verified without the metadata.
//   (3) Both parts are padded: a row reveals the sizes of its attributes and its secret only in
//       steps.

package import FoundationEssentials
package import KeychainCore
package import KeychainCrypto

/// The row that metadata and secret are bound to.
package struct RowBinding {
    package let keychainID: [UInt8]
    package let reference: ItemReference
    /// The number of the protection class in the file.
    package let protection: UInt8
    package let labels: RowLabels

    package init(
        keychainID: [UInt8], reference: ItemReference, protection: UInt8, labels: RowLabels
    ) {
        self.keychainID = keychainID
        self.reference = reference
        self.protection = protection
        self.labels = labels
    }

    package init(_ row: SealedRow, keychainID: [UInt8]) {
        self.init(
            keychainID: keychainID, reference: row.reference, protection: row.protection,
            labels: row.labels)
    }

    /// Keychain, reference and protection class.
    private func head(_ magic: UInt32, capacity: Int) -> ByteWriter {
        var writer = ByteWriter(capacity: capacity)
        writer.number(magic)
        writer.bytes(keychainID)
        reference.value.write(to: &writer)
        writer.number(protection)
        return writer
    }

    fileprivate func ofMetadata() -> [UInt8] {
        var writer = head(RowSealing.metadataMagic, capacity: 101 + 16 * labels.terms.count)
        writeKey(to: &writer)
        for term in labels.terms { term.write(to: &writer) }
        return writer.result
    }

    fileprivate func ofSecret(_ itemClass: ItemClass) -> [UInt8] {
        var writer = head(RowSealing.secretMagic, capacity: 41)
        writer.number(itemClass.rawValue)
        return writer.result
    }

    fileprivate func ofRowKey(_ itemClass: ItemClass) -> [UInt8] {
        var writer = head(RowSealing.rowKeyMagic, capacity: 105)
        writer.number(itemClass.rawValue)
        writeKey(to: &writer)
        return writer.result
    }

    /// Group and primary key.
    private func writeKey(to writer: inout ByteWriter) {
        labels.group.write(to: &writer)
        labels.first.write(to: &writer)
        labels.second.write(to: &writer)
        labels.rest.write(to: &writer)
    }
}

package enum RowSealing {
    fileprivate static let metadataMagic: UInt32 = 0x4B43_4D32  // KCM2
    fileprivate static let secretMagic: UInt32 = 0x4B43_5332  // KCS2
    fileprivate static let rowKeyMagic: UInt32 = 0x4B43_5232  // KCR2
    private static let metadataHeadByteCount = 8
    private static let secretHeadByteCount = 12
    /// The size of a sealed row key with the constraints.
    private static let rowKeyBoxByteCount =
        AuthenticatedEncryption.keyByteCount + 8 + AuthenticatedEncryption.overheadByteCount

    /// The bytes are not those that were sealed.
    package struct Damaged: Error {}

    // MARK: Metadata

    package static func seal(
        _ record: ItemRecord, for binding: RowBinding, keys: ClassKeys
    ) -> Data {
        let sealed = AuthenticatedEncryption.seal(
            Padding.padded(record.encoded(), floor: Padding.metadataFloor),
            using: keys.metadataKey, authenticating: binding.ofMetadata())
        return metadataHead(byteCount: metadataHeadByteCount + sealed.count) + sealed
    }

    package static func openMetadata(
        of row: SealedRow, keychainID: [UInt8], keys: ClassKeys
    ) throws(Damaged) -> ItemRecord {
        guard row.metadata.count > metadataHeadByteCount,
            row.metadata.uint32(at: 0) == metadataMagic,
            row.metadata.uint32(at: 4)
                == UInt32(truncatingIfNeeded: row.metadata.count)
        else { throw Damaged() }
        do {
            let plaintext = try AuthenticatedEncryption.open(
                row.metadata.dropFirst(metadataHeadByteCount), using: keys.metadataKey,
                authenticating: RowBinding(row, keychainID: keychainID).ofMetadata())
            guard let encoded = Padding.content(of: plaintext, floor: Padding.metadataFloor),
                let record = ItemRecord(decoding: plaintext.array(of: encoded))
            else { throw Damaged() }
            return record
        } catch {
            throw Damaged()
        }
    }

    private static func metadataHead(byteCount: Int) -> Data {
        var writer = ByteWriter(capacity: metadataHeadByteCount)
        writer.number(metadataMagic)
        writer.number(UInt32(truncatingIfNeeded: byteCount))
        return Data(writer.result)
    }

    // MARK: Secret

    /// A sealed secret, and its tag for the metadata.
    package struct SealedSecret {
        package let bytes: Data
        package let tag: [UInt8]
    }

    package static func seal(
        secret: Data, itemClass: ItemClass, constraints: AccessConstraints,
        for binding: RowBinding, keys: ClassKeys
    ) -> SealedSecret {
        let rowKey = SecretBytes.random(byteCount: AuthenticatedEncryption.keyByteCount)
        var padded = Padding.padded(secret, floor: Padding.secretFloor)
        defer { padded.resetBytes(in: padded.startIndex..<padded.endIndex) }
        let sealed = AuthenticatedEncryption.seal(
            padded, using: rowKey, authenticating: binding.ofSecret(itemClass))
        let box = seal(rowKey, constraints, binding.ofRowKey(itemClass), keys)
        return SealedSecret(
            bytes: secretHead(byteCount: secretHeadByteCount + box.count + sealed.count) + box
                + sealed,
            tag: Array(sealed.suffix(AuthenticatedEncryption.tagByteCount)))
    }

    package static func openSecret(
        of row: SealedRow, record: ItemRecord, keychainID: [UInt8], keys: ClassKeys
    ) throws(Damaged) -> Data {
        guard let tag = record.secretTag, row.secret?.ends(with: tag) == true else {
            throw Damaged()
        }
        return try openSecret(
            of: row, of: record.itemClass, constraints: record.constraints,
            keychainID: keychainID, keys: keys)
    }

    /// Opens the secret of a row without its metadata. Verifies that the secret belongs to the
    /// row's labels, except the terms, and has exactly the given constraints.
    ///
    /// This doesn't verify that the secret belongs to the row's metadata. The secret's tag in the
    /// metadata shows that, and so does the page's tag if the secret and the metadata are on the
    /// same page.
    package static func openSecret(
        of row: SealedRow, of itemClass: ItemClass, constraints: AccessConstraints,
        keychainID: [UInt8], keys: ClassKeys
    ) throws(Damaged) -> Data {
        let secret = try parts(of: row)
        let binding = RowBinding(row, keychainID: keychainID)
        let (rowKey, found) = try openRowKey(secret.box, binding.ofRowKey(itemClass), keys)
        guard found == constraints else { throw Damaged() }
        do {
            var padded = try AuthenticatedEncryption.open(
                secret.sealed, using: rowKey, authenticating: binding.ofSecret(itemClass))
            defer { padded.resetBytes(in: padded.startIndex..<padded.endIndex) }
            guard let content = Padding.content(of: padded, floor: Padding.secretFloor) else {
                throw Damaged()
            }
            // A slice would prevent the padded bytes from being erased.
            return padded.copy(of: content)
        } catch {
            throw Damaged()
        }
    }

    /// Binds the secret of a row to new labels or constraints of the same row, whose protection
    /// class stays the same. The row key is sealed again. The secret's tag doesn't change.
    package static func rebind(
        secretOf row: SealedRow, record: ItemRecord, to constraints: AccessConstraints,
        for binding: RowBinding, keys: ClassKeys
    ) throws(Damaged) -> Data {
        let secret = try parts(of: row)
        guard let tag = record.secretTag, secret.sealed.ends(with: tag) else {
            throw Damaged()
        }
        let old = RowBinding(row, keychainID: binding.keychainID).ofRowKey(record.itemClass)
        let (rowKey, before) = try openRowKey(secret.box, old, keys)
        guard before == record.constraints else { throw Damaged() }
        let box = seal(rowKey, constraints, binding.ofRowKey(record.itemClass), keys)
        return secretHead(byteCount: row.secret?.count ?? 0) + box + secret.sealed
    }

    private static func parts(
        of row: SealedRow
    ) throws(Damaged) -> (box: Data, sealed: Data) {
        guard let secret = row.secret,
            secret.count >= secretHeadByteCount + rowKeyBoxByteCount,
            secret.uint32(at: 0) == secretMagic,
            secret.uint64(at: 4) == UInt64(secret.count)
        else { throw Damaged() }
        let box = secret.startIndex + secretHeadByteCount
        let sealed = box + rowKeyBoxByteCount
        return (secret[box..<sealed], secret[sealed...])
    }

    private static func seal(
        _ rowKey: SecretBytes, _ constraints: AccessConstraints, _ binding: [UInt8],
        _ keys: ClassKeys
    ) -> Data {
        var writer = ByteWriter(capacity: 8)
        writer.number(constraints.rawValue)
        return AuthenticatedEncryption.wrap(
            rowKey.appending(SecretBytes(copying: writer.result)), using: keys.classKey,
            authenticating: binding)
    }

    private static func openRowKey(
        _ box: Data, _ binding: [UInt8], _ keys: ClassKeys
    ) throws(Damaged) -> (SecretBytes, AccessConstraints) {
        do {
            var plaintext = try AuthenticatedEncryption.open(
                box, using: keys.classKey, authenticating: binding)
            defer { plaintext.resetBytes(in: plaintext.startIndex..<plaintext.endIndex) }
            let keyByteCount = AuthenticatedEncryption.keyByteCount
            guard let constraints = plaintext.uint64(at: keyByteCount) else {
                throw Damaged()
            }
            return (
                SecretBytes(copying: plaintext[..<(plaintext.startIndex + keyByteCount)]),
                AccessConstraints(rawValue: constraints)
            )
        } catch {
            throw Damaged()
        }
    }

    private static func secretHead(byteCount: Int) -> Data {
        var writer = ByteWriter(capacity: secretHeadByteCount)
        writer.number(secretMagic)
        writer.number(UInt64(byteCount))
        return Data(writer.result)
    }
}
