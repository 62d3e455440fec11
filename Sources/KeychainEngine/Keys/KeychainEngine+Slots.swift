// KeychainEngine+Slots: the ways into a keychain, and the machine that it is bound to.
//   (1) Adding the first way into the guarded tier of a keychain on disk, a passcode or credential,
//       rotates its keys. Any other change is committed like a change of the passcode, and changes
//       no row.
//   (2) A change that is proved with a way in also unlocks the keychain, unless that way in opens
//       only the machine key.
//   (3) A slot can be removed only while the keychain is unlocked.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto
import KeychainSQLite
import Logging
import Synchronization

extension KeychainEngine {
    package func execute(
        _ request: UnlockWith, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try unlock(request.way)
        return Done()
    }

    package func execute(
        _ request: ListSlots, as caller: AccessGroups
    ) throws(KeychainFailure) -> [SlotSummary] {
        try reloadKeybag()
        return session.ring.withLock { $0.hierarchy }.slotSummaries
    }

    package func execute(
        _ request: ChangeSlots, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        switch request.change {
        case .add(.passcode(let passcode)):
            try check(passcode, allowsWeak: request.allowsWeak)
            if let proof = request.proof {
                try changePasscode(by: proof, to: passcode)
            } else {
                try setPasscode(passcode)
            }
        case .add(let way): try add(way, provedBy: request.proof)
        case .remove(let number): try removeSlot(number)
        case .bind: try bind(provedBy: request.proof)
        case .unbind: try unbind(provedBy: request.proof)
        }
        return Done()
    }

    /// - Throws: `param` if the passcode doesn't satisfy the policy.
    func check(_ passcode: SecretBytes, allowsWeak: Bool) throws(KeychainFailure) {
        if !allowsWeak { try options.passcodePolicy.check(passcode) }
    }

    package func add(_ way: WayIn, provedBy proof: WayIn?) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            let before = try presentRing()
            if case .credential = way, !before.hierarchy.keybag.hasPasscode {
                try guardTier(with: way)
                return
            }
            let new = try before.hierarchy.adding(way, provedBy: proof, at: options.now())
            try replace(before, with: new, unlockingWith: new.keybag.hasPasscode ? way : nil)
        }
    }

    package func removeSlot(_ number: UInt32) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            let before = try presentRing()
            guard before.lockState == .unlocked else { throw .locked(.whenUnlocked) }
            try replace(
                before, with: try before.hierarchy.removingSlot(number), unlockingWith: nil,
                keepsKeys: true)
        }
    }

    /// Binds the *this device only* items to this machine. With a recovery code as proof this also
    /// works if they are bound to another machine; this machine's chip or identity then takes the
    /// place of the other's.
    package func bind(provedBy proof: WayIn?) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            let before = try presentRing()
            if !before.hierarchy.machineState.isOpen, case .recoveryCode(let code)? = proof {
                let new = try options.acceptingOtherChip { () throws(KeychainFailure) in
                    try before.hierarchy.rebinding(with: code, at: options.now())
                }
                return try finish(before, new, proof)
            }
            try finish(
                before, try before.hierarchy.binding(provedBy: proof, at: options.now()), proof)
        }
    }

    package func unbind(provedBy proof: WayIn?) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            let before = try presentRing()
            try finish(before, try before.hierarchy.unbinding(provedBy: proof), proof)
        }
    }

    /// Commits a keybag with the same tier key. A proof that opens nothing but the machine key
    /// leaves the lock state as it is.
    private func finish(
        _ before: KeyRing, _ new: KeyHierarchy, _ proof: WayIn?
    ) throws(KeychainFailure) {
        let opensTier = proof.map { (try? new.unlock($0)) != nil } ?? false
        try replace(
            before, with: new, unlockingWith: opensTier ? proof : nil,
            keepsKeys: new.keybag.hasPasscode && !opensTier)
    }

    private func presentRing() throws(KeychainFailure) -> KeyRing {
        try reloadKeybag()
        return session.ring.withLock { $0 }
    }
}

// MARK: - Credential

extension KeychainEngine {
    /// Unlocks the keychain without a user if it has a slot for a credential and this process was
    /// given one. If the credential is wrong, the keychain stays locked, and a warning is logged.
    func unlockWithCredential() {
        let hierarchy = session.ring.withLock { $0.hierarchy }
        guard lockState != .unlocked,
            hierarchy.keybag.slots.contains(where: { $0.kind == .credential }),
            let credential = options.credential()
        else { return }
        do {
            try unlock(.credential(credential))
        } catch {
            log.warning("The keychain stays locked: \(error.reason)")
        }
    }
}

// MARK: - Status

extension KeychainEngine {
    /// The number of *this device only* items.
    func deviceItemCount() throws(KeychainFailure) -> UInt64 {
        try store.itemCount { $0.isThisDeviceOnly }
    }

    /// Whether a recovery code opens everything that the passcode and the machine identity open
    /// together.
    var hasRecoveryCode: Bool {
        let hierarchy = session.ring.withLock { $0.hierarchy }
        return hierarchy.slotSummaries.contains {
            $0.kind == .recoveryCode && $0.opensPasscode == hierarchy.keybag.hasPasscode
                && $0.opensMachine == hierarchy.keybag.isBound
        }
    }
}
