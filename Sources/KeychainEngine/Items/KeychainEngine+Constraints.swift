// KeychainEngine+Constraints: enforces the access constraints of items.
//   (1) A request opens an item's secret only if it satisfies the item's constraints. Reading
//       attributes and deleting require nothing; a change requires the same as opening. The blob of
//       a hardware key isn't under constraints. Backups, checks and rotations of the keys open
//       every secret, whatever its constraints. A secret that is encrypted with an application
//       password stays encrypted with it.
//   (2) An application password is checked by decrypting with it, never by comparing.
//   (3) While neither a passcode nor another way to unlock the keychain is set, no item can get a
//       constraint that requires presence or the passcode.
//   (4) An item for one biometric enrollment stores the identifier of that enrollment. After the
//       enrollment has changed, the item opens only if another of its conditions is sufficient.

import FoundationEssentials
import KeychainCrypto
import KeychainCore
import KeychainSQLite
import Synchronization

/// The authentication of a request, with its grants already checked.
struct Proof {
    let isPresent: Bool
    let isRecognized: Bool
    let password: SecretBytes?
    /// The current biometric enrollment.
    let enrollment: Data?
}

/// An object under constraints: the secret of an item, or the use of a key in hardware.
struct Guarded {
    /// The biometric enrollment that it was made for.
    let enrollment: Data?
    /// What the content is bound to if it is sealed with an application password.
    let binding: PasswordSealing.Binding

    var constraints: AccessConstraints { binding.constraints }
    var reference: ItemReference { binding.reference }
}

/// The outcome of opening a secret.
enum SecretOpening {
    case opened(Data)
    case damaged
    /// The constraints are not satisfied, or the password is wrong.
    case refused(KeychainFailure)
    case failed(KeychainFailure)
}

extension KeychainEngine {
    /// Checks the grants of a request. For use in a write, which begins by checking that the keybag
    /// in memory is current.
    func proof(_ authorization: Authorization) -> Proof {
        Proof(
            isPresent: authorization.grant.map { shown in presence.withLock { $0 == shown } }
                ?? false,
            isRecognized: authorization.recognition.map { shown in
                recognition.withLock { $0 == shown }
            } ?? false,
            password: authorization.applicationPassword.map { SecretBytes(copying: $0) },
            enrollment: authorization.enrollment)
    }

    /// Checks the grants of a request outside a write.
    func presentProof(_ authorization: Authorization) throws(KeychainFailure) -> Proof {
        // Another process may have changed the passcode, which ends every grant.
        if authorization.grant != nil || authorization.recognition != nil {
            _ = try adoptsOtherKeybag()
        }
        return proof(authorization)
    }

    // MARK: Opening

    /// Opens the secret of a row that has a secret and was read with it.
    func openSecret(_ opened: OpenedRow, showing proof: Proof) -> SecretOpening {
        if opened.record.isOfSecureEnclave { return openBlob(opened) }
        if let failure = refusal(of: opened, proof) { return .refused(failure) }
        guard let content = openContent(opened) else { return .damaged }
        return openContent(content, guarded(opened), showing: proof)
    }

    /// Finishes opening content that the keychain's keys have decrypted. It is the secret itself,
    /// unless an application password is required too.
    func openContent(_ content: Data, _ guarded: Guarded, showing proof: Proof) -> SecretOpening {
        guard guarded.constraints.requiresApplicationPassword else { return .opened(content) }
        guard let password = proof.password else {
            return .refused(.authenticationNeeded(guarded.constraints, guarded.reference))
        }
        do {
            return .opened(
                try PasswordSealing.open(content, password: password, for: guarded.binding))
        } catch {
            switch error.status {
            case .authFailed: return .refused(error)
            case .decode: return .damaged
            default: return .failed(error)
            }
        }
    }

    /// The reason why a request may not open a row's secret; `nil` if it may. Whether the
    /// application password is right is not checked here.
    func refusal(of opened: OpenedRow, _ proof: Proof) -> KeychainFailure? {
        // The blob is handed out freely, because its own constraints are enforced when the key is
        // used.
        if opened.record.isOfSecureEnclave { return nil }
        return refusal(of: guarded(opened), proof)
    }

