// SlotRequests: the ways into a keychain, and the machine that it is bound to.

/// Unlocks by any way in. `authFailed` is thrown for one that is wrong, `param` where there is none of
/// the kind.
package struct UnlockWith: GeneralRequest {
    package static let code = RequestCode.unlockWith
    package var way: WayIn

    package init(_ way: WayIn) { self.way = way }

    package var effort: RequestEffort { .derivation }

    package func usedUnlockedKeys(_ answer: Done) -> Bool { true }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try executor.execute(self, as: caller)
    }
}

/// All slots, by number.
package struct ListSlots: GeneralRequest {
    package static let code = RequestCode.slots

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> [SlotSummary] {
        try executor.execute(self, as: caller)
    }
}

/// Changes the slots. `authFailed` is thrown for a proof that is wrong or missing; nothing is changed
/// then.
package struct ChangeSlots: GeneralRequest {
    package static let code = RequestCode.changeSlots

    package enum Change: Sendable {
        /// A recovery code, which replaces an earlier one, a credential, or a passcode in the place of
        /// a forgotten one.
        case add(WayIn)
        /// `param` is thrown where there is none, and for the last way in.
        case remove(UInt32)
        /// To this machine. The proof is the recovery code where it is bound to another one.
        case bind
        case unbind
    }

    package var change: Change
    /// A way in, where one is set.
    package var proof: WayIn?
    /// Whether a passcode may be below the floor.
    package var allowsWeak: Bool

    package init(
        _ change: Change, provedBy proof: WayIn? = nil, allowsWeak: Bool = false
    ) {
        self.change = change
        self.proof = proof
        self.allowsWeak = allowsWeak
    }

    /// The first way in rotates the keys.
    package var effort: RequestEffort {
        if case .add = change, proof == nil { .survey } else { .derivation }
    }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try executor.execute(self, as: caller)
    }
}

/// Makes another device key and other keys of every kind. The proof is the passcode, where one is set;
/// `authFailed` is thrown for one that is wrong or missing. Nothing is changed then, nor where it is given
/// up. The answer is the ways in that ended, since nobody showed them.
package struct RotateKeys: StreamRequest {
    package static let code = RequestCode.rotate
    package var proof: WayIn?

    package init(provedBy proof: WayIn? = nil) { self.proof = proof }

    package func usedUnlockedKeys(_ answer: [SlotSummary]) -> Bool { true }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary] {
        try executor.execute(self, as: caller, progress: progress)
    }
}
