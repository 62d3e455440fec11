// TwoTierTests: the two keys that the halves of a row need.

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
        let secret = RowSealing.seal(
            secret: self.secret, reference: reference, protection: .whenUnlocked,
            itemClass: .genericPassword, keychainID: keychainID, keys: keys)
        let record = ItemRecord(
            itemClass: .genericPassword,
            attributes: [.service: .string("service"), .account: .string("account")],
            accessGroup: "G1", isSynchronizable: false, isTombstone: false, secretTag: secret.tag)
        let labels = RowLabels(record, index: BlindIndex(key: .random(byteCount: 32)))
        let metadata = RowSealing.seal(
            record, reference: reference, protection: .whenUnlocked, labels: labels,
            keychainID: keychainID, keys: keys)
        let row = SealedRow(
            id: 1, reference: reference, protection: ProtectionClass.whenUnlocked.rawValue,
            labels: labels, metadata: metadata, secret: secret.bytes)
        return (row, record)
    }

    @Test func `attributes need the metadata key alone`() throws {
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

    @Test func `a secret needs the class key, which unwraps the key of its row`() throws {
        let (row, record) = sealed(reference)
        let without = ClassKeys(classKey: keys.classKey, metadataKey: .random(byteCount: 32))
        #expect(throws: RowSealing.Damaged.self) {
            try RowSealing.openMetadata(of: row, keychainID: keychainID, keys: without)
        }
        #expect(
            try RowSealing.openSecret(
                of: row, record: record, keychainID: keychainID, keys: without) == secret)
    }

    @Test func `each secret is sealed under a key of its own`() throws {
        var rowKeys: Set<[UInt8]> = []
        for low in 1...20 {
            let reference = ItemReference(Bytes16(high: 1, low: UInt64(low)))
            let bytes = try #require(sealed(reference).row.secret)
            var binding = ByteWriter(capacity: 64)
            binding.bytes(Array("KCRK".utf8) + keychainID + reference.bytes)
            binding.number(ProtectionClass.whenUnlocked.rawValue)
            binding.number(ItemClass.genericPassword.rawValue)
            // Magic and length stand before the wrapped key.
            let rowKey = try AuthenticatedEncryption.unwrap(
                bytes.dropFirst(12).prefix(AuthenticatedEncryption.wrappedKeyByteCount),
                using: keys.classKey, authenticating: binding.result)
            rowKeys.insert(rowKey.plainBytes)
            #expect(rowKey.plainBytes != keys.classKey.plainBytes)
        }
        #expect(rowKeys.count == 20)
    }
}
