// Freshness: when a database is verified as a whole, and whether it is known to be sound. The tags
// of pages reveal altered pages. Only a verification reveals that a page was replaced by an earlier
// version of it.
//   (1) A verification is due once after each boot of the machine, whenever the files were changed
//       other than by processes that use the keychain, and whenever a killed process left a
//       write-ahead log behind. The result is recorded where other processes can find it, or in
//       this process if there is no folder for it.
//   (2) A keychain with few items is verified when it is opened. A service verifies a larger one
//       while it is in use; other programs verify it only on request.
//   (3) Before the first unlock, no process can verify a keychain as a whole. The verification then
//       takes place at the unlock.
//   (4) Damage that a verification finds is recorded in the same way as other damage: undamaged
//       rows can be read, but a search that finds nothing fails with damage, and so does every
//       write.

package import KeychainCore
import KeychainSQLite
import Logging

package struct FreshnessOptions: Hashable, Sendable {
    /// Where successful verifications are recorded.
    let place: FreshnessNote.Place
    /// The highest number of items with which a keychain is verified when it is opened. With 500
    /// items, a verification takes 1 to 2 milliseconds.
    let itemLimit: UInt64

    /// - Parameters:
    ///   - folder: An absolute path of a folder that belongs to this user and is emptied at boot.
    ///     It is created if it is missing. `nil` for the memory of this process.
    ///   - boot: An identifier of the current boot. `nil` for the kernel's identifier.
    ///   - itemLimit: The highest number of items with which a keychain is verified when it is
    ///     opened.
    package init(folder: String? = nil, boot: Bytes16? = nil, itemLimit: UInt64 = 500) {
        place = folder.map { FreshnessNote.Place(folder: $0, boot: boot) } ?? .process
        self.itemLimit = itemLimit
    }
}

extension EngineOptions {
    var place: FreshnessNote.Place { freshness?.place ?? .process }
}

extension KeychainEngine {
    /// Whether the database is known to be in the state of its last commit.
    package var verification: VerificationState {
        guard let note = store.freshness else { return VerificationState(.unneeded) }
        if let damage = store.knownDamage { return VerificationState(.failed, problem: damage) }
        switch note.read() {
        case .verified(let moment):
            return VerificationState(note.isShared ? .verified : .verifiedHere, at: moment)
        case .changed(let moment):
            return VerificationState(store.isBeingVerified ? .running : .changed, at: moment)
        case .none:
            return VerificationState(store.isBeingVerified ? .running : .never)
        }
    }

    func verifyIfSmall() {
        guard let limit = options.freshness?.itemLimit,
            let count = try? store.header().itemCount, count <= limit
        else { return }
        let state = verifyIfNeeded()
        if let problem = state.problem { log.error("The keychain is damaged: \(problem).") }
    }

    /// Verifies the database, unless a recorded verification is still valid or damage is known.
    /// Does nothing before the first unlock.
    ///
    /// - Parameter isWanted: Called now and then. Return `false` to cancel the verification.
    /// - Returns: The state of verification afterwards.
    package func verifyIfNeeded(while isWanted: () -> Bool = { true }) -> VerificationState {
        guard store.canBeVerified else { return verification }
        // A concurrent verification or checkpoint by another process can prevent the result from
        // being recorded, hence the repetition.
        for _ in 0..<3 where verification.isNeeded && isWanted() {
            do {
                _ = try store.verify(notingAt: options.now) { _, _, _ in isWanted() }
            } catch {
                log.warning("The keychain could not be verified: \(error.reason)")
            }
        }
        return verification
    }
}
