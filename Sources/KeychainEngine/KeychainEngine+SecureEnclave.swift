// KeychainEngine+SecureEnclave: keys that hardware generates and keeps, and the rows that hold
// their blobs.
//   (1) Without hardware there are no such keys. They are never generated in software instead.
//   (2) A key's authorization value is opened for one use of the key. It is encrypted under the
//       class key of the key's protection class. Opening it requires whatever the key's constraints
//       require, as for the secret of an item.
//   (3) No lock of the keychain is held while the hardware makes or uses a key.
//   (4) The secret of a row of such a key is a blob. Its format is checked when the row is added,
//       and neither the blob nor the access control in the row changes afterwards. Reading the blob
//       requires no authentication, because its constraints are enforced when the key is used.
//   (5) The database records for which classes blobs were made. When the class keys of these
//       classes are rotated, the old class keys are kept as retired keys.
//   (6) The row has the protection class and the constraints of its key.
//   (7) Requests to make or use a key are logged with their name and status only: they contain no
//       attribute names that could be logged.

package import FoundationEssentials
package import KeychainCore
import KeychainCrypto
import KeychainSQLite

extension KeychainEngine {
    private var hardware: (any KeyHardware)? {
        options.hardware.flatMap { $0.isPresent ? $0 : nil }
    }

    package func execute(
        _ request: HasSecureEnclave, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        hardware != nil
    }

    package func execute(
        _ request: MakeSecureEnclaveKey, as caller: AccessGroups
    ) throws(KeychainFailure) -> MadeSecureEnclaveKey {
        try logged(request) { () throws(KeychainFailure) in
            let key = request.key
            try authorizeWrite(caller, group: nil)
            guard let hardware else { throw .secureEnclaveUnavailable }
            guard key.constraints.isSubset(of: .known) else {
                throw .param("The access control contains an unknown constraint.")
            }
            // Another process may have changed the passcode, or removed it and the lock with it.
            _ = try adoptsOtherKeybag()
            try checkKeepable(key.constraints)
            let classKeys = try keys(for: key.protection)
            let made = try make(key, hardware, classKeys)
            // The class is recorded before the blob is handed out, so that a rotation keeps the
            // class key that opens the blob.
            if try !store.blobClasses().contains(key.protection) {
                try write { transaction throws(KeychainFailure) in
                    try transaction.noteBlob(of: key.protection)
                }
            }
            return made
        }
    }

    private func make(
        _ key: NewSecureEnclaveKey, _ hardware: any KeyHardware, _ classKeys: ClassKeys
    ) throws(KeychainFailure) -> MadeSecureEnclaveKey {
        let enrollment = try enrollment(for: key.constraints, key.authorization.enrollment)
        let authorization = SecretBytes.random(
            byteCount: SecureEnclaveSealing.authorizationByteCount)
        var value = authorization.data
        defer { value.resetBytes(in: value.startIndex..<value.endIndex) }
        var blob = SecureEnclaveBlob(
            identifier: .random(), protection: key.protection, constraints: key.constraints,
            publicKey: Data(), wrappedKey: Data())
        // This precedes the call to the hardware, so that no key is made if a required application
        // password is missing.
        let content = try content(
            sealing: value, for: binding(blob), password: proof(key.authorization).password)
        let made = try hardware.makeKey(authorization: authorization)
        guard made.publicKey.count == SecureEnclaveBlob.publicKeyByteCount,
            SecureEnclaveBlob.wrappedKeySizes.contains(made.wrapped.count)
        else {
            throw KeychainFailure(
                .internalError, "The hardware returned a key in an unknown format.")
        }
        blob.publicKey = made.publicKey
        blob.wrappedKey = made.wrapped
        let sealed = SecureEnclaveSealing.seal(
            SecureEnclaveSealing.Content(enrollment: enrollment, authorization: content),
            in: blob, keychainID: store.keychainID, keys: classKeys)
        return MadeSecureEnclaveKey(blob: sealed.encoded, publicKey: made.publicKey)
    }

    package func execute(
        _ request: SignDigest, as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        try use(request.key, request, caller) {
            hardware, wrapped, value throws(KeychainFailure) in
            guard request.digest.count == 32 else { throw .param("The digest must have 32 bytes.") }
            return try hardware.sign(digest: request.digest, with: wrapped, authorization: value)
        }
    }

