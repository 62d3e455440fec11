// AdministrationRequests: requests about a keychain's passcode, lock and state, and about the
// statistics of its service; and the request that checks a keychain for damage.
//   (1) All except `Authenticate`, `AcceptsGrant` and `HasPasscode` are permitted only to programs
//       that may administer the keychain.

/// Checks the passcode of the keychain, and unlocks the keychain if it is locked. The returned
/// grant opens items whose constraints a passcode satisfies.
///
/// Throws `authFailed` if the passcode is wrong, and `notAvailable` if no passcode is set, even if
/// a credential is.
package struct Authenticate: GeneralRequest {
    package static let code = RequestCode.authenticate
    /// Can be empty.
    package var passcode: SecretBytes

    package init(passcode: SecretBytes) { self.passcode = passcode }

    package var effort: RequestEffort { .derivation }

    package func usedUnlockedKeys(_ answer: AuthenticationGrant) -> Bool { true }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> AuthenticationGrant {
        try executor.execute(self, as: caller)
    }
}

/// Returns whether the keychain still accepts a grant, for a caller that relies on an earlier
/// authentication of the user without opening an item.
package struct AcceptsGrant: GeneralRequest {
    package static let code = RequestCode.acceptsGrant
    package var grant: AuthenticationGrant

    package init(_ grant: AuthenticationGrant) { self.grant = grant }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        try executor.execute(self, as: caller)
    }
}

/// Returns whether a passcode is set, so that a user can be asked for it. A credential is not a
/// passcode.
package struct HasPasscode: GeneralRequest {
    package static let code = RequestCode.hasPasscode

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        try executor.execute(self, as: caller)
    }
}

/// Opens the keys of all items until the keychain is locked, except those of items that are bound
/// to another machine.
///
/// Throws `authFailed` if the passcode is wrong, `param` if none is set, and `notAvailable` if
/// another call locks the keychain or changes its passcode while this request is in progress.
package struct Unlock: GeneralRequest {
    package static let code = RequestCode.unlock
    package var passcode: SecretBytes

    package init(passcode: SecretBytes) { self.passcode = passcode }

    package var effort: RequestEffort { .derivation }

    package func usedUnlockedKeys(_ answer: Done) -> Bool { true }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try executor.execute(self, as: caller)
    }
}

/// Erases the keys of the when-unlocked classes and of the when-passcode-set class from memory, and
/// ends all grants. Throws `param` if neither a passcode nor another way to unlock the keychain is
/// set.
package struct Lock: GeneralRequest {
    package static let code = RequestCode.lock

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try executor.execute(self, as: caller)
    }
}

/// Erases from memory all keys that a passcode protects, and ends all grants. The keychain is then
/// in the same state as before the first unlock. Only items of the *always* classes can be read.
/// Throws `param` in the same case as ``Lock``.
package struct LockAll: GeneralRequest {
    package static let code = RequestCode.lockAll

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try executor.execute(self, as: caller)
    }
}

/// Sets the first passcode. The keychain stays unlocked. Unless the keychain is in memory, all keys
/// are rotated and all items sealed again. Throws `param` if a passcode, a credential or a recovery
/// code that unlocks the keychain is already set, or if the new passcode is empty or weaker than
/// the policy permits. The answer is the same as that of ``RotateKeys``.
package struct SetPasscode: StreamRequest {
    package static let code = RequestCode.setPasscode
    /// At least 1 byte.
    package var passcode: SecretBytes
    /// Pass `true` to accept a passcode that is weaker than the policy's minimum.
    package var allowsWeak: Bool

    package init(_ passcode: SecretBytes, allowsWeak: Bool = false) {
        self.passcode = passcode
        self.allowsWeak = allowsWeak
    }

    package func usedUnlockedKeys(_ answer: [SlotSummary]) -> Bool { true }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary] {
        try executor.execute(self, as: caller, progress: progress)
    }
}

/// Changes the passcode. Throws `authFailed` if the old one is wrong, and `param` if none is set or
/// the new one is empty or weaker than the policy permits.
package struct ChangePasscode: GeneralRequest {
    package static let code = RequestCode.changePasscode
    package var old: SecretBytes
    package var new: SecretBytes
    /// Pass `true` to accept a new passcode that is weaker than the policy's minimum.
    package var allowsWeak: Bool

    package init(from old: SecretBytes, to new: SecretBytes, allowsWeak: Bool = false) {
        self.old = old
        self.new = new
        self.allowsWeak = allowsWeak
    }

    package var effort: RequestEffort { .derivation }

    package func usedUnlockedKeys(_ answer: Done) -> Bool { true }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try executor.execute(self, as: caller)
    }
}

/// Removes the passcode and all other ways to unlock the keychain, and permanently deletes all
/// items of the when-passcode-set class and their earlier versions. Damaged rows of the class are
/// set aside instead. The answer is the number of deleted items and tombstones. Throws `authFailed`
/// if the passcode is wrong, and `param` if none is set.
package struct RemovePasscode: GeneralRequest {
    package static let code = RequestCode.removePasscode
    package var passcode: SecretBytes

    package init(_ passcode: SecretBytes) { self.passcode = passcode }

    /// `survey`, because the request examines all items to delete those of a class.
    package var effort: RequestEffort { .survey }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try executor.execute(self, as: caller)
    }
}

/// Returns the state of the keychain, to show to a user. No item is opened.
package struct ReadStatus: GeneralRequest {
    package static let code = RequestCode.status

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> KeychainStatus {
        try executor.execute(self, as: caller)
    }
}

/// Returns statistics of the service for the keychain. Throws `unimplemented` if the keychain is
/// not used through a service.
package struct ReadStatistics: GeneralRequest {
    package static let code = RequestCode.statistics

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> ServiceStatistics {
        try executor.execute(self, as: caller)
    }
}

/// Reads the whole keychain once and reports damage. Nothing in the keychain is changed, except
/// that a keybag file that is missing or differs from the keybag in the database is rewritten. The
/// result of the verification is recorded.
package struct CheckKeychain: StreamRequest {
    package typealias Answer = CheckReport
    package static let code = RequestCode.check

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> CheckReport {
        try executor.execute(self, as: caller, progress: progress)
    }
}
