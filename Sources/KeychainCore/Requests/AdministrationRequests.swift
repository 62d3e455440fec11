// AdministrationRequests: what the owner of a keychain asks for: its passcode, its lock, its state.
//   (1) All but the first two are for programs that may administer the keychain.

/// Checks the passcode of the keychain, and unlocks it where it is locked. The answer opens items
/// under constraints that a passcode satisfies.
///
/// `authFailed` is thrown for a wrong passcode; `notAvailable` where none is set.
package struct Authenticate: GeneralRequest {
    package static let code = RequestCode.authenticate
    /// 0 bytes and up.
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

/// Whether a passcode is set, so that a person can be asked for it.
package struct HasPasscode: GeneralRequest {
    package static let code = RequestCode.hasPasscode

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        try executor.execute(self, as: caller)
    }
}

/// Makes every item readable until ``Lock``.
///
/// `authFailed` is thrown for a wrong passcode; `param` when none is set.
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

/// Forgets the keys of the when-unlocked classes, and ends all grants. `param` is thrown when no
/// passcode is set.
package struct Lock: GeneralRequest {
    package static let code = RequestCode.lock

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try executor.execute(self, as: caller)
    }
}

/// Forgets all keys that a passcode protects, as before the first unlock, and ends all grants: what is
/// left to read are the items of the always-available classes. `param` is thrown when no passcode is
/// set.
package struct LockAll: GeneralRequest {
    package static let code = RequestCode.lockAll

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try executor.execute(self, as: caller)
    }
}

/// Sets the first passcode. The keychain stays unlocked. All keys rotate, and every item is sealed anew.
/// `param` is thrown when one is set already, or the new one is empty. The answer is that of
/// ``RotateKeys``.
package struct SetPasscode: StreamRequest {
    package static let code = RequestCode.setPasscode
    /// 1 byte and up.
    package var passcode: SecretBytes
    /// Whether it may be below the floor.
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

/// Changes the passcode. `authFailed` is thrown when the old one is wrong; nothing is changed then.
package struct ChangePasscode: GeneralRequest {
    package static let code = RequestCode.changePasscode
    package var old: SecretBytes
    package var new: SecretBytes
    /// Whether the new one may be below the floor.
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

/// Removes the passcode and with it all items of the when-passcode-set class, for good. The answer is
/// how many items went. `authFailed` is thrown when the passcode is wrong; nothing is changed then.
package struct RemovePasscode: GeneralRequest {
    package static let code = RequestCode.removePasscode
    package var passcode: SecretBytes

    package init(_ passcode: SecretBytes) { self.passcode = passcode }

    /// A key is derived, and then every item of a class deleted.
    package var effort: RequestEffort { .survey }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try executor.execute(self, as: caller)
    }
}

/// What a person wants to know, without opening an item.
package struct ReadStatus: GeneralRequest {
    package static let code = RequestCode.status

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> KeychainStatus {
        try executor.execute(self, as: caller)
    }
}

/// What the service has done for the keychain, in numbers. `unimplemented` is thrown where no service
/// has it.
package struct ReadStatistics: GeneralRequest {
    package static let code = RequestCode.statistics

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> ServiceStatistics {
        try executor.execute(self, as: caller)
    }
}

/// Reads everything once and says what is not as it was written. Nothing is changed.
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