    package func execute(
        _ request: DeriveSharedSecret, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecretBytes {
        try use(request.key, request, caller) {
            hardware, wrapped, value throws(KeychainFailure) in
            let publicKey = request.publicKey
            guard publicKey.count == SecureEnclaveBlob.publicKeyByteCount, publicKey.first == 4
            else { throw .param("The peer's public key is not a point on the curve P-256.") }
            return try hardware.sharedSecret(
                of: wrapped, with: publicKey, authorization: value)
        }
    }

    // MARK: Using

    /// Opens a key's authorization value and passes it to `body`, which uses the key.
    private func use<R: Request>(
        _ key: Data, _ request: R, _ caller: AccessGroups,
        _ body: (any KeyHardware, Data, SecretBytes) throws(KeychainFailure) -> R.Answer
    ) throws(KeychainFailure) -> R.Answer {
        try logged(request) { () throws(KeychainFailure) in
            try authorize(caller, group: nil)
            guard let hardware else { throw .secureEnclaveUnavailable }
            guard let blob = SecureEnclaveBlob(decoding: key) else {
                throw .damagedSecureEnclaveKey
            }
            let value = try authorizationValue(of: blob, showing: request.authorization)
            return try body(hardware, blob.wrappedKey, value)
        }
    }

    private func authorizationValue(
        of blob: SecureEnclaveBlob, showing authorization: Authorization
    ) throws(KeychainFailure) -> SecretBytes {
        let proof = try presentProof(authorization)
        let classKeys = try presentKeys(for: blob.protection)
        let content: SecureEnclaveSealing.Content
        do {
            content = try SecureEnclaveSealing.open(
                blob, keychainID: store.keychainID, keys: classKeys)
        } catch {
            throw .foreignSecureEnclaveKey
        }
        guard blob.constraints.contains(.privateKeyUsage) else {
            throw KeychainFailure(
                .authFailed,
                "The key's access control doesn't have privateKeyUsage, so the key can't be used. "
                    + "Create a key with privateKeyUsage.")
        }
        let guarded = Guarded(enrollment: content.enrollment, binding: binding(blob))
        if let failure = refusal(of: guarded, proof) { throw failure }
        switch openContent(content.authorization, guarded, showing: proof) {
        case .opened(var value):
            defer { value.resetBytes(in: value.startIndex..<value.endIndex) }
            return SecretBytes(copying: value)
        case .damaged: throw .damagedSecureEnclaveKey
        case .refused(let failure), .failed(let failure): throw failure
        }
    }

    /// The keys of a class. If they aren't available and another process has changed the keybag,
    /// for example by removing the passcode, adopts that keybag and tries again.
    private func presentKeys(
        for protection: ProtectionClass
    ) throws(KeychainFailure) -> ClassKeys {
        do {
            return try keys(for: protection)
        } catch {
            guard error.status != .internalError, try adoptsOtherKeybag() else { throw error }
        }
        return try keys(for: protection)
    }

    private func binding(_ blob: SecureEnclaveBlob) -> PasswordSealing.Binding {
        PasswordSealing.Binding(
            keychainID: store.keychainID, reference: blob.identifier,
            protection: blob.protection, itemClass: .key, constraints: blob.constraints)
    }
}

// MARK: - Rows

extension ItemRecord {
    /// Whether the record describes a hardware key: the item is a key and names the Secure Enclave.
    var isOfSecureEnclave: Bool { itemClass == .key && attributes.nameSecureEnclave }
}

extension KeychainEngine {
    /// The blob of a row. It is handed out without authentication; see (4).
    func openBlob(_ opened: OpenedRow) -> SecretOpening {
        guard let content = openContent(opened), SecureEnclaveBlob(decoding: content) != nil
        else { return .damaged }
        return .opened(content)
    }

    /// Checks a new item that claims to be a hardware key. Such an item is refused if it is
    /// synchronizable, or if its data isn't a blob with the item's protection class and access
    /// control. Without data it is always accepted.
    func checkBlob(
        _ data: Data?, _ record: ItemRecord, _ protection: ProtectionClass
    ) throws(KeychainFailure) {
        guard record.isOfSecureEnclave, let data else { return }
        guard let blob = SecureEnclaveBlob(decoding: data) else {
            throw .param(
                "A Secure Enclave key can't be imported. It must be generated in the Secure "
                    + "Enclave.")
        }
        guard blob.protection == protection, blob.constraints == record.constraints else {
            throw .param(
                "The item must have the protection class and the access control that its Secure "
                    + "Enclave key was created with.")
        }
        guard !record.isSynchronizable else {
            throw .param("A Secure Enclave key can't be synchronizable.")
        }
    }

    /// Refuses to change the data, protection class or constraints of a hardware key, to make it
    /// synchronizable, to turn it into another kind of item, and to turn another item into a
    /// hardware key.
    func checkChange(
        to opened: OpenedRow, _ changes: ItemChanges, _ record: ItemRecord
    ) throws(KeychainFailure) {
        guard record.isOfSecureEnclave || opened.record.isOfSecureEnclave else { return }
        guard record.isOfSecureEnclave == opened.record.isOfSecureEnclave, changes.data == nil,
            record.constraints == opened.record.constraints,
            changes.protection ?? opened.protection == opened.protection,
            changes.isSynchronizable != true
        else {
            throw .param(
                "The data, protection class and access control of a Secure Enclave key can't be "
                    + "changed, and another item can't be turned into a Secure Enclave key.")
        }
    }
}
