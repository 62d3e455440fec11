// KeychainEngine+Administration: requests that concern the keychain as a whole, its status,
// subscriptions to changes made by this and other processes, and its folder before it is opened.

package import KeychainCore
import KeychainCrypto
package import KeychainSQLite
import Synchronization

extension KeychainEngine: RequestExecutor {
    /// Reloads the keybag first, because another process may have changed it.
    package func execute(
        _ request: HasPasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        try reloadKeybag()
        return hasPasscodeSlot
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
        _ request: SetPasscode, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary] {
        try check(request.passcode, allowsWeak: request.allowsWeak)
        return try setPasscode(request.passcode, progress: progress)
    }

    package func execute(
        _ request: ChangePasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try check(request.new, allowsWeak: request.allowsWeak)
        try changePasscode(from: request.old, to: request.new)
        return Done()
    }

    package func execute(
        _ request: RemovePasscode, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try removePasscode(request.passcode)
    }

    /// Always fails: only the service keeps statistics, and it answers this request itself.
    package func execute(
        _ request: ReadStatistics, as caller: AccessGroups
    ) throws(KeychainFailure) -> ServiceStatistics {
        throw KeychainFailure(.unimplemented, "There is no service that counts requests.")
    }

    package func execute(
        _ request: ReadStatus, as caller: AccessGroups
    ) throws(KeychainFailure) -> KeychainStatus {
        try status()
    }

    package func execute(
        _ request: RotateKeys, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary] {
        try rotate(provedBy: request.proof, progress: progress)
    }

    package func execute(
        _ request: CheckKeychain, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> CheckReport {
        try check(settingAside: false, progress: progress)
    }
}

// MARK: - Status

extension KeychainStatus {
    /// The status of a folder that holds no keychain yet, reported as an empty keychain.
    package static func absent(in directory: String) -> KeychainStatus {
        let folder = StoreFolder(path: directory)
        return KeychainStatus(
            directory: folder.path, formatVersion: Store.formatVersion, generation: 0,
            itemCount: 0, setAsideCount: 0, hasPasscode: false, lockState: .unlocked,
            isMemoryLocked: SecretBytes.isMemoryLocked, byteCount: 0,
            deviceKeyPath: folder.path(of: .deviceKey))
    }
}

extension KeychainEngine {
    package func status() throws(KeychainFailure) -> KeychainStatus {
        if let folder = options.absentFolder { return .absent(in: folder) }
        return try attempt { () throws(KeychainFailure) in try statusOfSession() }
    }

    private func statusOfSession() throws(KeychainFailure) -> KeychainStatus {
        try reloadKeybag()
        let header = try store.header()
        return KeychainStatus(
            directory: store.folder?.path ?? ":memory:", formatVersion: Store.formatVersion,
            generation: header.generation, itemCount: header.itemCount,
            setAsideCount: header.setAsideCount, hasPasscode: hasPasscode, lockState: lockState,
            isMemoryLocked: SecretBytes.isMemoryLocked,
            byteCount: store.folder.map {
                $0.byteCount(of: .database) + $0.byteCount(of: .writeAheadLog)
            } ?? 0,
            deviceKeyPath: store.folder?.path(of: .deviceKey) ?? "",
            deviceKeyProtection: try deviceKeyProtection(), verification: verification,
            machine: session.ring.withLock { $0.hierarchy.machineState },
            whyNotBindable: options.machine.whyNotBindable,
            deviceItemCount: try deviceItemCount(), hasRecoveryCode: hasRecoveryCode)
    }

    /// The rows that were set aside, oldest first.
    package func setAsideRows() throws(KeychainFailure) -> [SetAsideRow] {
        try attempt { () throws(KeychainFailure) in
            let rows = try store.setAsideRows()
            try store.requireCurrent()
            return rows
        }
    }
}

// MARK: - Changes

extension KeychainEngine {
    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        store.subscribe(handler)
    }

    /// Whether there is at least one subscriber.
    package var isFollowed: Bool { store.commits.isFollowed }
}

// MARK: - Folder

extension KeychainEngine {
    /// Creates the folder if it is missing, and checks its owner and its permissions.
    ///
    /// - Parameter directory: An absolute path.
    /// - Throws: `notAvailable` if the folder belongs to another user or is accessible to other
    ///   users, and the errors of creating it.
    package static func prepareFolder(_ directory: String) throws(KeychainFailure) {
        try StoreFolder(path: directory).prepare()
    }

    /// The folders that recoveries have left in a keychain's folder. A rotation doesn't change the
    /// keys of the files in them.
    package static func damagedFolders(in directory: String) -> [String] {
        StoreFolder(path: directory).damagedFolders
    }

    /// Whether a folder holds a keychain. Nothing is created.
    ///
    /// - Throws: If no database and no keybag are found: `notAvailable` if the path isn't a folder,
    ///   or if the folder belongs to another user or is accessible to other users; the errors of
    ///   examining the folder.
    package static func isPresent(in directory: String) throws(KeychainFailure) -> Bool {
        let folder = StoreFolder(path: directory).located
        if folder.exists(.database) || folder.exists(.keybag) { return true }
        if !folder.isMissing { try folder.checkFolder() }
        return false
    }
}
