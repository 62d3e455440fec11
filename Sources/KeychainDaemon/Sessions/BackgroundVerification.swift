// BackgroundVerification: verifies the keychains of a service while they are in use.
//   (1) One keychain is verified at a time, on a thread with the lowest priority.
//   (2) If the files haven't changed since the last verification, the database isn't verified
//       again.

import Glibc
import KeychainCore
import KeychainEngine
import Synchronization

final class BackgroundVerification: Sendable {
    private let pool = FairPool(threadCount: 1)
    private let isEnding = Atomic(false)
    private let log: AuditLog

    init(_ log: AuditLog) {
        self.log = log
    }

    /// Verifies a user's keychain if it is open and not recorded as verified.
    func submit(_ keychain: ServedKeychain, of user: uid_t) {
        pool.submit(for: .user(user)) { [self] isActive in
            guard isActive, let engine = keychain.engineToVerify() else { return }
            defer { keychain.endVerification() }
            Processes.lowerThreadPriority()
            let state = engine.verifyIfNeeded { !self.isEnding.load(ordering: .relaxed) }
            if state.isVerified { log.note("verified: the keychain of uid \(user)") }
            if let problem = state.problem {
                log.problem("the keychain of uid \(user) is damaged", reason: problem)
            }
        }
    }

    /// Cancels the current verification, and waits for the thread to end.
    func stop() {
        isEnding.store(true, ordering: .relaxed)
        pool.stop()
    }
}
