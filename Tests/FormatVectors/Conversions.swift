// Conversions: between the library's types and those of the vectors.

import FoundationEssentials
package import KeychainCrypto
package import KeychainCore
package import KeychainSQLite

extension Hex {
    package init(_ secret: SecretBytes) {
        self.init(secret.plainBytes)
    }

    package init(_ bytes: Bytes16) {
        self.init(bytes.bytes)
    }

    package var secret: SecretBytes { SecretBytes(copying: bytes) }
}

extension FieldVector {
    package init(_ attribute: Attribute, _ value: AttributeValue) {
        let (type, bytes): (Kind, [UInt8]) =
            switch value {
            case .string(let text): (.string, Array(text.utf8))
            case .data(let data): (.data, Array(data))
            case .number(let number): (.number, bigEndianBytes(UInt64(bitPattern: number)))
            case .date(let seconds): (.date, bigEndianBytes(seconds.bitPattern))
            }
        self.init(name: attribute.name, type: type, value: Hex(bytes))
    }

    /// - Returns: `nil` if no attribute has this name, if a string is not UTF-8, or if a number or
    ///   date has fewer than 8 bytes.
    package var attribute: (Attribute, AttributeValue)? {
        guard let attribute = Attribute(name: name) else { return nil }
        var reader = ByteReader(value.bytes)
        let bits: UInt64? = reader.number()
        let decoded: AttributeValue? =
            switch type {
            case .string: String(validating: value.bytes, as: UTF8.self).map { .string($0) }
            case .data: .data(Data(value.bytes))
            case .number: bits.map { .number(Int64(bitPattern: $0)) }
            case .date: bits.map { .date(Double(bitPattern: $0)) }
            }
        return decoded.map { (attribute, $0) }
    }

    package static func fields(_ attributes: Attributes) -> [FieldVector] {
        attributes.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            FieldVector($0.key, $0.value)
        }
    }
}

extension [FieldVector] {
    /// - Returns: `nil` if a field can't be converted (its ``FieldVector/attribute`` is `nil`), or
    ///   if two fields are for the same attribute.
    package var attributes: Attributes? {
        let pairs = compactMap(\.attribute)
        let result = Dictionary(pairs) { first, _ in first }
        return result.count == count ? result : nil
    }
}

extension RecordVector {
    package init(_ record: ItemRecord) {
        self.init(
            itemClass: record.itemClass.name, accessGroup: Hex(record.accessGroup.utf8),
            isSynchronizable: record.isSynchronizable, isTombstone: record.isTombstone,
            constraints: record.constraints.isEmpty
                ? nil : Hex(bigEndianBytes(record.constraints.rawValue)),
            enrollment: record.enrollment.map { Hex($0) },
            program: record.program.map { Hex($0.utf8) },
            secretTag: record.secretTag.map { Hex($0) },
            attributes: FieldVector.fields(record.attributes))
    }
}

extension KeychainVector {
    /// A keybag with the keys that the device key opens and, if a passcode is passed, with the keys
    /// that the passcode opens, those of the guarded tier.
    package init(
        _ hierarchy: KeyHierarchyVersion1, deviceKey: SecretBytes, passcode: SecretBytes?
    ) throws(KeychainFailure) {
        let opened = try hierarchy.openDeviceKeys()
        var classes = opened.classes
        if let passcode {
            classes.merge(try hierarchy.openPasscodeKeys(passcode).classes) { _, new in new }
        }
        self.init(
            deviceKey: Hex(deviceKey), keybag: Hex(hierarchy.encoded),
            keychainID: Hex(hierarchy.keybag.keychainID), generation: hierarchy.keybag.generation,
            indexKey: Hex(opened.indexKey), integrityKey: Hex(opened.integrityKey),
            classes: classes.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                ClassKeysVector(
                    protection: $0.key.rawValue, classKey: Hex($0.value.classKey),
                    metadataKey: Hex($0.value.metadataKey))
            })
    }
}
