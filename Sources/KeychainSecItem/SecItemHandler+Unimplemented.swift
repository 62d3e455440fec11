// SecItemHandler+Unimplemented: requests that the SecItem functions can't express, or that the
// Swift API doesn't need on Apple platforms.
//   (1) The system itself locks, unlocks and authenticates, so there is nothing to administer.

package import KeychainCore

extension SecItemHandler {
    package func execute(
        _ request: AddItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        throw Self.unimplemented
    }

    package func execute(
        _ request: FindIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity] {
        throw Self.unimplemented
    }

    package func execute(
        _ request: UpdateIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        throw Self.unimplemented
    }

    package func execute(
        _ request: DeleteIdentities, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        throw Self.unimplemented
    }

    package func execute(
        _ request: FindVersions, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemVersion] {
        throw Self.unimplemented
    }

    package func execute(
        _ request: RestoreVersion, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        throw Self.unimplemented
    }

    package func execute(
        _ request: PurgeVersions, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        throw Self.unimplemented
    }

    package func execute(
        _ request: SetHistory, as caller: AccessGroups
    ) throws(KeychainFailure) -> HistoryPolicy {
        throw Self.unimplemented
    }

    package func execute(
        _ request: Synchronize, as caller: AccessGroups
    ) throws(KeychainFailure) -> Synchronize.Answer {
        throw Self.unimplemented
    }

    package func execute(
        _ request: Authenticate, as caller: AccessGroups
    ) throws(KeychainFailure) -> AuthenticationGrant {
        throw Self.unimplemented
    }

    package func execute(
        _ request: AcceptsGrant, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        throw Self.unimplemented
    }

    package func execute(
        _ request: HasPasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        throw Self.unimplemented
    }

    package func execute(
        _ request: Unlock, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw Self.unimplemented
    }

    package func execute(_ request: Lock, as caller: AccessGroups) throws(KeychainFailure) -> Done {
        throw Self.unimplemented
    }

    package func execute(
        _ request: LockAll, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw Self.unimplemented
    }

    package func execute(
        _ request: SetPasscode, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary] {
        throw Self.unimplemented
    }

    package func execute(
        _ request: ChangePasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw Self.unimplemented
    }

    package func execute(
        _ request: RemovePasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        throw Self.unimplemented
    }

    package func execute(
        _ request: UnlockWith, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw Self.unimplemented
    }

    package func execute(
        _ request: ListSlots, as caller: AccessGroups
    ) throws(KeychainFailure) -> [SlotSummary] {
        throw Self.unimplemented
    }

    package func execute(
        _ request: ChangeSlots, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        throw Self.unimplemented
    }

    package func execute(
        _ request: ReadStatistics, as caller: AccessGroups
    ) throws(KeychainFailure) -> ServiceStatistics {
        throw Self.unimplemented
    }

    package func execute(
        _ request: ReadStatus, as caller: AccessGroups
    ) throws(KeychainFailure) -> KeychainStatus {
        throw Self.unimplemented
    }

    package func execute(
        _ request: RotateKeys, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary] {
        throw Self.unimplemented
    }

    package func execute(
        _ request: CheckKeychain, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> CheckReport {
        throw Self.unimplemented
    }
}
