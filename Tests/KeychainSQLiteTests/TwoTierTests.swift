// TwoTierTests: the attributes and the secret of a row require different keys.

import Foundation
import KeychainCore
import KeychainSQLite
import Testing

@testable import KeychainCrypto

@Suite struct TwoTierTests {
    private let keys = ClassKeys.random()
    private let reference = ItemReference(Bytes16(high: 1, low: 2))
    private let keychainID = [UInt8](repeating: 7, count: 16)
    private let secret = Data("secret".utf8)

    private func sealed(_ reference: ItemReference) -> (row: SealedRow, record: ItemRecord) {
        var record = ItemRecord(
            itemClass: .genericPassword,
            attributes: [.service: .string("service"), .account: .string("account")],
            accessGroup: "G1", isSynchronizable: false, isTombstone: false)
        let binding = RowBinding(
            keychainID: keychainID, reference: reference,
            protection: ProtectionClass.whenUnlocked.rawValue,
            labels: RowLabels(record, index: BlindIndex(key: .random(byteCount: 32))))
        let secret = RowSealing.seal(
            secret: self.secret, itemClass: .genericPassword, constraints: [], for: binding,
            keys: keys)
        record.secretTag = secret.tag
        return (SealedRow(id: 1, binding, record, keys: keys, secret: secret.bytes), record)
    }

    @Test func `attributes require only the metadata key`() throws {
        let (row, record) = sealed(reference)
        let without = ClassKeys(
            classKey: .random(byteCount: 32), metadataKey: keys.metadataKey)
        #expect(
            try RowSealing.openMetadata(of: row, keychainID: keychainID, keys: without) == record)
        #expect(throws: RowSealing.Damaged.self) {
            try RowSealing.openSecret(
                of: row, record: record, keychainID: keychainID, keys: without)
        }
    }

    @Test func `a secret requires only the class key`() throws {
        let (row, record) = sealed(reference)
        let without = ClassKeys(classKey: keys.classKey, metadataKey: .random(byteCount: 32))
        #expect(throws: RowSealing.Damaged.self) {
            try RowSealing.openMetadata(of: row, keychainID: keychainID, keys: without)
        }
        #expect(
            try RowSealing.openSecret(
                of: row, record: record, keychainID: keychainID, keys: without) == secret)
    }

    @Test func `each secret is encrypted under a different row key`() throws {
        var rowKeys: Set<[UInt8]> = []
        for low in 1...20 {
            let reference = ItemReference(Bytes16(high: 1, low: UInt64(low)))
            let row = sealed(reference).row
            var binding = ByteWriter(capacity: 105)
            binding.bytes(Array("KCR2".utf8) + keychainID + reference.bytes)
            binding.number(ProtectionClass.whenUnlocked.rawValue)
            binding.number(ItemClass.genericPassword.rawValue)
            let labels = [row.labels.group, row.labels.first, row.labels.second, row.labels.rest]
            binding.bytes(labels.flatMap(\.bytes))
            // After the magic and the length comes a sealed box, which contains the row key and the
            // constraints.
            let opened = try AuthenticatedEncryption.open(
                try #require(row.secret)[12..<80], using: keys.classKey,
                authenticating: binding.result)
            let rowKey = SecretBytes(copying: opened.prefix(32))
            #expect(opened.dropFirst(32) == Data(count: 8))
            rowKeys.insert(rowKey.plainBytes)
            #expect(rowKey.plainBytes != keys.classKey.plainBytes)
        }
        #expect(rowKeys.count == 20)
    }
}