    /// The reason why a request may not open an object under constraints; `nil` if it may. Whether
    /// the application password is right is not checked here.
    func refusal(of guarded: Guarded, _ proof: Proof) -> KeychainFailure? {
        let constraints = guarded.constraints
        let isSatisfied = constraints.isSatisfied(
            byPresence: proof.isPresent, biometry: proof.isRecognized,
            isEnrollmentSame: proof.enrollment.map { $0 == guarded.enrollment } ?? false,
            applicationPassword: proof.password != nil)
        guard !isSatisfied else { return nil }
        // Without hardware there is no enrollment, and no user is recognized.
        if let now = proof.enrollment, now != guarded.enrollment {
            if let others = constraints.afterChangedEnrollment {
                return .authenticationNeeded(others, guarded.reference)
            }
            // A user who wasn't recognized doesn't learn that the enrollment changed.
            if proof.isRecognized { return .enrollmentChanged(guarded.reference) }
        }
        return .authenticationNeeded(constraints, guarded.reference)
    }

    private func guarded(_ opened: OpenedRow) -> Guarded {
        Guarded(
            enrollment: opened.record.enrollment,
            binding: binding(opened.row.reference, opened.protection, opened.record))
    }

    /// The enrollment that a record stores, if its constraints require one.
    func enrollment(
        for constraints: AccessConstraints, _ shown: Data?
    ) throws(KeychainFailure) -> Data? {
        guard constraints.contains(.biometryCurrentSet), let shown else { return nil }
        guard ItemRecord.enrollmentSizes.contains(shown.count) else {
            throw .param("The identifier of a biometric enrollment has 1 to 64 bytes.")
        }
        return shown
    }

    // MARK: Sealing

    /// Seals a secret as the constraints in its record require. If a required password is missing,
    /// throws `authenticationNeeded` without an item reference, because no existing item is opened.
    func seal(
        _ secret: Data, of record: ItemRecord, for row: RowBinding,
        protection: ProtectionClass, keys: ClassKeys, password: SecretBytes?
    ) throws(KeychainFailure) -> RowSealing.SealedSecret {
        let content =
            record.isOfSecureEnclave
            ? secret
            : try content(
                sealing: secret, for: binding(row.reference, protection, record),
                password: password)
        return RowSealing.seal(
            secret: content, itemClass: record.itemClass, constraints: record.constraints,
            for: row, keys: keys)
    }

    /// The plaintext that is sealed under the keychain's keys: the secret, or the secret encrypted
    /// with the application password if one is required.
    func content(
        sealing secret: Data, for binding: PasswordSealing.Binding, password: SecretBytes?
    ) throws(KeychainFailure) -> Data {
        guard binding.constraints.requiresApplicationPassword else { return secret }
        guard let password else { throw .authenticationNeeded(binding.constraints, nil) }
        return try PasswordSealing.seal(
            secret, password: password, cost: options.applicationPasswordCost, for: binding)
    }

    /// Refuses constraints that can't be stored with an item.
    func checkStorable(_ record: ItemRecord) throws(KeychainFailure) {
        guard record.constraints.needsAuthentication else { return }
        guard !record.isSynchronizable else {
            throw .param("A synchronizable item can't have access constraints.")
        }
        try checkKeepable(record.constraints)
    }

    func checkKeepable(_ constraints: AccessConstraints) throws(KeychainFailure) {
        // An item that requires missing hardware is stored all the same, as on Apple's platforms:
        // it can be deleted, and its attributes read. A missing passcode is refused, because the
        // user can set it first.
        guard hasPasscode || !constraints.asksForPasscode else {
            throw KeychainFailure(
                .authFailed,
                "An item that requires presence or the passcode can be stored only while a "
                    + "passcode is set. Set one with `keychainctl passcode set`.")
        }
    }

    /// Refuses an attribute that the class doesn't have, or a value of the wrong type. A row with
    /// either could never be read again.
    func checkAttributes(_ record: ItemRecord) throws(KeychainFailure) {
        if let misfit = record.misfit {
            throw .param(
                "The attribute \(misfit.name) isn't allowed for this class, or its value is "
                    + "invalid.")
        }
    }

    private func binding(
        _ reference: ItemReference, _ protection: ProtectionClass, _ record: ItemRecord
    ) -> PasswordSealing.Binding {
        PasswordSealing.Binding(
            keychainID: store.keychainID, reference: reference, protection: protection,
            itemClass: record.itemClass, constraints: record.constraints)
    }
}
