// Freshness: when a database is verified as a whole, and what is known of it. Tags of pages tell
// what was changed; that a page is of an earlier time shows in a verification only.
//   (1) A keychain is verified once for each start of the machine, and whenever its files were
//       changed by anything but a keychain, or a killed process left its log behind. That is
//       remembered where processes can find it.
//   (2) One with few items is verified when it is opened. A service verifies larger ones while they
//       are used.
//   (3) Before the first unlock nobody can verify it as a whole; the unlock does then.
//   (4) What is found is recorded as damage is: items are given where the rows are sound, misses
//       and writes fail.

package import KeychainCore
import KeychainSQLite
import Logging

package struct FreshnessOptions: Hashable, Sendable {
    /// Where it is remembered that a database was verified.
    let place: FreshnessNote.Place
    /// With so many items it is verified when it is opened, which takes a millisecond or two.
    let itemLimit: UInt64

    /// - Parameters:
    ///   - folder: An absolute path: a folder of this user's that is emptied when the machine
    ///     starts, and is made where it is missing. nil: the memory of this process.
    ///   - boot: What tells this start of the machine from others. nil: the kernel's identifier.
    ///   - itemLimit: Up to how many items an opening verifies.
    package init(folder: String? = nil, boot: Bytes16? = nil, itemLimit: UInt64 = 500) {
        place = folder.map { FreshnessNote.Place(folder: $0, boot: boot) } ?? .process
        self.itemLimit = itemLimit
    }
}

extension EngineOptions {
    var place: FreshnessNote.Place { freshness?.place ?? .process }
}

extension KeychainEngine {
    /// Whether the database is known to be what its last commit left.
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

    /// Verifies the database, unless that is remembered.
    ///
    /// - Parameter isWanted: Asked now and then; false ends it.
    /// - Returns: What is known then.
    package func verifyIfNeeded(while isWanted: () -> Bool = { true }) -> VerificationState {
        // Another process's verification or checkpoint can keep this one from being noted.
        guard store.canBeVerified else { return verification }
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
