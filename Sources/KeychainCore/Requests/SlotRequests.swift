// SlotRequests: requests about the ways into a keychain, and about its binding to a machine.

/// Unlocks the keychain with a way in of any kind. Throws `authFailed` if the way in is wrong or is
/// a recovery code that opens only the machine key. Throws `param` if the keychain has no way in of
/// this kind, or no way in of any kind that unlocks the keychain. Throws `notAvailable` in the same
/// cases as ``Unlock``.
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

/// Lists all key slots, ordered by their numbers.
package struct ListSlots: GeneralRequest {
    package static let code = RequestCode.slots

    package init() {}

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> [SlotSummary] {
        try executor.execute(self, as: caller)
    }
}

/// Changes the key slots. If a required proof is wrong or missing, nothing is changed. The error is
/// then `authFailed`, or `param` if the keychain has no way in of the proof's kind, unless the
/// documentation of a case of ``Change`` names another error.
package struct ChangeSlots: GeneralRequest {
    package static let code = RequestCode.changeSlots

    package enum Change: Sendable {
        /// Adds a way in: a credential, a recovery code or a passcode. A recovery code replaces an
        /// earlier recovery code, and a passcode an earlier, for example forgotten, passcode.
        /// Throws `param` if a passcode is added without a proof although a way in already unlocks
        /// the keychain.
        case add(WayIn)
        /// Removes the slot with this number. No proof is required, but the keychain must be
        /// unlocked. Throws `interactionNotAllowed` if it is locked, and `param` if there is no
        /// such slot, or if it is the slot of the machine or the last that unlocks the keychain.
        case remove(UInt32)
        /// Binds the keychain to this machine. If the keychain is bound to another machine, the
        /// proof must be the recovery code; with another proof or no proof, throws `notAvailable`.
        /// Throws `param` if the keychain is already bound to this machine, or if this machine has
        /// neither a chip nor a permanent identity.
        case bind
        case unbind
    }

    package var change: Change
    /// An existing way in that unlocks the keychain. It is required if there is one, except to
    /// remove a slot. If the keychain is bound to another machine, binding it to this machine and
    /// unbinding it require the recovery code.
    package var proof: WayIn?
    /// Pass `true` to accept a passcode that is weaker than the policy's minimum.
    package var allowsWeak: Bool

    package init(
        _ change: Change, provedBy proof: WayIn? = nil, allowsWeak: Bool = false
    ) {
        self.change = change
        self.proof = proof
        self.allowsWeak = allowsWeak
    }

    /// `survey` for adding a way in without a proof, because adding the first way in rotates the
    /// keys; otherwise `derivation`.
    package var effort: RequestEffort {
        if case .add = change, proof == nil { .survey } else { .derivation }
    }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try executor.execute(self, as: caller)
    }
}

/// Replaces the device key and all other keys. The proof must be the passcode if one is set,
/// otherwise another way in that unlocks the keychain if there is one. Throws `authFailed` if the
/// proof is wrong or missing. Throws `param` if a passcode is set and the proof is another way in,
/// if the keychain has no way in of the proof's kind, or if the keychain is in memory. Throws
/// `notAvailable` if the keychain is bound to another machine. The answer contains the slots that
/// became invalid because the secrets of their ways in were not presented.
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
