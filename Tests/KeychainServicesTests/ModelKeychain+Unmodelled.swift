// ModelKeychain+Unmodelled: requests that the model does not implement.

import FoundationEssentials
import KeychainCore

extension ModelKeychain {
    func execute(
        _ request: FindVersions, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemVersion] {
        throw .notModelled
    }

    func execute(
        _ request: RestoreVersion, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        throw .notModelled
    }

    func execute(
        _ request: PurgeVersions, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        throw .notModelled
    }

    func execute(
        _ request: SetHistory, as caller: AccessGroups
    ) throws(KeychainFailure) -> HistoryPolicy {
        throw .notModelled
    }

    func execute(
        _ request: Synchronize, as caller: AccessGroups
    ) throws(KeychainFailure) -> Synchronize.Answer {
        throw .notModelled
    }

    func execute(
        _ request: Authenticate, as caller: AccessGroups
    ) throws(KeychainFailure) -> AuthenticationGrant {
        throw .notModelled
    }

    func execute(
        _ request: AcceptsGrant, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        throw .notModelled
    }

    func execute(
        _ request: MakeSecureEnclaveKey, as caller: AccessGroups
    ) throws(KeychainFailure) -> MadeSecureEnclaveKey {
        throw .notModelled
    }

    func execute(
        _ request: SignDigest, as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        throw .notModelled
    }

    func execute(
        _ request: DeriveSharedSecret, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecretBytes {
        throw .notModelled
    }

    func execute(
        _ request: Unlock, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw .notModelled
    }

    func execute(
        _ request: Lock, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw .notModelled
    }

    func execute(
        _ request: LockAll, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw .notModelled
    }

    func execute(
        _ request: SetPasscode, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary] {
        throw .notModelled
    }

    func execute(
        _ request: ChangePasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw .notModelled
    }

    func execute(
        _ request: RemovePasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        throw .notModelled
    }

    func execute(
        _ request: UnlockWith, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw .notModelled
    }

    func execute(
        _ request: ListSlots, as caller: AccessGroups
    ) throws(KeychainFailure) -> [SlotSummary] {
        throw .notModelled
    }

    func execute(
        _ request: ChangeSlots, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw .notModelled
    }

    func execute(
        _ request: ReadStatistics, as caller: AccessGroups
    ) throws(KeychainFailure) -> ServiceStatistics { throw .notModelled }

    func execute(
        _ request: ReadStatus, as caller: AccessGroups
    ) throws(KeychainFailure) -> KeychainStatus { throw .notModelled }

    func execute(
        _ request: RotateKeys, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary] {
        throw .notModelled
    }

    func execute(
        _ request: CheckKeychain, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> CheckReport {
        throw .notModelled
    }
}

extension KeychainFailure {
    static let notModelled = KeychainFailure(
        .unimplemented, "The model does not implement this request.")
}
