// SecureEnclaveRows: rows whose secret is the blob of a key in hardware.
//   (1) Such a row holds a blob and nothing else: it is checked when it is added, and what it says of
//       access doesn't change. So its secret needs no authentication of its own: the blob's
//       constraints are asked for when the key is used.
//   (2) The row has the protection class and the constraints of its key.

import FoundationEssentials
import KeychainCore
import KeychainSQLite

extension ItemRecord {
    /// Whether the record is of a key in this keychain's hardware.
    var isOfSecureEnclave: Bool { itemClass == .key && attributes.nameSecureEnclave }
}

extension KeychainEngine {
    /// The blob of a row, which is handed out without authentication; see (1).
    func openBlob(_ opened: OpenedRow) -> SecretOpening {
        guard let content = openContent(opened), SecureEnclaveBlob(decoding: content) != nil
        else { return .damaged }
        return .opened(content)
    }

    /// Refuses a new item that says it is a key of the hardware and isn't.
    func checkBlob(
        _ data: Data?, _ record: ItemRecord, _ protection: ProtectionClass
    ) throws(KeychainFailure) {
        guard record.isOfSecureEnclave, let data else { return }
        guard let blob = SecureEnclaveBlob(decoding: data) else {
            throw .param("A key of the Secure Enclave is made there. It can't be imported.")
        }
        guard blob.protection == protection, blob.constraints == record.constraints else {
            throw .param("A key of the Secure Enclave has the access control it was made with.")
        }
        guard !record.isSynchronizable else {
            throw .param("A key of the Secure Enclave stays on this device.")
        }
    }

    /// Refuses to change of a key in hardware what it was made with, and to make one of another item.
    func checkChange(
        to opened: OpenedRow, _ changes: ItemChanges, _ record: ItemRecord
    ) throws(KeychainFailure) {
        guard record.isOfSecureEnclave || opened.record.isOfSecureEnclave else { return }
        guard record.isOfSecureEnclave == opened.record.isOfSecureEnclave, changes.data == nil,
            record.constraints == opened.record.constraints,
            changes.protection ?? opened.protection == opened.protection,
            changes.isSynchronizable != true
        else {
            throw .param("A key of the Secure Enclave stays what it was made as.")
        }
    }
}
