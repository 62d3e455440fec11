// KeychainEngine+Administration: requests about the keychain as a whole.

package import KeychainCore

extension KeychainEngine: RequestExecutor {
    /// Another process may have changed it since this one looked last.
    package func execute(
        _ request: HasPasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        try reloadKeybag()
        return hasPasscode
    }

    package func execute(
        _ request: Unlock, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try unlock(passcode: request.passcode)
        return Done()
    }

    package func execute(_ request: Lock, as caller: AccessGroups) throws(KeychainFailure) -> Done {
        try lock()
        return Done()
    }

    package func execute(
        _ request: LockAll, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try lockAll()
        return Done()
    }

    package func execute(
        _ request: SetPasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try setPasscode(request.passcode)
        return Done()
    }

    package func execute(
        _ request: ChangePasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try changePasscode(from: request.old, to: request.new)
        return Done()
    }

    package func execute(
        _ request: RemovePasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try removePasscode(request.passcode)
    }

    package func execute(
        _ request: ReadStatus, as caller: AccessGroups
    ) throws(KeychainFailure) -> KeychainStatus {
        try status()
    }

    package func execute(
        _ request: CheckKeychain, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> CheckReport {
        try check(settingAside: false, progress: progress)
    }
}
